"""The files of one table of one project, and where a session's rows are among them.

A session's rows are in the newest segment that lists it. So whatever is written takes effect by one
rename. Then the writer removes what it replaced: a session that is elsewhere now is taken out of
segments. What a killed writer left undone is noticed by the next one, which finds the partition
marked as untidy, and readers never notice it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from memory_assets.errors import DamagedFile, StoreError, environment
from memory_assets.stores.files.shared import REPLICA_FILE, replace_text
from memory_assets.stores.lake import segments
from memory_assets.stores.lake.parquet_files import (
    OUTPUT_HASH,
    STAGING,
    Extent,
    FileFacts,
    Footer,
    SessionRows,
)
from memory_assets.stores.lake.schemas import Table
from memory_assets.stores.lake.segments import (
    HASHED,
    SUFFIX,
    TAIL_SUFFIX,
    Entry,
    Identity,
    Packed,
    Segment,
    SegmentCache,
    tail_path,
)

SEGMENT_BYTES = 4 << 20
"""Bytes of rows in memory that make a segment; a quarter or less on disk."""
SMALL_BYTES = 1 << 18
"""Files up to this size are packed into segments, when there are many."""
_MOST_SMALL_FILES = 16
_UNTIDY = ".untidy"
NAME = ".project"
"""The file in a directory with a hashed name that has the whole one."""
_MOST_CHARACTERS = 247
"""Characters of an encoded name. File systems allow 255, of which we add up to 8 (`project=`)."""
_BEGINNING = 60
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
_CUT_ESCAPE = re.compile(r"%[0-9A-F]?$")
_TRIES = 10

Small = tuple[Sequence[pa.Table], Mapping[str, str]]
"""The rows of a small session, and its footer."""


class Partition:
    """Reads and writes the files of one table of one project. Writers hold the project's lock."""

    def __init__(self, directory: Path, table: Table, project: str, cache: SegmentCache) -> None:
        self.directory = directory
        self._table = table
        self._project = project
        self._cache = cache

    def stamps(self) -> dict[str, str]:
        """Return for each session what identifies its rows in their present state."""
        return {session_id: entry.stamp for session_id, entry in self._entries().items()}

    def output_hashes(self) -> dict[str, str]:
        """Return the output hash of each session's rows, without those that were appended."""
        entries = self._entries().items()
        return {session_id: entry.footer.get(OUTPUT_HASH, "") for session_id, entry in entries}

    def output_hash(self, session_id: str) -> str:
        """Return the output hash of a session's rows, "" if it has none."""
        with ExitStack() as files, suppress(FileNotFoundError):
            return self.open_rows(session_id, files).facts.output_hash
        return ""

    def changed(self) -> int:
        """Return when a file was added or removed last, in nanoseconds since 1970."""
        with suppress(FileNotFoundError):
            return self.directory.stat().st_mtime_ns
        return 0

    def _entries(self) -> dict[str, Entry]:
        for _ in range(_TRIES):
            state = self._state()
            entries: dict[str, Entry] = {}
            try:
                for segment in map(self._segment, state[1]):
                    entries = {**segment.entries, **entries}
            except FileNotFoundError:
                continue
            if state == self._state():  # no session moved meanwhile
                return entries
        raise StoreError(f"{self.directory} keeps changing; try again")

    def file(self, session_id: str) -> Path | None:
        """Return the file that has a session's rows, None if it has none."""
        with ExitStack() as files, suppress(FileNotFoundError):
            return self.open_rows(session_id, files).path
        return None

    def open_rows(self, session_id: str, files: ExitStack) -> SessionRows:
        """Return a session's rows; `files` closes what they are read from.

        Raises:
            FileNotFoundError: it has none.
            DamagedFile: a segment that may have them is not readable.
        """
        before = None
        for attempt in range(_TRIES):
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
        raise FileNotFoundError(self.directory)

    def select(
        self,
        among: list[str],
        pick: Callable[[pa.Table], pa.Array[Any]] | None,
        columns: list[str] | None = None,
    ) -> list[pa.Table]:
        """Return rows of all sessions, in no order: those whose numbers `pick` returns of each row
        group (None: all). It is given the columns `among`; all `columns` are read of groups with
        such rows."""
        for _ in range(_TRIES):
            with ExitStack() as files, suppress(FileNotFoundError):
                tables = []
                for path, extent in self._extents(files):
                    with reading(path, self._project):
                        for start, end in extent.spans():
                            if pick is None:
                                tables.append(next(extent.slices(start, end, columns)))
                            elif len(numbers := pick(next(extent.slices(start, end, among)))):
                                rows = next(extent.slices(start, end, columns))
                                tables.append(rows.take(numbers))
                return tables
        raise StoreError(f"{self.directory} keeps changing; try again")

    def read(self, columns: list[str] | None = None) -> list[pa.Table]:
        """Return the rows of all sessions, in the order of their ids; each file is opened once."""
        for _ in range(_TRIES):
            state = self._state()
            parts: dict[str, list[pa.Table]] = {}
            with ExitStack() as files, suppress(FileNotFoundError):
                for segment in map(self._segment, state[1]):
                    with reading(segment.path, self._project):
                        for session_id, rows in self._sessions_of(segment, files, columns):
                            parts.setdefault(session_id, rows)
                if state == self._state():  # no session moved meanwhile
                    return [part for session_id in sorted(parts) for part in parts[session_id]]
        raise StoreError(f"{self.directory} keeps changing; try again")

    def _sessions_of(
        self, segment: Segment, files: ExitStack, columns: list[str] | None
    ) -> Iterator[tuple[str, list[pa.Table]]]:
        """Yield the sessions of a segment with their rows."""
        if tail_path(segment.path).exists():
            for session_id in segment.entries:
                rows = self._cache.rows(segment, session_id, files)
                yield session_id, list(rows.parts(0, None, columns))
            return
        whole = self._cache.extent(segment, 0, segment.metadata.num_rows, files)
        for session_id, entry in segment.entries.items():
            yield session_id, list(whole.slices(entry.first, entry.first + entry.rows, columns))

    def _extents(self, files: ExitStack) -> Iterator[tuple[Path, Extent]]:
        """Yield the rows of all sessions with the file that they are in, those of a file together
        where nothing is being moved."""
        held = [self._segment(place) for place in self._state()[1]]
        untidy = (self.directory / _UNTIDY).exists()
        if untidy or any(tail_path(segment.path).exists() for segment in held):
            for session_id in self.stamps():
                rows = self.open_rows(session_id, files)
                yield from ((rows.path, extent) for extent in rows.extents)
            return
        for segment in held:
            with reading(segment.path, self._project):
                extent = self._cache.extent(segment, 0, segment.metadata.num_rows, files)
            yield segment.path, extent

    def write(
        self,
        session_id: str,
        parts: Iterable[pa.Table],
        footer: Footer,
        content: blake2b | str,
    ) -> FileFacts:
        """Replace the rows of a session by these, in a segment of its own. `content` is looked at,
        and `footer` called, after the last row."""

        def output_hash() -> str:
            return content if isinstance(content, str) else content.hexdigest()

        def whole() -> Mapping[str, str]:
            return {**footer(), OUTPUT_HASH: output_hash()}

        rows, size = self._replace([session_id], [Packed(session_id, _new_stamp(), whole, parts)])
        return FileFacts(rows, size, output_hash())

    def publish(self, sessions: Mapping[str, Small]) -> int:
        """Replace the rows of several small sessions by those in one new segment; a session
        without rows is removed. Return the segment's bytes."""
        packed = [
            Packed(name, _new_stamp(), partial(dict, footer), parts)
            for name, (parts, footer) in sorted(sessions.items())
            if parts
        ]
        return self._replace(sessions.keys(), packed)[1]

    def remove(self, session_ids: Collection[str]) -> int:
        """Remove sessions, and what killed writers left; return how many files had them."""
        if not self.directory.is_dir():
            return 0
        with self._changing(self.directory):
            self._remove_leftovers()
            return self._drop_from_segments(set(session_ids))

    def compact(self) -> None:
        """Pack small segments together, if there are many of them. Neither rows nor stamps
        change."""
        small = [place for place in segments.listed(self.directory) if place[1][2] <= SMALL_BYTES]
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

    def tidy(self) -> None:
        """Finish what a killed writer left undone, if there was one: then every row is in one
        file."""
        if (self.directory / _UNTIDY).exists():
            with self._changing(self.directory):
                pass

    def _tidy(self) -> None:
        self._remove_leftovers()
        elsewhere: set[str] = set()
        for place in segments.listed(self.directory):
            segment = self._segment(place)
            self._rewrite(segment, elsewhere)
            elsewhere |= segment.entries.keys()

    def _replace(self, session_ids: Collection[str], packed: Sequence[Packed]) -> tuple[int, int]:
        """Replace the rows of sessions by those in a new segment; return its rows and bytes."""
        with self._changing(self.directory):
            path = segments.next_path(self.directory)
            with writing(path, self._project):
                written = segments.write(path, self._table.schema, packed)
            self._drop_from_segments(set(session_ids), but=path)
        return written

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
            tail_path(segment.path).unlink(missing_ok=True)
            return True
        segments.drop(segment, without, self._cache)
        return True

    def _packed(self, segment: Segment, session_id: str) -> Packed:
        entry = segment.entries[session_id]
        with ExitStack() as files:
            rows = self._cache.rows(segment, session_id, files)
            parts = list(rows.parts(0, None))
        return Packed(session_id, entry.stamp, partial(dict, rows.footer), parts)

    def _all_packed(self, place: tuple[Path, Identity]) -> list[Packed]:
        """Return the sessions of a segment; none if it has other columns."""
        segment = self._segment(place)
        if not segment.metadata.schema.to_arrow_schema().equals(self._table.schema):
            return []
        return [self._packed(segment, name) for name in segment.entries]

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

    def _remove_leftovers(self) -> None:
        """Remove unfinished files, and tails whose session was removed."""
        names = {path.name for path in self.directory.iterdir()}
        for name in names:
            base = name.removesuffix(TAIL_SUFFIX) + SUFFIX
            if STAGING.fullmatch(name) or (name.endswith(TAIL_SUFFIX) and base not in names):
                (self.directory / name).unlink()


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


def _damaged(path: Path, project: str, error: Exception) -> DamagedFile:
    copy = next((each for each in path.parents if (each / REPLICA_FILE).exists()), None)
    mended_by = (
        f"Move it away and run `memory ingest --full --project={project}`."
        if copy is None
        else f"It is of a copy of a shard: delete {copy} and run `memory pull`."
    )
    return DamagedFile(f"{path} is damaged ({type(error).__name__}). {mended_by}")


def _new_stamp() -> str:
    return secrets.token_hex(8)


def encoded(name: str) -> str:
    """Return a name as that of a directory or file: percent-encoded where needed; if that is too
    long, its beginning, `@` (which is encoded in all others) and a hash. None begins or ends with a
    dot, or is what Windows keeps for a device."""
    quoted = quote(name, safe="")
    if quoted.endswith("."):
        quoted = f"{quoted[:-1]}%2E"
    if _DEVICE.match(quoted):
        quoted = f"%{ord(quoted[0]):02X}{quoted[1:]}"
    if len(quoted) > _MOST_CHARACTERS:
        beginning = _CUT_ESCAPE.sub("", quoted[:_BEGINNING])
        quoted = f"{beginning}{HASHED}{blake2b(name.encode(), digest_size=16).hexdigest()}"
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted
