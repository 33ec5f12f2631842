"""The records of files that were just scanned, kept for their redaction, so that a file is parsed
once; and a cache of session records for the stages that follow redaction.

These stages read the same sessions one after the other, so the records of one project are kept in
memory, up to a limit, by the output hash of the session's product. Beyond the limit only the last
used session is kept, so that one large growing session is not read by each stage. Redaction adds
its new records (`add`). Checks do not use the cache; they read the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from memory_assets.chunking import as_said, build_turns
from memory_assets.errors import NotFound
from memory_assets.models import Record, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.session_analysis.phrases import head_and_tail
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.lake import Lake, rows_from_arrow
from memory_assets.stores.lake.rows import BATCH_ROWS, Stored
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import ReadReport

_HEAD = 8_000
"""Characters at the beginning of a tool's output that the stages search for errors and commits."""
_TAIL = 4_000
"""Characters at its end: a commit is printed after the tests, and a failure is often in the last
line."""
_CACHE_BYTES = 20 << 20
"""Limit of the cache without the last used session, in bytes of Arrow tables; Python objects take
about five times as much. The first sessions stay, because all stages read in the same order."""

Records = Sequence[RedactedRecord]
Outputs = Mapping[tuple[str | None, int], RedactedText]
"""Texts of tool results by subagent and `seq` of their records."""


@dataclass(frozen=True)
class _CachedRecords:
    """The records of a session, with long tool output cut, and the whole long outputs."""

    records: Records = ()
    outputs: Outputs = field(default_factory=dict)


class SessionCache:
    """Reads sessions of the lake, and caches those of one project."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._project = ""
        self._records: dict[str, _CachedRecords] = {}
        self._sessions: dict[str, SessionTurns | None] = {}
        self._over_limit = ""
        """Output hash of the session that is kept though the limit is reached."""
        self._bytes = 0

    def add(self, source: Product, rows: Iterable[RedactedRecord | Stored], size: int) -> None:
        """Keep the records of a session that was just redacted, if there is room; `size` is that
        of their Arrow tables in bytes."""
        self._switch_project(source.project)
        if source.output_hash in self._records or self._bytes + size > _CACHE_BYTES:
            return
        self._bytes += size
        whole = chain.from_iterable(
            rows_from_arrow(REDACTED_RECORDS, row.rows) if isinstance(row, Stored) else (row,)
            for row in rows
        )
        self._records[source.output_hash] = _cut_outputs(whole)

    def has(self, source: Product) -> bool:
        """Whether the records of a session are kept."""
        return source.output_hash in self._records

    def records(self, source: Product) -> Records:
        """Return the records of the redacted_records product `source`, in file order, with long
        tool output cut to its head and tail.

        Raises:
            NotFound, DamagedFile: the lake lacks the session's file.
        """
        return self._cached(source).records

    def whole_outputs(self, source: Product) -> Outputs:
        """Return the tool output that `records` cuts, whole.

        Raises:
            NotFound, DamagedFile: the lake lacks the session's file.
        """
        return self._cached(source).outputs

    def session(self, source: Product) -> SessionTurns | None:
        """Return a session's turns, its records ordered by source file and without answers
        of this memory; None if it has no turn.

        Raises:
            NotFound, DamagedFile: the lake lacks the session's file.
        """
        self._switch_project(source.project)
        if source.output_hash in self._sessions:
            return self._sessions[source.output_hash]
        records = sorted(as_said(self.records(source)), key=by_source_file)
        turns = list(turns_of(source, records))
        session = session_turns(records, turns) if turns else None
        self._sessions[source.output_hash] = session
        return session

    def forget(self) -> None:
        """Empty the cache."""
        self._records.clear()
        self._sessions.clear()
        self._over_limit = ""
        self._bytes = 0

    def _switch_project(self, project: str) -> None:
        if project != self._project:
            self.forget()
            self._project = project

    def _cached(self, source: Product) -> _CachedRecords:
        self._switch_project(source.project)
        if source.output_hash not in self._records:
            for cache in (self._records, self._sessions):
                cache.pop(self._over_limit, None)
            records, size = self._from_lake(source)
            if self._bytes + size <= _CACHE_BYTES:
                self._bytes += size
            else:
                self._over_limit = source.output_hash
            self._records[source.output_hash] = records
        return self._records[source.output_hash]

    def _from_lake(self, source: Product) -> tuple[_CachedRecords, int]:
        try:
            table = self._lake.read(REDACTED_RECORDS, source.project, source.session_id)
        except NotFound:
            if source.rows:
                raise
            return _CachedRecords(), 0
        parts = (table.slice(at, BATCH_ROWS) for at in range(0, len(table), BATCH_ROWS))
        rows = (rows_from_arrow(REDACTED_RECORDS, part) for part in parts)
        return _cut_outputs(chain.from_iterable(rows)), table.nbytes


def _cut_outputs(rows: Iterable[RedactedRecord]) -> _CachedRecords:
    records: list[RedactedRecord] = []
    outputs: dict[tuple[str | None, int], RedactedText] = {}
    for record in rows:
        if record.kind == "tool_result" and len(record.text) > _HEAD + _TAIL:
            outputs[record.agent_id, record.seq] = record.text
            record = replace(record, text=head_and_tail(record.text, _HEAD, _TAIL))
        records.append(record)
    return _CachedRecords(tuple(records), outputs)


def turns_of(source: Product, records: Sequence[RedactedRecord]) -> Iterator[Turn]:
    """Yield the turns of the session of a redacted_records product, from its records."""
    if source.facts.get("copied_blocks") and all(record.agent_id for record in records):
        return iter(())  # all but subagents was copied: their turns are the owner's
    return build_turns(records, first_index=source.facts.get("copied_prompts", 0))


def by_source_file(record: RedactedRecord) -> tuple[str, int]:
    """Sort key: the main file's records come first, then those of each subagent."""
    return record.agent_id or "", record.seq


_MOST_BYTES = 32 << 20
"""Limit in bytes of the files; Python objects take about three times as much."""


@dataclass(frozen=True)
class FileRecords:
    """The records of a file, and the reader's report."""

    records: Sequence[Record] = field(repr=False)
    report: ReadReport


class ReadRecords:
    """Keeps the unredacted records of scanned files until they are taken."""

    def __init__(self) -> None:
        self._files: dict[tuple[object, ...], FileRecords] = {}
        self._left = _MOST_BYTES

    def has_room(self, size: int) -> bool:
        """Whether a file of `size` bytes may be kept."""
        return size <= self._left

    def add(self, row: SourceRow, file: FileRecords) -> None:
        """Keep the records of a file in the state that its row of the ledger describes."""
        self._left -= row.size
        self._files[_state(row)] = file

    def pop(self, row: SourceRow) -> FileRecords | None:
        """Return the records of a file in the state of `row`, and keep them no longer; None if
        they were not kept."""
        file = self._files.pop(_state(row), None)
        if file is not None:
            self._left += row.size
        return file

    def forget(self) -> None:
        """Drop all records."""
        self._files.clear()
        self._left = _MOST_BYTES


def _state(row: SourceRow) -> tuple[object, ...]:
    return (row.agent, row.path, row.size, row.mtime_ns, row.fingerprint, row.reader_version)
