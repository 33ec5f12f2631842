"""Finding transcript files, for all agents: walking directories, and project names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from errno import ELOOP
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from memory_assets.errors import (
    BusyTranscript,
    DamagedTranscript,
    TranscriptError,
    environment,
    printable,
)
from memory_assets.paths import project_slug
from memory_assets.transcripts.base import Known, Note, Source, Unlisted
from memory_assets.transcripts.content import COMPRESSED
from memory_assets.transcripts.lines import read_head
from memory_assets.word_lists import word_set

SUFFIX = ".jsonl"
ENDINGS = (SUFFIX, *(f"{SUFFIX}{ending}" for ending in COMPRESSED))
"""Endings of transcripts, compressed ones included."""


class Identity(NamedTuple):
    """Whose a file is: its session, of a subagent's also that one's own id, the directory that its
    records name, "" for none, and its project, where that is not named after the directory."""

    session_id: str
    agent_id: str | None = None
    directory: str = ""
    project: str = ""


File = tuple[os.DirEntry[str], int, int]
"""A file with its size and `mtime_ns`."""

Directory = str | os.PathLike[str] | None
"""A directory; nothing is in one that is not there, nor in None."""

_VANISHED = (FileNotFoundError, NotADirectoryError)
_NOT_UTF8 = "its name is not UTF-8"
_NOT_PRINTABLE = "its name holds control or invisible characters"
_RENAME = "rename it"
_PRIVATE = word_set(
    "account accounts api apikey apikeys auth cline config credential credentials creds env gemini "
    "google key keys local mcp oauth secret secrets settings token tokens user"
)
_NAMED_DEPTH = 3
"""How deep a directory that the user names is searched for projects."""
_INSTALLED = frozenset({"node_modules", "site-packages", "vendor", "target", "dist", "build"})
_SEARCHED_DEPTH = 4
"""How deep a directory that cannot be named is searched for transcripts."""


def is_utf8(name: str | os.PathLike[str]) -> bool:
    """Return whether a path can be stored and printed: every byte of it is part of a character."""
    try:
        os.fspath(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def is_private(name: str) -> bool:
    """Return whether a file is one of tokens or settings, which no reader opens: a document whose
    name consists of nothing but such words."""
    stem = name.casefold().removesuffix(".json")
    return stem != name.casefold() and _PRIVATE.issuperset(re.split(r"[._-]+", stem.strip(".")))


class Walk:
    """Lists the directories of one agent. Files that vanish meanwhile are skipped. Directories
    that cannot be listed, and transcripts that cannot be read or whose name cannot be stored,
    are skipped and noted."""

    def __init__(self, agent: str, note: Note) -> None:
        self._agent = agent
        self._note = note
        self.complete = True
        """Whether every directory could be listed, and every file be looked at."""

    def note(self, path: str | os.PathLike[str], error: Exception) -> None:
        """Note that a path could not be looked at, unless it has vanished."""
        if isinstance(error, DamagedTranscript | BusyTranscript):
            self._note(Unlisted(self._agent, printable(path), error.reason, error.remedy))
            return
        failure = error.__cause__ if isinstance(error, TranscriptError) else error
        cause = environment(failure)
        if isinstance(failure, _VANISHED) or cause is None:
            return
        self.complete = False
        self._note(Unlisted(self._agent, printable(path), cause.reason, cause.remedy))

    def root(self, *places: Path) -> Path | None:
        """Return the first of these directories that is there, None if none is."""
        for place in places:
            try:
                is_directory = S_ISDIR(place.stat().st_mode)
            except OSError as error:
                self.note(place, error)
                if not isinstance(error, _VANISHED):
                    return None
                continue
            if is_directory and is_utf8(place):
                return place
            if is_directory:
                self._note_name(place)
                return None
        return None

    def is_there(self, path: Path, is_wanted: Callable[[int], bool] = S_ISREG) -> bool:
        """Return whether a path is a file, or what else its mode says; note one that cannot be
        looked at."""
        try:
            return is_wanted(path.stat().st_mode)
        except OSError as error:
            self.note(path, error)
            return False

    def head(self, file: File) -> bytes:
        """Return the beginning of a file; none of one that cannot be read, which is noted."""
        try:
            return read_head(Path(file[0].path))
        except TranscriptError as error:
            self.note(file[0].path, error)
            return b""

    def entries(self, directory: Directory) -> list[os.DirEntry[str]]:
        """Return the entries of a directory by name, those left out whose name is not UTF-8."""
        return [entry for entry in self._listed(directory) if self._can_be_named(entry)]

    def projects(self, directory: Directory) -> Iterator[tuple[os.DirEntry[str], bool]]:
        """Yield the directories whose names are those of projects, with whether the name can
        be one: it becomes the key of a partition, a tag of runs and a directory of the lake."""
        for entry in self._listed(directory):
            if not self.is_directory(entry):
                continue
            if entry.name.isprintable():
                yield entry, True
            elif any(map(self._has_transcripts, self._listed(entry.path))):
                self._note_name(entry.path)
                yield entry, False

    def in_projects(self, directory: Directory, name: str) -> Iterator[Path]:
        """Yield the folder of this name in each directory that is a project's and can be one."""
        for project, has_usable_name in self.projects(directory):
            if has_usable_name:
                yield Path(project.path, name)

    def is_directory(self, entry: os.DirEntry[str], *, follow_symlinks: bool = True) -> bool:
        """Return whether an entry is a directory that is still there."""
        try:
            return entry.is_dir(follow_symlinks=follow_symlinks)
        except OSError:
            return False

    def file_facts(self, entry: os.DirEntry[str]) -> tuple[int, int] | None:
        """Return (size, mtime_ns) of a regular file, or None if it is something else or gone."""
        try:
            if not entry.is_file():
                return None
            status = entry.stat()
        except OSError as error:
            if error.errno != ELOOP:  # a link that leads nowhere is no transcript
                self.note(entry.path, error)
            return None
        return status.st_size, status.st_mtime_ns

    def sources(
        self,
        files: Iterable[File],
        known: Known,
        identify: Callable[[Path], Identity],
    ) -> Iterator[Source]:
        """Yield the `Source` of each file (entry, size, mtime_ns): the one from an earlier walk
        if the file is unchanged, else one with what `identify` reads. It may raise
        `TranscriptError`: the file is then skipped and noted."""
        for entry, size, mtime_ns in files:
            path = Path(entry.path)
            source = known(path, size, mtime_ns)
            if source is None:
                try:
                    session_id, agent_id, directory, named = identify(path)
                except TranscriptError as error:
                    self.note(path, error)
                    continue
                project = named or project_slug(directory)
                source = Source(
                    *(self._agent, project, session_id, agent_id, path, size, mtime_ns),
                    directory=directory,
                )
            yield source

    def transcripts(
        self, root: Directory, depth: int, endings: tuple[str, ...] = (SUFFIX,)
    ) -> Iterator[File]:
        """Yield (entry, size, mtime_ns) of the files with these endings at most `depth` directories
        under `root`, in order of path, without those that agents keep tokens and settings in.
        Symbolic links to directories are not followed."""
        for entry in self.entries(root):
            if entry.name.endswith(endings):
                if is_private(entry.name):
                    continue
                facts = self.file_facts(entry)
                if facts is not None:
                    yield entry, *facts
            elif depth and self.is_directory(entry, follow_symlinks=False):
                yield from self.transcripts(Path(entry.path), depth - 1, endings)

    def folders(self, root: Path | None, depth: int = _NAMED_DEPTH) -> Iterator[Path]:
        """Yield a directory that a user named and those below it, but for hidden ones, packages
        that were installed, and links; of a repository those in it alone."""
        if root is None:
            return
        yield root
        entries = self.entries(root) if depth else []
        if any(entry.name == ".git" for entry in entries):
            depth = 1
        for entry in entries:
            is_of_user = not entry.name.startswith(".") and entry.name not in _INSTALLED
            if is_of_user and self.is_directory(entry, follow_symlinks=False):
                yield from self.folders(Path(entry.path), depth - 1)

    def _has_transcripts(self, entry: os.DirEntry[str], depth: int = _SEARCHED_DEPTH) -> bool:
        """Return whether an entry is a *.jsonl file, or a directory with one in or below it."""
        if entry.name.endswith(ENDINGS):
            return True
        searched = depth > 0 and self.is_directory(entry, follow_symlinks=False)
        inside = self._listed(entry.path) if searched else []
        return any(self._has_transcripts(child, depth - 1) for child in inside)

    def _listed(self, directory: Directory) -> list[os.DirEntry[str]]:
        if directory is None:
            return []
        try:
            with os.scandir(directory) as scan:
                return sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self.note(directory, error)
            return []

    def _can_be_named(self, entry: os.DirEntry[str]) -> bool:
        if not is_utf8(entry.name) and self._has_transcripts(entry, _SEARCHED_DEPTH + 1):
            self._note_name(entry.path)
        return is_utf8(entry.name)

    def _note_name(self, path: str | os.PathLike[str]) -> None:
        reason = _NOT_PRINTABLE if is_utf8(path) else _NOT_UTF8
        self._note(Unlisted(self._agent, printable(path), reason, _RENAME))
