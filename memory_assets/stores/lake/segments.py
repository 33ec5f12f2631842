"""Segments: Parquet files of a project, each with one long session or many small ones.

    segment+<number>.parquet   sessions as contiguous row ranges, in row groups of a batch each

Most sessions are small, and opening, writing and renaming a file costs more than their rows. The
footer has a directory: the rows and the footer metadata of each session, and a checksum of it and
of the column names; pages have their own. A segment is never changed, only replaced by atomic
rename or removed. The footer has the file's modification time, so that a change by another program
is noticed: then its sessions get other stamps.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.stores.lake.parquet_files import (
    column_names,
    footer_of,
    names_in,
    staged_file,
    without_metadata,
    write_file,
)
from memory_assets.stores.lake.rows import OUTPUT_HASH, FileFacts

SEGMENT = re.compile(r"segment\+(?P<number>\d+)\.parquet")
HASHED = "@"
"""Precedes the hash in a shortened name; other names have it encoded."""
_SESSIONS = "sessions"
_WRITTEN = "written_ns"
_CHECKSUM = "checksum"
_MOST_DIRECTORIES = 64
_MOST_SEGMENTS = 2_048
"""Cached directories of segments, of some 20 kB each. A project of many long sessions has hundreds,
and a smaller cache would read all of them again for every session."""
_MOST_DECODED_BYTES = 24 << 20
"""Bytes of decoded row groups that are kept: several sessions of one are read in a row."""

_SECOND_NS = 1_000_000_000
_STEPS_NS = _SECOND_NS // 10
_COARSE_STEPS_NS = 3 * _SECOND_NS
"""Age from which a directory's modification time proves that nothing was added or removed since.
File systems record it in steps of milliseconds, or of one or two whole seconds."""

Identity = tuple[int, int, int]
"""Inode, modification time and size of a file."""


@dataclass(frozen=True)
class Entry:
    """A session's rows in a segment. `stamp` changes when they are written, not when they are moved
    to another file; `footer` has metadata of the session."""

    first: int
    rows: int
    stamp: str
    footer: Mapping[str, str]

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.first + self.rows

    @property
    def output_hash(self) -> str:
        """The hash of the session's rows."""
        return self.footer.get(OUTPUT_HASH, "")


@dataclass(frozen=True)
class Packed:
    """A session to write to a segment."""

    session_id: str
    stamp: str
    footer: Mapping[str, str]
    parts: Sequence[pa.Table]


@dataclass(frozen=True)
class Segment:
    """A segment on disk, the rows of each row group, and its directory, by session."""

    path: Path
    identity: Identity
    metadata: pq.FileMetaData
    groups: Sequence[int]
    entries: Mapping[str, Entry]

    def within(self, begin: int, end: int) -> dict[str, Entry]:
        """Return the sessions within these rows, in order."""
        return {
            name: entry
            for name, entry in self.entries.items()
            if entry.rows and begin <= entry.first < end
        }


@dataclass(frozen=True)
class OpenSegment:
    """A segment that is open for reading; its row groups are read through the cache."""

    segment: Segment
    file: pa.OSFile
    cache: SegmentCache

    def spans(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield which row groups have the rows `begin` to `end`, and between which of theirs."""
        first = 0
        for number, length in enumerate(self.segment.groups):
            start, stop = max(begin - first, 0), min(end - first, length)
            if start < stop:
                yield number, start, stop
            first += length

    def read(self, span: tuple[int, int, int], columns: list[str] | None) -> pa.Table:
        """Return the rows of one of `spans`."""
        number, start, stop = span
        return self.cache.group(self, number, columns).slice(start, stop - start)

    def slices(self, begin: int, end: int, columns: list[str] | None) -> Iterator[pa.Table]:
        """Yield the rows `begin` to `end`, a row group at a time."""
        return (self.read(span, columns) for span in self.spans(begin, end))


@dataclass(frozen=True)
class SessionRows:
    """The rows of a session in a segment that is open for reading."""

    opened: OpenSegment
    entry: Entry

    @property
    def facts(self) -> FileFacts:
        """The number of the rows, and their hash."""
        return FileFacts(self.entry.rows, self.entry.output_hash)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """Return the rows."""
        parts = list(self.parts(columns))
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts)

    def parts(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows in order, a row group at a time."""
        return self.opened.slices(self.entry.first, self.entry.end, columns)


class SegmentCache:
    """Caches directories and decoded row groups of segments; for several threads."""

    def __init__(self) -> None:
        self._segments: OrderedDict[Path, Segment] = OrderedDict()
        self._groups: OrderedDict[tuple[object, ...], pa.Table] = OrderedDict()
        self._bytes = 0
        self._listings: OrderedDict[Path, tuple[int, list[tuple[Path, Identity]]]] = OrderedDict()
        self._lock = Lock()

    def listing(
        self, directory: Path, *, known: bool = True
    ) -> tuple[int, list[tuple[Path, Identity]]]:
        """Return when a file was last added to a directory or removed, 0 without the directory, and
        its segments, newest first. `known`: the last listing may be returned if nothing was added
        or removed since; changes in place are noticed when a file is opened."""
        try:
            changed = directory.stat().st_mtime_ns
        except FileNotFoundError:
            return 0, []
        with self._lock:
            before = self._listings.get(directory) if known else None
        if before is not None and before[0] == changed:
            return before
        age = time.time_ns() - changed
        current = changed, list_segments(directory)
        if age > (_STEPS_NS if changed % _SECOND_NS else _COARSE_STEPS_NS):
            with self._lock:
                self._listings[directory] = current
                self._listings.move_to_end(directory)
                while len(self._listings) > _MOST_DIRECTORIES:
                    self._listings.popitem(last=False)
        return current

    def segment(self, path: Path, identity: Identity) -> Segment:
        """Return a segment with its directory.

        Raises:
            FileNotFoundError: it was removed, or replaced since it had this identity.
            pa.ArrowInvalid, OSError: it is not readable as a segment.
        """
        with self._lock:
            known = self._segments.get(path)
            if known is not None and known.identity == identity:
                self._segments.move_to_end(path)
                return known
        with ExitStack() as files:
            metadata = pq.ParquetFile(_open(path, identity, files)).metadata
            groups = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
            segment = Segment(path, identity, metadata, groups, _entries(metadata, identity))
        with self._lock:
            self._segments[path] = segment
            self._segments.move_to_end(path)
            while len(self._segments) > _MOST_SEGMENTS:
                self._segments.popitem(last=False)
        return segment

    def open(self, segment: Segment, files: ExitStack) -> OpenSegment:
        """Open a segment for reading; `files` closes it."""
        return OpenSegment(segment, _open(segment.path, segment.identity, files), self)

    def group(self, opened: OpenSegment, number: int, columns: list[str] | None) -> pa.Table:
        """Return a row group, which is cached for the next session of it."""
        segment = opened.segment
        wanted = None if columns is None else tuple(columns)
        for names in (None, wanted):
            key = (segment.path, segment.identity, number, names)
            with self._lock:
                if key in self._groups:
                    self._groups.move_to_end(key)
                    known = self._groups[key]
                    return known if columns is None else known.select(columns)
        file = pq.ParquetFile(
            opened.file, metadata=segment.metadata, page_checksum_verification=True
        )
        group = without_metadata(file.read_row_group(number, columns=columns, use_threads=False))
        with self._lock:
            if key not in self._groups:
                self._groups[key] = group
                self._bytes += group.nbytes
            while self._bytes > _MOST_DECODED_BYTES:
                self._bytes -= self._groups.popitem(last=False)[1].nbytes
        return group


def list_segments(directory: Path) -> list[tuple[Path, Identity]]:
    """Return the segments of a directory, newest first; none if it is not there."""
    while True:
        try:
            opened = os.scandir(directory)
        except FileNotFoundError:
            return []
        segments: list[tuple[int, Path, Identity]] = []
        with opened as entries, suppress(FileNotFoundError):
            for entry in entries:
                if name := SEGMENT.fullmatch(entry.name):
                    place = directory / entry.name
                    segments.append((int(name["number"]), place, _identity(entry.stat())))
            segments.sort(key=lambda segment: -segment[0])
            return [(path, identity) for _, path, identity in segments]
        # A writer removed one that was listed: what replaced it may not be among these.


def next_path(directory: Path) -> Path:
    """Return the path of a segment newer than all there are."""
    names = (SEGMENT.fullmatch(path.name) for path, _ in list_segments(directory))
    newest = next((int(name["number"]) for name in names if name is not None), 0)
    return directory / f"segment+{newest + 1}.parquet"


def write(path: Path, schema: pa.Schema, sessions: Sequence[Packed]) -> None:
    """Write a segment of these sessions to `path`, which is a new one."""
    directory = [
        _entry(session.session_id, sum(map(len, session.parts)), session.stamp, session.footer)
        for session in sessions
    ]
    parts = (part for session in sessions for part in session.parts)
    _write(path, schema, parts, directory)


def drop(segment: Segment, session_ids: Set[str], cache: SegmentCache) -> None:
    """Replace a segment by one without these sessions; runs of remaining neighbours are copied
    whole."""
    directory = [
        _entry(name, entry.rows, entry.stamp, entry.footer)
        for name, entry in segment.entries.items()
        if name not in session_ids
    ]
    with ExitStack() as files:
        rows = cache.open(segment, files)
        parts = (
            part
            for begin, end in runs_without(segment, session_ids)
            for part in rows.slices(begin, end, None)
        )
        schema = segment.metadata.schema.to_arrow_schema()
        _write(segment.path, schema, parts, directory)


def runs_without(segment: Segment, session_ids: Set[str]) -> list[tuple[int, int]]:
    """Return begin and end of the runs of rows in a segment that are not of these sessions.
    (Versions up to 0.3.0 also listed sessions without rows.)"""
    runs: list[tuple[int, int]] = []
    for name, entry in segment.entries.items():
        if entry.rows and name not in session_ids:
            begin = runs.pop()[0] if runs and runs[-1][1] == entry.first else entry.first
            runs.append((begin, entry.end))
    return runs


def _entry(session_id: str, rows: int, stamp: str, footer: Mapping[str, str]) -> dict[str, object]:
    """Return a session's entry in a directory, as it is written."""
    return {"session_id": session_id, "rows": rows, "stamp": stamp, "footer": footer}


def _write(
    path: Path, schema: pa.Schema, parts: Iterable[pa.Table], directory: Sequence[object]
) -> None:
    """Replace the segment at `path` by one of these rows."""
    written = time.time_ns()
    with staged_file(path) as staging:
        about = {_WRITTEN: str(written), _SESSIONS: json.dumps(directory)}
        about[_CHECKSUM] = _checksum(about, column_names(schema))
        write_file(staging, schema, parts, about)
        os.utime(staging, ns=(written, written))
        staging.replace(path)


def _open(path: Path, identity: Identity, files: ExitStack) -> pa.OSFile:
    """Open a segment, which is read only if its rows are not cached.

    By Arrow itself: a buffer of a Python file that an Arrow thread lets go of while the
    interpreter ends aborts the process (https://github.com/apache/arrow/issues/45017).
    """
    file = files.enter_context(pa.OSFile(str(path), "rb"))
    if _identity(os.fstat(file.fileno())) != identity:
        raise FileNotFoundError(f"{path} was replaced")
    return file


def _identity(status: os.stat_result) -> Identity:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _entries(metadata: pq.FileMetaData, identity: Identity) -> dict[str, Entry]:
    """Return the directory of a segment. If the file was changed since it was written, or its
    footer has no time, the file's time and size are added to the stamps."""
    entries: dict[str, Entry] = {}
    first = 0
    footer, (_, changed, size) = footer_of(metadata), identity
    checksum = footer.get(_CHECKSUM)  # versions up to 0.3.0 wrote none
    if checksum is not None and checksum != _checksum(footer, names_in(metadata)):
        raise pa.ArrowInvalid("its directory or the names of its columns changed")
    suffix = "" if footer.get(_WRITTEN) == str(changed) else f"~{changed}:{size}"
    try:
        for listed_entry in json.loads(footer[_SESSIONS]):
            entry = Entry(
                first, listed_entry["rows"], listed_entry["stamp"] + suffix, listed_entry["footer"]
            )
            entries[listed_entry["session_id"]] = entry
            first += entry.rows
    except (KeyError, TypeError, ValueError) as error:
        raise pa.ArrowInvalid("its directory cannot be read") from error
    if first != metadata.num_rows:
        raise pa.ArrowInvalid("its directory is of other rows")
    return entries


def _checksum(footer: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the checksum of a segment's directory and of the names of its columns."""
    parts = footer.get(_WRITTEN, ""), footer.get(_SESSIONS, ""), *names
    return blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
