"""What is under way in a data directory: how far an ingest is, and which processes watch it.

For each there is a lock and a small JSON file. The file counts while a process holds the lock; a
killed process leaves a file, and no lock.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from memory_assets.errors import StoreBusy
from memory_assets.stores.catalog.connection import now
from memory_assets.stores.files.shared import holder_state, locked, replace_text

_INGEST = "ingest"
TRANSCRIPTS = "watcher"
WORKSPACES = "workspaces-watcher"
"""Beginnings of the names of a watcher's files, by what it watches."""
_PATIENCE_SECONDS = 1.0


@dataclass
class IndexedProjects:
    """The number of projects of an ingest, and of those whose words and vectors are indexed."""

    projects: int
    words: int = 0
    vectors: int = 0

    def __str__(self) -> str:
        """Say what can be found meanwhile."""
        if self.words < self.projects:
            return (
                f"an ingest is under way: what is new in {self.words} of {self.projects} projects "
                "can be found, by its words"
            )
        return (
            f"an ingest is under way: what is new in all {self.projects} projects can be found by "
            f"its words, in {self.vectors} by meaning"
        )


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
def ingesting(data_dir: Path, progress: IndexedProjects) -> Iterator[Callable[[], None]]:
    """Yield a function that publishes the present progress of an ingest, for a block; it does
    nothing while another process publishes its own."""
    with ExitStack() as after:
        try:
            # A search that looks whether an ingest is under way holds the lock for a moment.
            after.enter_context(_published(data_dir, _INGEST, progress, _PATIENCE_SECONDS))
        except StoreBusy:
            yield lambda: None
            return
        yield partial(_publish, data_dir, _INGEST, progress)


@contextmanager
def watching(
    data_dir: Path, of: str = TRANSCRIPTS, patience: float = _PATIENCE_SECONDS
) -> Iterator[WatcherState]:
    """Be the one watcher of a data directory, `of` transcripts or workspaces, while the block
    lasts; yield its state, which `publish_watcher` publishes. `patience`: seconds to wait for
    another one.

    Raises:
        StoreBusy: another process is; the message names it.
    """
    state = WatcherState(of)
    with ExitStack() as after:
        try:
            after.enter_context(_published(data_dir, of, state, patience))
        except StoreBusy:
            raise StoreBusy(_busy_message(data_dir, of)) from None
        yield state


def publish_watcher(data_dir: Path, state: WatcherState) -> None:
    """Publish the watcher's state."""
    _publish(data_dir, state.of, state)


def ingest_under_way(data_dir: Path) -> IndexedProjects | None:
    """Return the progress of an ingest under way, or None."""
    return holder_state(*_files(data_dir, _INGEST), IndexedProjects)


def present_watcher(data_dir: Path, of: str = TRANSCRIPTS) -> WatcherState | None:
    """Return the state of the process that watches a data directory, or None."""
    return holder_state(*_files(data_dir, of), WatcherState)


@contextmanager
def _published(
    data_dir: Path, name: str, state: IndexedProjects | WatcherState, seconds: float
) -> Iterator[None]:
    """Hold the lock of a name for a block, with a state that others can read.

    Raises:
        StoreBusy: another process holds it for longer than `seconds`.
    """
    file, lock = _files(data_dir, name)
    with locked(lock, seconds, f"another process holds {lock}"):
        try:
            _publish(data_dir, name, state)
            yield
        finally:
            file.unlink(missing_ok=True)


def _publish(data_dir: Path, name: str, state: IndexedProjects | WatcherState) -> None:
    """Write a state to its file. A full disk stops nobody."""
    with suppress(OSError):
        replace_text(_files(data_dir, name)[0], json.dumps(asdict(state)))


def _files(data_dir: Path, name: str) -> tuple[Path, Path]:
    """Return the file with the state, and the lock, of a name."""
    return data_dir / f"{name}.json", data_dir / f"{name}.lock"


def _busy_message(data_dir: Path, of: str) -> str:
    state = present_watcher(data_dir, of)
    if state is None:
        return f"another process watches for {data_dir} already"
    return (
        f"process {state.pid} on {state.host} has been watching for {data_dir} since "
        f"{state.since}. One is enough; to replace it, end it first (kill {state.pid})"
    )
