"""An exact search: where a text stands as it is written, tool output included.

Nothing is indexed for it. The kernels of Arrow look through the Parquet files of the lake, a row
group at a time, so that a few megabytes are in memory whatever its size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.chunking import is_recalled
from memory_assets.errors import NotFound, RedactionFailed, RedactionUnavailable
from memory_assets.models import RedactedRecord
from memory_assets.recall.search.answer import Answer, Hit, coverages, with_held_back
from memory_assets.recall.sessions.records import session_turns
from memory_assets.redacted_text import RedactedText
from memory_assets.requests.search import EXACT_KINDS, SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS, SearchKind
from memory_assets.stores.lake.rows import rows_from_arrow, texts_of
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, Table
from memory_assets.stores.under_way.ingest import under_way

if TYPE_CHECKING:
    from memory_assets.settings import Settings
    from memory_assets.stores.stores import Stores

EXACT = "exact"
_OTHERWISE_SPACED = "found with other spaces or capitals than were typed"
_REDACTED = "found as redaction left it"
_ROWS_A_HIT = 20
"""Rows that are looked at for each hit: several rows of one turn are one hit."""
_LINE_CHARACTERS = 300
_BEFORE_MATCH = 100
"""Most characters of the line before the match: a line may be a whole file."""
_CUT_QUERY = " … "
_NEWEST_FIRST: Any = [("", "descending")]
_TESTED = ("text", "timestamp", "session_id", "agent", "tool_name", "kind")
"""Columns by which rows are chosen, of those that a table has."""


@dataclass(frozen=True)
class _Pattern:
    """A text to be found: as it is written, or `loose`: in any case, with any blanks between its
    words. Of one that was cut in its middle, both `parts` must be there."""

    parts: tuple[str, ...]
    loose: bool = False

    def matches(self, texts: Any) -> Any:
        """Return a mask of the texts that hold it."""
        mask = None
        for part in self.parts:
            if self.loose:
                held = pc.match_substring_regex(texts, _spaced(part), ignore_case=True)
            else:
                held = pc.match_substring(texts, part)
            mask = held if mask is None else pc.and_(mask, held)
        return mask

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return where it begins and ends in a text that holds it."""
        expression = _spaced(self.parts[0]) if self.loose else re.escape(self.parts[0])
        flags = re.IGNORECASE if self.loose else 0
        return [match.span() for match in re.finditer(expression, text, flags)] or [(0, 0)]


def _spaced(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split()))


def find_exact(
    memory: Stores, settings: Settings, request: SearchRequest, projects: Sequence[str]
) -> Answer:
    """Return the newest turns, documents or memories in which the text of a request stands, of
    these projects or of all, one hit for each, with the line that has it. Where none has it as it
    was typed, other blanks and capitals are allowed, and then what redaction makes of it is looked
    for; the answer's `reason` says so. Rows that are answers of this memory are no hits.

    Raises:
        StoreError: a file of the lake cannot be read.
    """
    if request.recent:
        begin = datetime.now(UTC) - timedelta(days=settings.recent_days)
        request = replace(request, since=max(filter(None, (request.since, begin))))
    parts = tuple(filter(str.strip, str(request.literal).split(_CUT_QUERY)))
    answers = (
        (hits, reason)
        for pattern, reason in _patterns(settings, parts)
        if (hits := _hits(memory, request, pattern, projects))
    )
    hits, reason = next(answers, ((), None))
    kinds = tuple(kind for kind in request.kinds if kind in EXACT_KINDS)
    coverage = coverages(memory.catalog, kinds)[0]
    progress = under_way(memory.data_dir)
    coverage = replace(coverage, indexed=coverage.rows, ingest=str(progress) if progress else "")
    return Answer(
        str(request.literal),
        EXACT,
        with_held_back(memory.catalog, coverage, request),
        hits,
        reason=reason,
    )


def _patterns(settings: Settings, parts: tuple[str, ...]) -> Iterator[tuple[_Pattern, str | None]]:
    """Yield what is to be looked for, one after another, with what is said of it."""
    yield _Pattern(parts), None
    yield _Pattern(parts, loose=True), _OTHERWISE_SPACED
    redacted = _redacted(settings, parts)
    if redacted != parts:
        yield _Pattern(redacted, loose=True), _REDACTED


def _redacted(settings: Settings, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return texts as redaction leaves them; as they are where it is not available."""
    from memory_assets.recall.search.redacted_queries import redactor_of_queries

    with suppress(RedactionFailed, RedactionUnavailable):
        redactor = redactor_of_queries(settings)
        return tuple(str(redactor.redact(part).text) for part in parts)
    return parts


def _hits(
    memory: Stores, request: SearchRequest, pattern: _Pattern, projects: Sequence[str]
) -> tuple[Hit, ...]:
    hits: list[Hit] = []
    if "sessions" in request.kinds or "prompts" in request.kinds:
        tables = _newest(memory, REDACTED_RECORDS, projects, request, pattern)
        hits += _of_turns(memory, request, pattern, tables)
    for kind in map(SEARCH_KINDS.__getitem__, EXACT_KINDS - {"sessions", "prompts"}):
        if kind.name in request.kinds and not request.tool:
            for rows in _newest(memory, TABLES[kind.table], projects, request, pattern):
                hits += _of_rows(kind, pattern, rows)
    hits.sort(key=lambda hit: (-hit.metadata["ts_epoch"], hit.id))
    newest: dict[str, Hit] = {}
    for hit in hits:
        newest.setdefault(hit.id, hit)
    return tuple(newest.values())[: request.n]


def _newest(
    memory: Stores,
    table: Table,
    projects: Sequence[str],
    request: SearchRequest,
    pattern: _Pattern,
) -> list[pa.Table]:
    """Return the newest rows of a table that hold a text and pass the filters, as many as may be
    needed; after each project those that cannot be are let go."""
    most = _ROWS_A_HIT * request.n
    pick = _picking(table, request, pattern, most)
    among = [name for name in _TESTED if name in table.schema.names]
    tables: list[pa.Table] = []
    for project in projects or memory.lake.projects(table):
        tables = _trimmed([*tables, *memory.lake.select(table, project, among, pick)], most)
    return tables


def _trimmed(tables: list[pa.Table], most: int) -> list[pa.Table]:
    """Return the newest rows of tables, about `most` of them."""
    if sum(map(len, tables)) <= most:
        return tables
    times = pa.concat_tables([rows.select(["timestamp"]) for rows in tables])["timestamp"]
    oldest = times.take(pc.sort_indices(times, sort_keys=_NEWEST_FIRST)[most - 1 : most])[0]
    if not oldest.is_valid:  # most of them have no time
        return tables
    kept = (rows.filter(pc.greater_equal(rows["timestamp"], oldest)) for rows in tables)
    return [rows for rows in kept if len(rows)]


def _picking(
    table: Table, request: SearchRequest, pattern: _Pattern, most: int
) -> Callable[[pa.Table], Any]:
    """Return what chooses the rows of a row group: the newest that hold the text."""
    wanted = {"session_id": request.session, "agent": request.agent}
    if table is REDACTED_RECORDS and "sessions" not in request.kinds:
        wanted["kind"] = "prompt"

    def pick(rows: Any) -> Any:
        mask = pattern.matches(rows["text"])
        for name, value in wanted.items():
            if value is not None:
                mask = pc.and_(mask, pc.equal(rows[name], pa.scalar(value)))
        if request.tool:
            called = pc.utf8_lower(rows["tool_name"])
            mask = pc.and_(mask, pc.equal(called, pa.scalar(request.tool.lower())))
        if request.since is not None:
            mask = pc.and_(mask, pc.greater_equal(rows["timestamp"], pa.scalar(request.since)))
        if request.until is not None:
            mask = pc.and_(mask, pc.less(rows["timestamp"], pa.scalar(request.until)))
        numbers = pc.indices_nonzero(pc.fill_null(mask, False))
        if len(numbers) > most:
            newest = pc.array_sort_indices(rows["timestamp"].take(numbers), order="descending")
            numbers = numbers.take(newest[:most])
        return numbers

    return pick


def _of_turns(
    memory: Stores, request: SearchRequest, pattern: _Pattern, tables: Sequence[pa.Table]
) -> Iterator[Hit]:
    """Yield a hit for each of the newest turns with records that hold a text."""
    records: list[RedactedRecord] = [
        record
        for rows in tables
        for record in rows_from_arrow(REDACTED_RECORDS, rows)
        if not is_recalled(record)
    ]
    records.sort(key=lambda record: _seconds(record.timestamp), reverse=True)
    turns = _Turns(memory)
    of_turn: dict[str, list[RedactedRecord]] = {}
    for record in records:
        enough = len(of_turn) == request.n
        turn_id = turns.of(record, known=enough)
        if turn_id in of_turn or not enough:
            of_turn.setdefault(turn_id, []).append(record)
    for turn_id, holding in of_turn.items():
        newest = holding[0]
        text, line = _line(newest.text, pattern)
        metadata = {
            **_common(newest.project, newest.project_root, newest.agent, newest.session_id),
            **_when(newest.timestamp),
            "role": newest.role,
            "record": newest.kind,
            "tool": str(newest.tool_name),
            "line": line,
            "git_branch": str(newest.git_branch),
        }
        yield Hit(turn_id, turn_id, 0.0, text, metadata, {"records": len(holding)})


class _Turns:
    """The turns of records, by sessions that are read once."""

    def __init__(self, memory: Stores) -> None:
        self._memory = memory
        self._of_session: dict[tuple[str, str], dict[tuple[str | None, int], str]] = {}

    def of(self, record: RedactedRecord, *, known: bool) -> str:
        """Return the id of a record's turn; of one that belongs to none, its session's. Only
        sessions that are `known` are looked at, if that is said."""
        session = record.project, record.session_id
        if not known and session not in self._of_session:
            with suppress(NotFound):  # it was forgotten meanwhile
                self._of_session[session] = {
                    (record.agent_id, record.seq): turn.id
                    for turn in session_turns(self._memory, *session, recalled=True)
                    for record in turn.records
                }
        turns = self._of_session.get(session, {})
        return turns.get((record.agent_id, record.seq)) or f"session::{record.session_id}"


def _of_rows(kind: SearchKind, pattern: _Pattern, rows: pa.Table) -> Iterator[Hit]:
    """Yield a hit for each row of another kind that holds a text; of a document, for its chunk."""
    texts = texts_of(rows)
    for row, text in zip(rows.to_pylist(), texts, strict=True):
        shown, line = _line(text, pattern)
        metadata = {
            **_common(row["project"], row["project_root"], row["agent"], row["session_id"]),
            **_when(row["timestamp"]),
            **{
                name: _plain(row[columns[0]])
                for name, columns in kind.metadata.items()
                if columns[0] in row and name not in ("also", "last_modified")
            },
        }
        if "line_start" in row:
            metadata["line_start"] = metadata["line_end"] = row["line_start"] + line - 1
        row_id = str(row.get("chunk_id") or row["id"])
        yield Hit(row_id, row_id, 0.0, shown, metadata, {"records": 1})


def _common(project: str, root: str, agent: str, session_id: str) -> dict[str, Any]:
    return {
        "project": project,
        "project_root": str(root),
        "agent": agent,
        "session_id": session_id,
    }


def _when(time: datetime | None) -> dict[str, Any]:
    return {"timestamp": time.isoformat() if time else "", "ts_epoch": _seconds(time)}


def _seconds(time: datetime | None) -> float:
    return time.timestamp() if time else 0.0


def _plain(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _line(text: RedactedText, pattern: _Pattern) -> tuple[RedactedText, int]:
    """Return the line, or lines, in which a match stands, of a long one what is around the match,
    and the number of the first one in the text."""
    start, end = pattern.places(text)[0]
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    begin = max(first, start - _BEFORE_MATCH)
    stop = min(len(text) if last < 0 else last, begin + _LINE_CHARACTERS)
    return text.cut(begin, stop).trimmed(), text.count("\n", 0, start) + 1
