"""Segments: Parquet files of a project, each with one long session or many small ones.

    segment+<number>.parquet   sessions as contiguous row ranges, in row groups of a batch each

Most sessions are small, and opening, writing and renaming a file costs more than their rows. The
footer has a directory: which rows are whose, with the footer metadata of each session. A segment
is never changed, only replaced by atomic rename or removed. It names the time that it has as a
file, so that what another program changed is noticed: then its sessions have other stamps,
wherever they are moved.

Earlier versions wrote a long session to a file without a directory:

    <session>.parquet        one session; of a name that is too long the footer has the whole
    <session>.tail.parquet   what was appended: it replaces all after the first `keep` rows

It counts as a segment of this session, newer than all others, until it is written again. A tail
names the base that it belongs to; one that names another is left over, and ignored.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.stores.lake.parquet_files import (
    OUTPUT_HASH,
    Extent,
    FileFacts,
    Footer,
    SessionRows,
    bare,
    footer_of,
    group_rows,
    staged,
    write_file,
)

SUFFIX = ".parquet"
TAIL_SUFFIX = ".tail.parquet"
GENERATION = "generation"
_TAIL_OF = "tail_of"
_KEEP = "keep"
OF_THE_FILE = frozenset({"ARROW:schema", GENERATION, _TAIL_OF, _KEEP, "cut"})
"""In the footers of these files, what says nothing of the session."""


def tail_path(path: Path) -> Path:
    """Return where the tail of the base at `path` is, or would be."""
    return path.with_name(path.name.removesuffix(SUFFIX) + TAIL_SUFFIX)


def with_tail(base: SessionRows, generation: str, files: ExitStack) -> SessionRows:
    """Return the rows of a session whose base is of this generation, with those of its tail if it
    has one; `files` closes that.

    Raises:
        pa.ArrowInvalid, OSError: the tail is not readable as Parquet.
    """
    try:
        opened = files.enter_context(pa.OSFile(str(tail_path(base.path)), "rb"))
    except FileNotFoundError:
        return base
    tail = pq.ParquetFile(opened, page_checksum_verification=True)
    footer, rows = footer_of(tail.metadata), tail.metadata.num_rows
    if footer.get(_TAIL_OF) != generation:
        return base

    def read_group(number: int, columns: list[str] | None) -> pa.Table:
        return bare(tail.read_row_group(number, columns=columns, use_threads=False))

    kept = replace(base.extents[0], rows=int(footer[_KEEP]))
    added = Extent(tail.metadata, group_rows(tail.metadata), read_group, 0, rows)
    size = base.facts.bytes + opened.size()
    facts = FileFacts(kept.rows + rows, size, footer.get(OUTPUT_HASH, ""))
    own = {key: value for key, value in footer.items() if key not in OF_THE_FILE}
    return SessionRows(base.path, [kept, added], facts, own)


SEGMENT = re.compile(r"segment\+(?P<number>\d+)\.parquet")
HASHED = "@"
"""In a name of which only the beginning is left, before a hash; it is encoded in all others."""
_SESSION_OF_FILE = "session_of_file"
_SESSIONS = "sessions"
_WRITTEN = "written_ns"
_MOST_DIRECTORIES = 64
_MOST_SEGMENTS = 2_048
"""Segments whose directories are kept, of some 20 kB each: a project of many long sessions has
hundreds, and with fewer than it has every session would read them all again."""
_MOST_DECODED_BYTES = 24 << 20
"""Bytes of decoded row groups that are kept: several sessions of one are read in a row."""

_SECOND_NS = 1_000_000_000
_STEPS_NS = _SECOND_NS // 10
_COARSE_STEPS_NS = 3 * _SECOND_NS
"""Time after which a directory's modification time tells that nothing was added or removed since.
File systems count it in steps of some milliseconds, or of one or two seconds: then it is a whole
number of them."""

Identity = tuple[int, int, int]
"""Inode, modification time and size of a file."""


@dataclass(frozen=True)
class Entry:
    """Where a session's rows are in a segment. `stamp` changes when they are written, and not
    when they are moved from file to file; `footer` has what describes the session."""

    first: int
    rows: int
    stamp: str
    footer: Mapping[str, str]


@dataclass(frozen=True)
class Packed:
    """A session to write to a segment; `footer` is called after the last of its `parts`."""

    session_id: str
    stamp: str
    footer: Footer
    parts: Iterable[pa.Table]


@dataclass(frozen=True)
class Segment:
    """A segment on disk, the rows of each row group, and its directory, by session."""

    path: Path
    identity: Identity
    metadata: pq.FileMetaData
    groups: Sequence[int]
    entries: Mapping[str, Entry]


class SegmentCache:
    """The directories and decoded row groups of the segments that were read last; for several
    threads."""

    def __init__(self) -> None:
        self._segments: OrderedDict[Path, Segment] = OrderedDict()
        self._groups: OrderedDict[tuple[object, ...], pa.Table] = OrderedDict()
        self._bytes = 0
        self._listings: OrderedDict[Path, tuple[int, list[tuple[Path, Identity]]]] = OrderedDict()
        self._lock = Lock()

    def listing(
        self, directory: Path, *, known: bool = True
    ) -> tuple[int, list[tuple[Path, Identity]]]:
        """Return when a file was added to a directory or removed last, 0 if it is not there, and
        its segments, newest first: those `known`, if nothing was since. What was changed in place
        is not noticed by that, but by who opens it."""
        try:
            changed = directory.stat().st_mtime_ns
        except FileNotFoundError:
            return 0, []
        with self._lock:
            before = self._listings.get(directory) if known else None
        if before is not None and before[0] == changed:
            return before
        age = time.time_ns() - changed
        found = changed, listed(directory)
        if age > (_STEPS_NS if changed % _SECOND_NS else _COARSE_STEPS_NS):
            with self._lock:
                self._listings[directory] = found
                self._listings.move_to_end(directory)
                while len(self._listings) > _MOST_DIRECTORIES:
                    self._listings.popitem(last=False)
        return found

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
            segment = Segment(
                path, identity, metadata, group_rows(metadata), _entries(path, metadata, identity)
            )
        with self._lock:
            self._segments[path] = segment
            self._segments.move_to_end(path)
            while len(self._segments) > _MOST_SEGMENTS:
                self._segments.popitem(last=False)
        return segment

    def rows(self, segment: Segment, session_id: str, files: ExitStack) -> SessionRows:
        """Return a session's rows in a segment; `files` closes it."""
        entry = segment.entries[session_id]
        extent = self.extent(segment, entry.first, entry.rows, files)
        share = segment.identity[2] * entry.rows // max(segment.metadata.num_rows, 1)
        facts = FileFacts(entry.rows, share, entry.footer.get(OUTPUT_HASH, ""))
        rows = SessionRows(segment.path, [extent], facts, entry.footer)
        if SEGMENT.fullmatch(segment.path.name):
            return rows
        generation = footer_of(segment.metadata).get(GENERATION) or facts.output_hash
        return with_tail(rows, generation, files)

    def extent(self, segment: Segment, first: int, rows: int, files: ExitStack) -> Extent:
        """Return rows of a segment, whosever they are; `files` closes it."""
        file = _open(segment.path, segment.identity, files)
        read_group = partial(self._group, segment, file)
        return Extent(segment.metadata, segment.groups, read_group, first, rows)

    def _group(
        self, segment: Segment, file: pa.OSFile, number: int, columns: list[str] | None
    ) -> pa.Table:
        """Return a row group, decoded once for the sessions that are read one after another."""
        wanted = None if columns is None else tuple(columns)
        for names in (None, wanted):
            key = (segment.path, segment.identity, number, names)
            with self._lock:
                if key in self._groups:
                    self._groups.move_to_end(key)
                    known = self._groups[key]
                    return known if columns is None else known.select(columns)
        opened = pq.ParquetFile(file, metadata=segment.metadata, page_checksum_verification=True)
        group = bare(opened.read_row_group(number, columns=columns, use_threads=False))
        with self._lock:
            if key not in self._groups:
                self._groups[key] = group
                self._bytes += group.nbytes
            while self._bytes > _MOST_DECODED_BYTES:
                self._bytes -= self._groups.popitem(last=False)[1].nbytes
        return group


def listed(directory: Path) -> list[tuple[Path, Identity]]:
    """Return the segments of a directory, newest first; none if it is not there."""
    found: list[tuple[float, os.DirEntry[str]]] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if name := SEGMENT.fullmatch(entry.name):
                    found.append((int(name["number"]), entry))
                elif entry.name.endswith(SUFFIX) and not is_tail(entry.name):
                    found.append((math.inf, entry))
            found.sort(key=lambda each: -each[0])
            return [(directory / entry.name, _identity(entry.stat())) for _, entry in found]
    except FileNotFoundError:
        return []


def is_tail(name: str) -> bool:
    """Whether a file is the tail of another, or hidden."""
    return name.startswith(".") or name.endswith(TAIL_SUFFIX)


def next_path(directory: Path) -> Path:
    """Return the path of a segment newer than all there are."""
    names = (SEGMENT.fullmatch(path.name) for path, _ in listed(directory))
    newest = next((int(name["number"]) for name in names if name is not None), 0)
    return directory / f"segment+{newest + 1}.parquet"


def write(path: Path, schema: pa.Schema, sessions: Iterable[Packed]) -> tuple[int, int]:
    """Replace the segment at `path` by one of these sessions, unless they have no rows; return
    its rows and bytes."""
    directory: list[dict[str, object]] = []

    def parts() -> Iterator[pa.Table]:
        for session in sessions:
            count = 0
            for part in session.parts:
                count += len(part)
                yield part
            name, stamp = session.session_id, session.stamp
            directory.append(_listed_as(name, count, stamp, session.footer()))

    return _write(path, schema, parts(), directory)


def drop(segment: Segment, session_ids: Set[str], cache: SegmentCache) -> None:
    """Replace a segment of several sessions by one without these. Neighbours that stay are moved
    as one."""
    directory: list[dict[str, object]] = []
    runs: list[tuple[int, int]] = []
    for name, entry in segment.entries.items():
        if name in session_ids:
            continue
        directory.append(_listed_as(name, entry.rows, entry.stamp, entry.footer))
        end = entry.first + entry.rows
        runs.append((runs.pop()[0] if runs and runs[-1][1] == entry.first else entry.first, end))
    with ExitStack() as files:
        rows = cache.extent(segment, 0, segment.metadata.num_rows, files)
        parts = (part for first, end in runs for part in rows.slices(first, end, None))
        schema = segment.metadata.schema.to_arrow_schema()
        count, _ = _write(segment.path, schema, parts, directory)
    if not count:
        segment.path.unlink()


def _listed_as(
    session_id: str, rows: int, stamp: str, footer: Mapping[str, str]
) -> dict[str, object]:
    """Return a session's entry in a directory, as it is written."""
    return {"session_id": session_id, "rows": rows, "stamp": stamp, "footer": footer}


def _write(
    path: Path, schema: pa.Schema, parts: Iterable[pa.Table], directory: Sequence[object]
) -> tuple[int, int]:
    """Replace the segment at `path` by one of these rows, if there are any; return their number
    and its bytes. `directory` is complete when all parts were taken."""
    written = time.time_ns()
    with staged(path) as staging:
        about = partial(_directory_footer, written, directory)
        count = write_file(staging, schema, parts, about)
        os.utime(staging, ns=(written, written))
        size = staging.stat().st_size
        if count:
            staging.replace(path)
    return count, size


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


def _directory_footer(written: int, directory: Sequence[object]) -> dict[str, str]:
    return {_WRITTEN: str(written), _SESSIONS: json.dumps(directory)}


def _entries(path: Path, metadata: pq.FileMetaData, identity: Identity) -> dict[str, Entry]:
    """Return the directory of a segment. Where the file is not as it was written, or is of a
    version that did not note it, the stamps say which file they are of."""
    entries: dict[str, Entry] = {}
    first = 0
    footer, (_, changed, size) = footer_of(metadata), identity
    if not SEGMENT.fullmatch(path.name):
        name = footer.pop(_SESSION_OF_FILE, "") or unquote(path.name.removesuffix(SUFFIX))
        own = {key: value for key, value in footer.items() if key not in OF_THE_FILE}
        return {name: Entry(0, metadata.num_rows, f"{path.name}:{changed}:{size}", own)}
    more = "" if footer.get(_WRITTEN) == str(changed) else f"~{changed}:{size}"
    try:
        for each in json.loads(footer[_SESSIONS]):
            entry = Entry(first, each["rows"], each["stamp"] + more, each["footer"])
            entries[each["session_id"]] = entry
            first += entry.rows
    except (KeyError, TypeError, ValueError) as error:
        raise pa.ArrowInvalid("its directory cannot be read") from error
    if first != metadata.num_rows:
        raise pa.ArrowInvalid("its directory is of other rows")
    return entries
