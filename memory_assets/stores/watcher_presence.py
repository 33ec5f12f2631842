"""Who watches a data directory: at most one process, known by a lock and a small file.

The lock is the truth (the system lets go of it when the process ends, however it ends);
the file beside it says who holds it and how it is doing.
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

from filelock import FileLock, Timeout

from memory_assets.errors import StoreBusy
from memory_assets.stores.catalog.connection import now

_LOCK = "watcher.lock"
_FILE = "watcher.json"
_PATIENCE_SECONDS = 1.0


@dataclass
class WatcherState:
    """What a watcher says of itself. `mode` is events or polling (`notes` says why, by
    directory), `failing` the reason by project, times are ISO 8601 in UTC."""

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
def watching(data_dir: Path) -> Iterator[WatcherState]:
    """Be the one watcher of a data directory while the block lasts; yield its state, which
    `tell` makes known to others.

    Raises:
        StoreBusy: another process is; the message says which.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(data_dir / _LOCK)
    try:
        lock.acquire(timeout=_PATIENCE_SECONDS)
    except Timeout:
        raise StoreBusy(_who(data_dir)) from None
    state = WatcherState()
    try:
        tell(data_dir, state)
        yield state
    finally:
        (data_dir / _FILE).unlink(missing_ok=True)
        lock.release()


def tell(data_dir: Path, state: WatcherState) -> None:
    """Replace what others read about the watcher. A full disk does not stop it."""
    staging = data_dir / f"{_FILE}.staging"
    with contextlib.suppress(OSError):
        staging.write_text(json.dumps(asdict(state)))
        staging.replace(data_dir / _FILE)


def present(data_dir: Path) -> WatcherState | None:
    """Return the state of the process that watches a data directory, or None."""
    path = data_dir / _LOCK
    if not path.exists() or not _is_held(path):
        return None
    try:
        return WatcherState(**json.loads((data_dir / _FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _who(data_dir: Path) -> str:
    state = present(data_dir)
    if state is None:
        return f"another process watches for {data_dir} already"
    return (
        f"process {state.pid} on {state.host} has been watching for {data_dir} since "
        f"{state.since}. One is enough; to replace it, end it first (kill {state.pid})"
    )


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path).acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False
