"""The process that watches a data directory: at most one for transcripts and one for workspaces,
known by a lock and a small file.

The lock decides; the file beside it describes the process that holds it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memory_assets.errors import StoreBusy
from memory_assets.stores.catalog.connection import now
from memory_assets.stores.files.shared import holder_state, locked, replace_text

TRANSCRIPTS = "watcher"
WORKSPACES = "workspaces-watcher"
"""Beginnings of the names of a watcher's files, by what it watches."""
_PATIENCE_SECONDS = 1.0


@dataclass
class WatcherState:
    """The state of a watcher. `mode` is events or polling (`notes`: the reason by directory),
    `failing`: the reason by project; times are ISO 8601 in UTC."""

    of: str = TRANSCRIPTS
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    since: str = field(default_factory=now)
    mode: str = "events"
    notes: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    last_run_at: str = ""
    waiting: int = 0
    failing: dict[str, str] = field(default_factory=dict)


@contextmanager
def watching(
    data_dir: Path, of: str = TRANSCRIPTS, patience: float = _PATIENCE_SECONDS
) -> Iterator[WatcherState]:
    """Be the one watcher of a data directory, `of` transcripts or workspaces, while the block
    lasts; yield its state, which `tell` publishes. `patience`: seconds to wait for another one.

    Raises:
        StoreBusy: another process is; the message names it.
    """
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(locked(data_dir / f"{of}.lock", patience, ""))
        except StoreBusy:
            raise StoreBusy(_busy_message(data_dir, of)) from None
        state = WatcherState(of)
        try:
            tell(data_dir, state)
            yield state
        finally:
            (data_dir / f"{of}.json").unlink(missing_ok=True)


def tell(data_dir: Path, state: WatcherState) -> None:
    """Publish the watcher's state. A full disk does not stop it."""
    with contextlib.suppress(OSError):
        replace_text(data_dir / f"{state.of}.json", json.dumps(asdict(state)))


def present(data_dir: Path, of: str = TRANSCRIPTS) -> WatcherState | None:
    """Return the state of the process that watches a data directory, or None."""
    return holder_state(data_dir / f"{of}.json", data_dir / f"{of}.lock", WatcherState)


def _busy_message(data_dir: Path, of: str) -> str:
    state = present(data_dir, of)
    if state is None:
        return f"another process watches for {data_dir} already"
    return (
        f"process {state.pid} on {state.host} has been watching for {data_dir} since "
        f"{state.since}. One is enough; to replace it, end it first (kill {state.pid})"
    )
