"""Events of the file system under directories: by inotify and its like if they work, else by
polling."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserverVFS

from memory_assets.transcripts.discovery import ENDINGS, is_utf8
from memory_assets.watching.pending import Changes

Mode = Literal["events", "polling"]
POLL_SECONDS = 2.0
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""Not opening and closing: our own reading would count as a change."""


@dataclass
class _Watched:
    observer: BaseObserver
    mode: Mode
    inode: int


_DATABASES = (".db", ".vscdb")
STORES = (".json", *(f"{ending}{log}" for ending in _DATABASES for log in ("", "-wal")))
"""Endings of documents and databases with sessions, and of databases' logs."""
IsRelevant = Callable[[str, bool], bool]
"""Returns whether a changed path matters; the second argument says if it is a directory."""
MayEnter = Callable[[str], bool]


def is_transcript(path: str, is_directory: bool) -> bool:
    """Whether a path is that of a transcript, or of a store that may have sessions."""
    return not is_directory and path.endswith((*ENDINGS, *STORES))


class Directories(FileSystemEventHandler):
    """Watches directories, and puts the relevant paths that change into `changes`; `may_enter` says
    below which directories they can be.

    A directory that is not there yet, or comes back after it was removed, is watched from
    the next `refresh` on. `notes` says why one is polled.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        changes: Changes,
        *,
        is_relevant: IsRelevant = is_transcript,
        may_enter: MayEnter = lambda directory: True,
        poll_seconds: float = POLL_SECONDS,
        polling: bool = False,
    ) -> None:
        self.roots = tuple(roots)
        self._changes = changes
        self._is_relevant = is_relevant
        self._may_enter = may_enter
        self._poll_seconds = poll_seconds
        self._always_poll = polling
        self._watched: dict[Path, _Watched] = {}
        self.notes: dict[str, str] = {}

    def refresh(self) -> bool:
        """Start watching new directories, stop watching removed ones, replace broken watches.
        Return True if a directory is watched only from now on, so that all files must be
        compared. Costs one `stat` per root."""
        begun = False
        for root in self._watched.keys() - set(self.roots):
            _stop(self._watched.pop(root).observer)
        for root in self.roots:
            inode = _inode(root)
            watched = self._watched.get(root)
            if watched is not None and watched.inode == inode and _is_alive(watched.observer):
                continue
            if watched is not None:
                _stop(self._watched.pop(root).observer)
            if inode is not None:
                self._watched[root] = self._watch(root, inode)
                begun = True
        return begun

    def stop(self) -> None:
        """Stop watching."""
        for watched in self._watched.values():
            _stop(watched.observer)
        self._watched.clear()

    @property
    def mode(self) -> Mode:
        """Return "events" if all directories send events, "polling" if one is polled."""
        modes = {watched.mode for watched in self._watched.values()}
        return "polling" if "polling" in modes else "events"

    def dispatch(self, event: FileSystemEvent) -> None:
        """Take one event, in the observer's thread."""
        for location in (event.src_path, event.dest_path):
            path = os.fsdecode(location)
            if not path or not is_utf8(path):
                continue  # cannot be taken in; the next full look reports it
            if self._is_relevant(path, event.is_directory):
                self._changes.add(path)
            if event.is_directory and self._may_enter(path):
                self._look_into(path)

    def _look_into(self, directory: str) -> None:
        """Note the files that are in a new directory already, because they may have been written
        before it was watched."""
        for folder, inner, names in os.walk(directory):
            paths = (os.path.join(folder, name) for name in names)  # noqa: PTH118
            for path in paths:
                if self._is_relevant(path, False) and is_utf8(path):
                    self._changes.add(path)
            inner[:] = [name for name in inner if self._may_enter(os.path.join(folder, name))]  # noqa: PTH118

    def _watch(self, root: Path, inode: int) -> _Watched:
        if not self._always_poll:
            try:
                return _Watched(self._started(Observer(), root), "events", inode)
            except OSError as error:
                self.notes[str(root)] = _in_words(error)
        polling = PollingObserverVFS(os.stat, self._entries, polling_interval=self._poll_seconds)  # type: ignore[arg-type]
        return _Watched(self._started(polling, root), "polling", inode)

    def _entries(self, directory: str | None) -> Iterator[os.DirEntry[str]]:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False) or self._may_enter(entry.path):
                    yield entry

    def _started(self, observer: BaseObserver, root: Path) -> BaseObserver:
        observer.schedule(self, str(root), recursive=True, event_filter=_EVENTS)
        try:
            observer.start()
        except BaseException:
            observer.unschedule_all()
            raise
        return observer


def _in_words(error: OSError) -> str:
    limits = {errno.ENOSPC: ("watches", 524288), errno.EMFILE: ("instances", 512)}
    if error.errno in limits:
        limit, sufficient = limits[error.errno]
        return (
            f"the limit of inotify {limit} is reached; raise it with "
            f"`sysctl fs.inotify.max_user_{limit}={sufficient}` for quicker updates"
        )
    return f"it cannot be watched ({error.strerror or type(error).__name__})"


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino if path.is_dir() else None
    except OSError:
        return None


def _is_alive(observer: BaseObserver) -> bool:
    return observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)


def _stop(observer: BaseObserver) -> None:
    observer.stop()
    if observer.is_alive():
        observer.join(timeout=5.0)
