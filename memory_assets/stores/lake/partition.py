"""The files of one table of one project, and where a session's rows are among them.

A session's rows are in its own file if it has one, else in the newest segment that lists it. So
whatever is written takes effect by one rename. Then the writer removes what it replaced: a
session that is elsewhere now is taken out of segments. What a killed writer left undone is
noticed by the next one, which finds the partition marked as untidy, and readers never notice it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from memory_assets.errors import DamagedFile, StoreError, environment
from memory_assets.stores.files.shared import replace_text
from memory_assets.stores.lake import files as own_files
from memory_assets.stores.lake import segments
from memory_assets.stores.lake.files import SUFFIX, TAIL_SUFFIX
from memory_assets.stores.lake.parquet_files import (
    STAGING,
    Extent,
    FileFacts,
    Footer,
    SessionRows,
    open_file,
    whole_file,
)
from memory_assets.stores.lake.schemas import Table
from memory_assets.stores.lake.segments import SEGMENT, Identity, Packed, Segment, SegmentCache

SEGMENT_BYTES = 4 << 20
"""Bytes of rows in memory that make a segment; a quarter or less on disk."""
SMALL_BYTES = 1 << 18
"""Files up to this size are packed into segments, when there are many."""
_MOST_SMALL_FILES = 16
_TAIL = ".tail"
_UNTIDY = ".untidy"
NAME = ".project"
"""The file in a directory with a hashed name that has the whole one."""
HASHED = "@"
_MOST_OF_A_DIRECTORY = 247
_MOST_OF_A_FILE = 225
"""Characters of an encoded name. File systems allow 255, of which we add up to 8 (`project=`), and
30 to that of a file (`.`, `.tail.parquet.<process>.staging`)."""
_BEGINNING = 60
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
_CUT_ESCAPE = re.compile(r"%[0-9A-F]?$")
_TRIES = 10

_sessions_of_files: dict[str, str] = {}
"""Sessions by the hashed names of their files, as far as they were asked for."""

Small = tuple[Sequence[pa.Table], Mapping[str, str]]
"""The rows of a small session, and its footer."""


class Partition:
    """Reads and writes the files of one table of one project. Writers hold the project's lock."""

    def __init__(self, directory: Path, table: Table, project: str, cache: SegmentCache) -> None:
        self.directory = directory
        self._table = table
        self._project = project
        self._cache = cache

    def own_path(self, session_id: str) -> Path:
        """Return where a session's own file is, or would be."""
        return self.directory / f"{_encoded_session(session_id)}{SUFFIX}"

    def stamps(self) -> dict[str, list[str]]:
        """Return for each session what identifies its rows in their present state: of the base
        or the place in a segment, and of the tail where there is one."""
        for _ in range(_TRIES):
            state = self._state()
            try:
                stamps = self._own()
                for segment in map(self._segment, state[1]):
                    for session_id, entry in segment.entries.items():
                        stamps.setdefault(session_id, [entry.stamp])
            except FileNotFoundError:
                continue
            if state == self._state():  # no session moved meanwhile
                return stamps
        raise StoreError(f"{self.directory} keeps changing; try again")

    def files(self, session_id: str) -> list[Path]:
        """Return the files that have a session's rows: none, its own one and its tail, or a
        segment."""
        if own := self._own_files(session_id):
            return own
        with ExitStack() as files, suppress(FileNotFoundError):
            return [self.open_rows(session_id, files).path]
        return []

    def open_rows(self, session_id: str, files: ExitStack) -> SessionRows:
        """Return a session's rows; `files` closes what they are read from.

        Raises:
            FileNotFoundError: it has none.
            DamagedFile: a segment that may have them is not readable.
            pa.ArrowInvalid, OSError: its own file is not.
        """
        path = self.own_path(session_id)
        before = None
        for attempt in range(_TRIES):
            with suppress(FileNotFoundError):
                if path.exists():
                    return own_files.open_rows(path, files)
            state = self._state(known=not attempt)
            try:
                for place in state[1]:
                    segment = self._segment(place)
                    if session_id in segment.entries:
                        return self._cache.rows(segment, session_id, files)
            except FileNotFoundError:
                continue  # a writer replaced it
            if state == before or not state[0]:  # it was not on its way from one file to another
                break
            before = state
        raise FileNotFoundError(path)

    def select(
        self,
        among: list[str],
        pick: Callable[[pa.Table], pa.Array[Any]],
        columns: list[str] | None = None,
    ) -> list[pa.Table]:
        """Return rows of all sessions, in no order: those whose numbers `pick` returns of each row
        group. It is given the columns `among`; all `columns` are read of groups with such rows."""
        for _ in range(_TRIES):
            with ExitStack() as files, suppress(FileNotFoundError):
                tables = []
                for extent in self._extents(files):
                    for start, end in extent.spans():
                        numbers = pick(next(extent.slices(start, end, among)))
                        if len(numbers):
                            rows = next(extent.slices(start, end, columns))
                            tables.append(rows.take(numbers))
                return tables
        raise StoreError(f"{self.directory} keeps changing; try again")

    def _extents(self, files: ExitStack) -> Iterator[Extent]:
        """Yield the rows of all sessions, those of a file together where nothing is being moved."""
        own, state = self._own(), self._state()
        plain = all(len(stamps) == 1 for stamps in own.values())
        if not plain or (self.directory / _UNTIDY).exists():
            for session_id in self.stamps():
                yield from self.open_rows(session_id, files).extents
            return
        paths = [*map(self.own_path, own), *(path for path, _ in state[1])]
        for path in paths:
            with reading(path, self._project):
                yield whole_file(open_file(path, files)[0])

    def write(
        self,
        session_id: str,
        parts: Iterable[pa.Table],
        footer: Footer,
        content: blake2b | str,
    ) -> FileFacts:
        """Replace the rows of a session by these, in a file of its own."""
        path = self.own_path(session_id)
        footer = own_files.named(session_id, footer) if HASHED in path.name else footer
        with self._changing(path):
            facts = own_files.write_whole(path, self._table.schema, parts, footer, content)
            self._drop_from_segments({session_id})
        return facts

    def publish(self, sessions: Mapping[str, Small]) -> int:
        """Replace the rows of several small sessions by those in one new segment; a session
        without rows is removed. Return the segment's bytes."""
        packed = [
            Packed(name, f"{self.own_path(name).name}:{secrets.token_hex(8)}", footer, parts)
            for name, (parts, footer) in sorted(sessions.items())
            if parts
        ]
        return self._replace(sessions.keys(), packed)

    def remove(self, session_ids: Collection[str]) -> int:
        """Remove sessions, and what killed writers left; return how many files had them."""
        if not self.directory.is_dir():
            return 0
        with self._changing(self.directory):
            self._remove_staging()
            own = [path for name in session_ids for path in self._own_files(name)]
            for session_id in session_ids:
                own_files.remove(self.own_path(session_id))
            return len(own) + self._drop_from_segments(set(session_ids))

    def compact(self, but: Set[str] = frozenset()) -> None:
        """Pack small own files and small segments into segments, if there are many of them; own
        files of the sessions in `but` stay. Neither rows nor stamps change."""
        own = {
            name: stamps[0]
            for name, stamps in self._own().items()
            if len(stamps) == 1 and name not in but and _size_in(stamps[0]) <= SMALL_BYTES
        }
        small = [place for place in segments.listed(self.directory) if place[1][2] <= SMALL_BYTES]
        if len(own) + len(small) <= _MOST_SMALL_FILES:
            return
        moved: list[Packed] = []
        for sessions in chain(map(self._packed_own, own.items()), map(self._all_packed, small)):
            moved += sessions
            if sum(part.nbytes for packed in moved for part in packed.parts) >= SEGMENT_BYTES:
                self._replace({packed.session_id for packed in moved}, moved)
                moved = []
        if moved:
            self._replace({packed.session_id for packed in moved}, moved)

    def tidy(self) -> None:
        """Finish what a killed writer left undone, if there was one: then every row is in one
        file."""
        if (self.directory / _UNTIDY).exists():
            with self._changing(self.directory):
                pass

    def _tidy(self) -> None:
        self._remove_staging()
        for entry in self._entries():
            if entry.name.endswith(TAIL_SUFFIX):
                with suppress(pa.ArrowInvalid):  # damaged: whoever reads it says so
                    own_files.tidy_tail(self.directory / entry.name)
        elsewhere = set(self._own())
        for place in segments.listed(self.directory):
            segment = self._segment(place)
            self._rewrite(segment, elsewhere)
            elsewhere |= segment.entries.keys()

    def _replace(self, session_ids: Collection[str], packed: Sequence[Packed]) -> int:
        """Replace the rows of sessions by those in a new segment, and return its bytes."""
        with self._changing(self.directory):
            path, size = segments.next_path(self.directory), 0
            if packed:
                with writing(path, self._project):
                    size = segments.write(path, self._table.schema, packed)
            for session_id in session_ids:
                own_files.remove(self.own_path(session_id))
            self._drop_from_segments(set(session_ids), but=path)
        return size

    def _drop_from_segments(self, session_ids: Set[str], but: Path | None = None) -> int:
        """Rewrite the segments that list any of these sessions without them; return how many."""
        places = [place for place in segments.listed(self.directory) if place[0] != but]
        return sum(self._rewrite(self._segment(place), session_ids) for place in places)

    def _rewrite(self, segment: Segment, without: Set[str]) -> bool:
        """Remove sessions from a segment; return whether it had any of them."""
        if without.isdisjoint(segment.entries):
            return False
        if segment.entries.keys() <= without:
            segment.path.unlink()
            return True
        kept = (self._packed(segment, name) for name in segment.entries if name not in without)
        segments.write(segment.path, segment.metadata.schema.to_arrow_schema(), kept)
        return True

    def _packed(self, segment: Segment, session_id: str) -> Packed:
        entry = segment.entries[session_id]
        with ExitStack() as files:
            parts = list(self._cache.rows(segment, session_id, files).parts(0, None))
        return Packed(session_id, entry.stamp, entry.footer, parts)

    def _all_packed(self, place: tuple[Path, Identity]) -> list[Packed]:
        """Return the sessions of a segment; none if it has other columns."""
        segment = self._segment(place)
        if not segment.metadata.schema.to_arrow_schema().equals(self._table.schema):
            return []
        return [self._packed(segment, name) for name in segment.entries]

    def _packed_own(self, own: tuple[str, str]) -> list[Packed]:
        """Return a session in its own file; none if that is damaged, or has other columns."""
        session_id, stamp = own
        with suppress(pa.ArrowInvalid), own_files.opened(self.own_path(session_id)) as rows:
            parts = list(rows.parts(0, None))
            if parts and parts[0].schema.equals(self._table.schema):
                return [Packed(session_id, stamp, rows.footer, parts)]
        return []

    @contextmanager
    def _changing(self, path: Path) -> Iterator[None]:
        """Mark the partition as untidy for the block, after tidying what another writer left;
        translate errors of writing `path`."""
        with writing(path, self._project):
            self.directory.mkdir(parents=True, exist_ok=True)
            if HASHED in self.directory.name and not (self.directory / NAME).exists():
                replace_text(self.directory / NAME, self._project)
            mark = self.directory / _UNTIDY
            if mark.exists():
                self._tidy()
            mark.touch()
            try:
                yield
            except Exception:
                with suppress(Exception):  # what failed is told; the next writer tidies
                    self._tidy()
                    mark.unlink()
                raise
            mark.unlink()

    def _state(self, *, known: bool = False) -> tuple[int, list[tuple[Path, Identity]]]:
        """Return when a file was added or removed last, and the segments, newest first."""
        return self._cache.listing(self.directory, known=known)

    def _segment(self, place: tuple[Path, Identity]) -> Segment:
        with reading(place[0], self._project):
            return self._cache.segment(*place)

    def _own(self) -> dict[str, list[str]]:
        """Return the stamps of the sessions in files of their own: of base, and tail if any."""
        bases: dict[str, list[str]] = {}
        tails: dict[str, str] = {}
        for entry in self._entries():
            if entry.name.endswith(SUFFIX) and not SEGMENT.fullmatch(entry.name):
                status = entry.stat()
                stamp = f"{entry.name}:{status.st_mtime_ns}:{status.st_size}"
                is_tail = entry.name.endswith(TAIL_SUFFIX)
                name = entry.name.removesuffix(TAIL_SUFFIX if is_tail else SUFFIX)
                session_id = self._named(entry.name) if HASHED in name else unquote(name)
                if session_id is None:
                    continue
                if is_tail:
                    tails[session_id] = stamp
                else:
                    bases[session_id] = [stamp]
        for session_id in tails.keys() & bases.keys():
            bases[session_id].append(tails[session_id])
        return bases

    def _named(self, file_name: str) -> str | None:
        """Return whose file one with a hashed name is; None if it is damaged, so that the session
        is made again."""
        known = _sessions_of_files.get(file_name)
        if known is None:
            with suppress(pa.ArrowInvalid):
                known = own_files.name_in(self.directory / file_name)
            if known is not None:
                _sessions_of_files[file_name] = known
        return known

    def _own_files(self, session_id: str) -> list[Path]:
        path = self.own_path(session_id)
        return [each for each in (path, own_files.tail_path(path)) if each.exists()]

    def _remove_staging(self) -> None:
        for entry in self._entries():
            if STAGING.fullmatch(entry.name):
                (self.directory / entry.name).unlink()

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.directory) as entries:
                return list(entries)
        except FileNotFoundError:
            return []


@contextmanager
def reading(path: Path, project: str) -> Iterator[None]:
    """Translate the errors of reading a file in a block, but not that it is missing."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowInvalid, OSError) as error:
        cause = environment(error) if isinstance(error, OSError) and error.errno else None
        if cause is not None:
            raise StoreError(f"cannot read {path}: {cause.reason}; {cause.remedy}") from error
        raise _damaged(path, project, error) from None


@contextmanager
def writing(path: Path, project: str) -> Iterator[None]:
    """Translate the errors of writing a file in a block."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise _damaged(path, project, error) from None
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or type(error).__name__}. "
            "Free space or correct the permissions, then run the ingest again."
        ) from error


def _damaged(path: Path, project: str, error: Exception) -> DamagedFile:
    return DamagedFile(
        f"{path} is damaged ({type(error).__name__}). Move it away and run "
        f"`memory ingest --full --project={project}`."
    )


def _size_in(stamp: str) -> int:
    return int(stamp.rpartition(":")[2])


def encoded(name: str, most: int = _MOST_OF_A_DIRECTORY) -> str:
    """Return a name as that of a directory or file: percent-encoded where needed; if that is longer
    than `most`, its beginning, `@` (which is encoded in all others) and a hash. None begins or ends
    with a dot, or is what Windows keeps for a device."""
    quoted = quote(name, safe="")
    if quoted.endswith("."):
        quoted = f"{quoted[:-1]}%2E"
    if _DEVICE.match(quoted):
        quoted = f"%{ord(quoted[0]):02X}{quoted[1:]}"
    if len(quoted) > most:
        beginning = _CUT_ESCAPE.sub("", quoted[:_BEGINNING])
        quoted = f"{beginning}{HASHED}{blake2b(name.encode(), digest_size=16).hexdigest()}"
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


def _encoded_session(session_id: str) -> str:
    """Return a session's file name; none looks like that of another one's tail."""
    name = encoded(session_id, _MOST_OF_A_FILE)
    return f"{name.removesuffix(_TAIL)}%2Etail" if name.endswith(_TAIL) else name
