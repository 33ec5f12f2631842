"""The files of one table of one project, and where a session's rows are among them.

A session's rows are in the newest segment that lists it. So a write takes effect by one rename;
then the writer removes replaced sessions from older segments. A killed writer leaves the partition
marked as untidy, so that the next writer finishes its work; readers do not notice.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import pyarrow as pa

from memory_assets.errors import DamagedFile, StoreError, environment
from memory_assets.stores.files.shared import REPLICA_FILE, replace_text
from memory_assets.stores.lake import segments
from memory_assets.stores.lake.parquet_files import STAGING
from memory_assets.stores.lake.rows import ArrowRows
from memory_assets.stores.lake.schemas import Table
from memory_assets.stores.lake.segments import (
    HASHED,
    Entry,
    Identity,
    OpenSegment,
    Packed,
    Segment,
    SegmentCache,
    SessionRows,
)

SEGMENT_BYTES = 4 << 20
"""Bytes of rows in memory that make a segment; a quarter or less on disk."""
SMALL_BYTES = 1 << 18
"""Files up to this size are packed into segments, when there are many."""
_MOST_SMALL_FILES = 16
_UNTIDY = ".untidy"
NAME = ".project"
"""The file with the whole name of the project, in a directory with a hashed name."""
_MOST_CHARACTERS = 247
"""Characters of an encoded name. File systems allow 255, of which we add up to 8 (`project=`)."""
_BEGINNING = 60
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
_CUT_ESCAPE = re.compile(r"%[0-9A-F]?$")
_TRIES = 10
_Answer = TypeVar("_Answer")
_Opened = TypeVar("_Opened")
_Run = tuple[OpenSegment, int, int]
"""Rows of sessions side by side in a segment: begin and end."""


class Partition:
    """Reads and writes the files of one table of one project. Writers hold the project's lock."""

    def __init__(self, directory: Path, table: Table, project: str, cache: SegmentCache) -> None:
        self.directory = directory
        self._table = table
        self.project = project
        self._cache = cache

    def entries(self) -> dict[str, Entry]:
        """Return the entry of each session: where its rows are, and their footer."""
        return self._read_consistently(lambda all_segments, files: all_segments, _all_entries)

    def size(self) -> int:
        """Return the bytes of the files."""
        return sum(identity[2] for _, identity in segments.list_segments(self.directory))

    def changed(self) -> int:
        """Return when a file was added or removed last, in nanoseconds since 1970."""
        with suppress(FileNotFoundError):
            return self.directory.stat().st_mtime_ns
        return 0

    def _read_consistently(
        self,
        opened: Callable[[Sequence[Segment], ExitStack], _Opened],
        read: Callable[[_Opened], _Answer],
    ) -> _Answer:
        """Open all segments, newest first, by `opened`, and return what `read` returns. Opening is
        repeated until no segment changed meanwhile; open files stay readable while others write.
        The stack closes them."""
        for _ in range(_TRIES):
            state = self._listing()
            with ExitStack() as files, suppress(FileNotFoundError):
                sources = opened([self._segment(place) for place in state[1]], files)
                if state == self._listing():
                    return read(sources)
        raise self._changing_error()

    def _changing_error(self) -> StoreError:
        return StoreError(f"{self.directory} keeps changing; try again")

    def _listing(self, *, known: bool = False) -> tuple[int, list[tuple[Path, Identity]]]:
        """Return when a segment was added or removed last, and the segments, newest first. `known`:
        the last listing may be returned if the directory did not change. A listing made during a
        change may lack both the old and the new segment."""
        return self._cache.listing(self.directory, known=known)

    def file(self, session_id: str) -> Path | None:
        """Return the file that has a session's rows, None if it has none."""
        with ExitStack() as files, suppress(FileNotFoundError):
            return self.open_rows(session_id, files).opened.segment.path
        return None

    def open_rows(self, session_id: str, files: ExitStack) -> SessionRows:
        """Return a session's rows; `files` closes what they are read from.

        Raises:
            FileNotFoundError: it has none.
            DamagedFile: a segment that may have them is not readable.
        """
        before = None
        for attempt in range(_TRIES):
            state = self._listing(known=not attempt)
            try:
                for place in state[1]:
                    segment = self._segment(place)
                    if session_id in segment.entries:
                        opened = self._cache.open(segment, files)
                        return SessionRows(opened, segment.entries[session_id])
            except FileNotFoundError:
                continue  # a writer replaced it
            if state == before or not state[0]:  # no session was being moved
                break
            before = state
        raise FileNotFoundError(self.directory)

    def select(
        self,
        among: list[str],
        pick: Callable[[pa.Table], pa.Array[Any]] | None,
        columns: list[str] | None = None,
    ) -> list[pa.Table]:
        """Return rows of all sessions, unordered. `pick` gets the columns `among` of each row
        group, and returns the numbers of its rows to return (None: all); the other `columns` are
        read only from groups with such rows."""

        def picked(runs: Sequence[_Run]) -> list[pa.Table]:
            tables = []
            for opened, begin, end in runs:
                with reading(opened.segment.path, self.project):
                    for span in opened.spans(begin, end):
                        if pick is None:
                            tables.append(opened.read(span, columns))
                        elif len(numbers := pick(opened.read(span, among))):
                            tables.append(opened.read(span, columns).take(numbers))
            return tables

        return self._read_consistently(self._open_runs, picked)

    def read(self, columns: list[str] | None = None) -> list[pa.Table]:
        """Return the rows of all sessions, in the order of their ids."""

        def read_all(runs: Sequence[_Run]) -> list[pa.Table]:
            parts: dict[str, list[pa.Table]] = {}
            for opened, begin, end in runs:
                with reading(opened.segment.path, self.project):
                    for session_id, entry in opened.segment.within(begin, end).items():
                        rows = SessionRows(opened, entry)
                        parts[session_id] = list(rows.parts(columns))
            return [part for session_id in sorted(parts) for part in parts[session_id]]

        return self._read_consistently(self._open_runs, read_all)

    def runs_of(self, session_ids: Collection[str]) -> Iterator[tuple[dict[str, int], pa.Table]]:
        """Yield the rows of sessions, with those of neighbours in a segment together: the number of
        rows by session, in order, and the rows. Sessions without rows are left out. The caller
        holds the project's lock, so that nobody moves them.

        Raises:
            DamagedFile: a segment that may have them is not readable.
            StoreError: somebody moved them all the same.
        """
        left = set(session_ids)
        try:
            for place in self._listing()[1]:
                if not left:
                    return
                segment = self._segment(place)
                for begin, end in segments.runs_without(segment, segment.entries.keys() - left):
                    with reading(segment.path, self.project), ExitStack() as files:
                        opened = self._cache.open(segment, files)
                        rows = pa.concat_tables(opened.slices(begin, end, None))
                    sessions = segment.within(begin, end).items()
                    yield {name: entry.rows for name, entry in sessions}, rows
                left -= segment.entries.keys()
        except FileNotFoundError as error:
            raise self._changing_error() from error

    def _open_runs(self, all_segments: Sequence[Segment], files: ExitStack) -> list[_Run]:
        """Return the rows of all sessions, in runs of neighbours; rows that a newer file replaces
        are left out."""
        runs: list[_Run] = []
        newer: set[str] = set()
        for segment in all_segments:
            if remaining := segments.runs_without(segment, newer):
                with reading(segment.path, self.project):
                    opened = self._cache.open(segment, files)
                runs += ((opened, begin, end) for begin, end in remaining)
            newer |= segment.entries.keys()
        return runs

    def publish(self, sessions: Mapping[str, ArrowRows]) -> None:
        """Replace the rows of sessions, in one new segment; a session without rows is removed."""
        packed = [
            Packed(name, secrets.token_hex(8), rows.footer, rows.parts)
            for name, rows in sorted(sessions.items())
            if rows.parts
        ]
        self._replace(sessions.keys(), packed)

    def remove(self, session_ids: Collection[str]) -> int:
        """Remove sessions, and unfinished files; return the number of files that had them."""
        if not self.directory.is_dir():
            return 0
        with self._changing(self.directory):
            self._remove_leftovers()
            return self._drop_from_segments(set(session_ids))

    def compact(self) -> None:
        """Pack small segments together, if there are many of them. Neither rows nor stamps
        change."""
        small = [
            place for place in segments.list_segments(self.directory) if place[1][2] <= SMALL_BYTES
        ]
        if len(small) <= _MOST_SMALL_FILES:
            return
        moved: list[Packed] = []
        for place in small:
            moved += self._all_packed(place)
            if sum(part.nbytes for packed in moved for part in packed.parts) >= SEGMENT_BYTES:
                self._replace({packed.session_id for packed in moved}, moved)
                moved = []
        if moved:
            self._replace({packed.session_id for packed in moved}, moved)

    def set_apart(self, session_ids: Set[str]) -> set[Path]:
        """Move these sessions to segments without any other, and return the paths of those. Neither
        rows nor stamps change."""
        for place in segments.list_segments(self.directory):
            segment = self._segment(place)
            names = segment.entries.keys() & session_ids
            if names and names != segment.entries.keys():
                packed = [self._packed(segment, name) for name in sorted(names)]
                self._replace(names, packed, segment.metadata.schema.to_arrow_schema())
        apart = map(self._segment, segments.list_segments(self.directory))
        return {segment.path for segment in apart if segment.entries.keys() <= session_ids}

    def move(self, session: Packed) -> None:
        """Replace the rows of a session by these, which may have other columns."""
        self._replace({session.session_id}, [session], session.parts[0].schema)

    def tidy(self) -> None:
        """Finish what a killed writer left undone, if there was one."""
        if (self.directory / _UNTIDY).exists():
            with self._changing(self.directory):
                pass

    def _tidy(self) -> None:
        self._remove_leftovers()
        elsewhere: set[str] = set()
        for place in segments.list_segments(self.directory):
            segment = self._segment(place)
            self._rewrite(segment, elsewhere)
            elsewhere |= segment.entries.keys()

    def _replace(
        self,
        session_ids: Collection[str],
        packed: Sequence[Packed],
        schema: pa.Schema | None = None,
    ) -> None:
        """Replace the rows of sessions by those in a new segment."""
        with self._changing(self.directory):
            path = segments.next_path(self.directory)
            if packed:
                with writing(path, self.project):
                    segments.write(path, schema or self._table.schema, packed)
            self._drop_from_segments(set(session_ids), but=path)

    def _drop_from_segments(self, session_ids: Set[str], but: Path | None = None) -> int:
        """Rewrite the segments that list any of these sessions without them; return how many."""
        places = [place for place in segments.list_segments(self.directory) if place[0] != but]
        return sum(self._rewrite(self._segment(place), session_ids) for place in places)

    def _rewrite(self, segment: Segment, without: Set[str]) -> bool:
        """Remove sessions from a segment; return whether it had any of them."""
        if without.isdisjoint(segment.entries):
            return False
        if segment.entries.keys() <= without:
            segment.path.unlink()
            return True
        try:
            segments.drop(segment, without, self._cache)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise _damaged(segment.path, self.project, error) from None
        return True

    def _packed(self, segment: Segment, session_id: str) -> Packed:
        entry = segment.entries[session_id]
        with reading(segment.path, self.project), ExitStack() as files:
            parts = list(SessionRows(self._cache.open(segment, files), entry).parts())
        return Packed(session_id, entry.stamp, entry.footer, parts)

    def _all_packed(self, place: tuple[Path, Identity]) -> list[Packed]:
        """Return the sessions of a segment; none if it has other columns."""
        segment = self._segment(place)
        if not segment.metadata.schema.to_arrow_schema().equals(self._table.schema):
            return []
        return [self._packed(segment, name) for name in segment.entries]

    @contextmanager
    def _changing(self, path: Path) -> Iterator[None]:
        """Mark the partition as untidy for the block, after finishing the work of a killed writer;
        translate errors of writing `path`."""
        with writing(path, self.project):
            self.directory.mkdir(parents=True, exist_ok=True)
            if HASHED in self.directory.name and not (self.directory / NAME).exists():
                replace_text(self.directory / NAME, self.project)
            mark = self.directory / _UNTIDY
            untidy = mark.exists()
            mark.touch()
            if untidy:
                self._tidy()
            try:
                yield
            except Exception:
                with suppress(Exception):  # the first error is raised; the next writer tidies
                    self._tidy()
                    mark.unlink()
                raise
            mark.unlink()

    def _segment(self, place: tuple[Path, Identity]) -> Segment:
        with reading(place[0], self.project):
            return self._cache.segment(*place)

    def _remove_leftovers(self) -> None:
        """Remove unfinished files."""
        for path in self.directory.iterdir():
            if STAGING.fullmatch(path.name):
                path.unlink()


@contextmanager
def reading(path: Path, project: str) -> Iterator[None]:
    """Translate the errors of reading a file in a block, but not that it is missing."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
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


def _all_entries(all_segments: Sequence[Segment]) -> dict[str, Entry]:
    """Return the entry of each session in segments, newest first."""
    entries: dict[str, Entry] = {}
    for segment in reversed(all_segments):
        entries |= segment.entries
    return entries


def _damaged(path: Path, project: str, error: Exception) -> DamagedFile:
    copy = next((parent for parent in path.parents if (parent / REPLICA_FILE).exists()), None)
    mended_by = (
        f"Move it away and run `memory ingest --full --project={project}`."
        if copy is None
        else f"It is of a copy of a shard: delete {copy} and run `memory pull`."
    )
    return DamagedFile(f"{path} is damaged ({type(error).__name__}). {mended_by}")


def encoded_name(name: str) -> str:
    """Return a name for a directory or file: percent-encoded where needed; if it is too long, its
    beginning, `@` (which others have encoded) and a hash. It neither begins nor ends with a dot,
    and is no device name of Windows."""
    quoted = quote(name, safe="")
    if quoted.endswith("."):
        quoted = f"{quoted[:-1]}%2E"
    if _DEVICE.match(quoted):
        quoted = f"%{ord(quoted[0]):02X}{quoted[1:]}"
    if len(quoted) > _MOST_CHARACTERS:
        beginning = _CUT_ESCAPE.sub("", quoted[:_BEGINNING])
        quoted = f"{beginning}{HASHED}{blake2b(name.encode(), digest_size=16).hexdigest()}"
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted
