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
from memory_assets.recall.rows import UNTIMED
from memory_assets.recall.search.answer import (
    ORIGIN,
    Answer,
    Hit,
    coverages,
    hit_metadata,
    with_held_back,
)
from memory_assets.recall.sessions.records import session_turns
from memory_assets.redacted_text import RedactedText
from memory_assets.requests.search import EXACT_KINDS, SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS, SearchKind
from memory_assets.stores.lake.rows import rows_from_arrow, texts_of
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, Table
from memory_assets.stores.under_way import ingest_under_way

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
_FILTER_COLUMNS = ("text", "timestamp", "session_id", "agent", "tool_name", "kind")
"""Columns by which rows are chosen, of those that a table has."""


@dataclass(frozen=True)
class _Pattern:
    """A text to find: as it is written, or, if `loose`, in any case and with any blanks between its
    words. A text that was cut in its middle has two `parts`, which must both be there."""

    parts: tuple[str, ...]
    loose: bool = False

    def matches(self, texts: Any) -> Any:
        """Return a mask of the texts that contain the pattern."""
        mask = None
        for part in self.parts:
            if self.loose:
                matched = pc.match_substring_regex(texts, _with_any_blanks(part), ignore_case=True)
            else:
                matched = pc.match_substring(texts, part)
            mask = matched if mask is None else pc.and_(mask, matched)
        return mask

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the first part in a text that contains it."""
        expression = _with_any_blanks(self.parts[0]) if self.loose else re.escape(self.parts[0])
        flags = re.IGNORECASE if self.loose else 0
        return [match.span() for match in re.finditer(expression, text, flags)] or [(0, 0)]


def _with_any_blanks(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split()))


def find_exact(
    memory: Stores, settings: Settings, request: SearchRequest, projects: Sequence[str]
) -> Answer:
    """Return the newest turns, documents or memories in which the text of a request stands, of
    these projects or of all, one hit for each, with the line that has it. Where none has it as it
    was typed, other blanks and capitals are allowed, and then what redaction makes of it is looked
    for; the answer's `reason` says so. Rows that are answers of this memory are no hits, nor are
    those of sessions that a check holds back.

    Raises:
        StoreError: a file of the lake cannot be read.
    """
    if request.recent:
        begin = datetime.now(UTC) - timedelta(days=settings.recent_days)
        request = replace(request, since=max(filter(None, (request.since, begin))))
    parts = tuple(filter(str.strip, str(request.literal).split(_CUT_QUERY)))
    hits: tuple[Hit, ...] = ()
    reason = None
    for pattern, pattern_reason in _patterns(settings, parts):
        hits = _hits(memory, request, pattern, projects)
        if hits:
            reason = pattern_reason
            break
    kinds = tuple(kind for kind in request.kinds if kind in EXACT_KINDS)
    coverage = coverages(memory.catalog, kinds)[0]
    progress = ingest_under_way(memory.data_dir)
    coverage = replace(coverage, indexed=coverage.rows, ingest=str(progress) if progress else "")
    return Answer(
        str(request.literal),
        EXACT,
        with_held_back(memory.catalog, coverage, request),
        hits,
        reason=reason,
    )


def _patterns(settings: Settings, parts: tuple[str, ...]) -> Iterator[tuple[_Pattern, str | None]]:
    """Yield the patterns to try, each with the `reason` of an answer that it finds."""
    yield _Pattern(parts), None
    yield _Pattern(parts, loose=True), _OTHERWISE_SPACED
    redacted = _redact_parts(settings, parts)
    if redacted != parts:
        yield _Pattern(redacted, loose=True), _REDACTED


def _redact_parts(settings: Settings, parts: tuple[str, ...]) -> tuple[str, ...]:
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
        tables = _newest_rows(memory, REDACTED_RECORDS, projects, request, pattern)
        hits += _turn_hits(memory, request, pattern, tables)
    for kind in map(SEARCH_KINDS.__getitem__, EXACT_KINDS - {"sessions", "prompts"}):
        if kind.name in request.kinds and not request.tool:
            for rows in _newest_rows(memory, TABLES[kind.table], projects, request, pattern):
                hits += _row_hits(kind, pattern, rows)
    hits.sort(key=lambda hit: (-hit.metadata["ts_epoch"], hit.id))
    newest: dict[str, Hit] = {}
    for hit in hits:
        newest.setdefault(hit.id, hit)
    return tuple(newest.values())[: request.n]


def _newest_rows(
    memory: Stores,
    table: Table,
    projects: Sequence[str],
    request: SearchRequest,
    pattern: _Pattern,
) -> list[pa.Table]:
    """Return the newest rows of a table that contain a text and pass the filters, at least as many
    as the hits need; after each project the older ones are dropped, to bound memory."""
    most = _ROWS_A_HIT * request.n
    held = pa.array([session_id for _, session_id in memory.catalog.quarantine.held_by_checks()])
    pick = _row_filter(table, request, pattern, most, held)
    columns = [name for name in _FILTER_COLUMNS if name in table.schema.names]
    tables: list[pa.Table] = []
    for project in projects or memory.lake.projects(table):
        tables = _keep_newest([*tables, *memory.lake.select(table, project, columns, pick)], most)
    return tables


def _keep_newest(tables: list[pa.Table], most: int) -> list[pa.Table]:
    """Return the newest rows of tables, about `most` of them."""
    if sum(map(len, tables)) <= most:
        return tables
    times = pa.concat_tables([rows.select(["timestamp"]) for rows in tables])["timestamp"]
    oldest = times.take(pc.sort_indices(times, sort_keys=_NEWEST_FIRST)[most - 1 : most])[0]
    if not oldest.is_valid:  # most of them have no time
        return tables
    kept = (rows.filter(pc.greater_equal(rows["timestamp"], oldest)) for rows in tables)
    return [rows for rows in kept if len(rows)]


def _row_filter(
    table: Table, request: SearchRequest, pattern: _Pattern, most: int, held: pa.Array[Any]
) -> Callable[[pa.Table], Any]:
    """Return a function from a row group to the numbers of its newest rows with the text, without
    the sessions in `held`."""
    wanted = {"session_id": request.session, "agent": request.agent}
    if table is REDACTED_RECORDS and "sessions" not in request.kinds:
        wanted["kind"] = "prompt"

    def pick(rows: Any) -> Any:
        mask = pattern.matches(rows["text"])
        if len(held):
            mask = pc.and_(mask, pc.invert(pc.is_in(rows["session_id"], value_set=held)))
        for name, value in wanted.items():
            if value is not None:
                mask = pc.and_(mask, pc.equal(rows[name], pa.scalar(value)))
        if request.tool:
            tool_names = pc.utf8_lower(rows["tool_name"])
            mask = pc.and_(mask, pc.equal(tool_names, pa.scalar(request.tool.lower())))
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


def _turn_hits(
    memory: Stores, request: SearchRequest, pattern: _Pattern, tables: Sequence[pa.Table]
) -> Iterator[Hit]:
    """Yield a hit for each of the newest turns with records that contain a text."""
    records: list[RedactedRecord] = [
        record
        for rows in tables
        for record in rows_from_arrow(REDACTED_RECORDS, rows)
        if not is_recalled(record)
    ]
    records.sort(key=lambda record: record.timestamp or UNTIMED, reverse=True)
    turn_ids: dict[tuple[str, str], dict[tuple[str | None, int], str]] = {}
    by_turn: dict[str, list[RedactedRecord]] = {}
    for record in records:
        session, is_full = (record.project, record.session_id), len(by_turn) == request.n
        if session not in turn_ids and not is_full:
            turn_ids[session] = _turn_ids(memory, *session)
        of_session = turn_ids.get(session, {})
        turn_id = of_session.get((record.agent_id, record.seq)) or f"session::{record.session_id}"
        if turn_id in by_turn or not is_full:
            by_turn.setdefault(turn_id, []).append(record)
    for turn_id, matching in by_turn.items():
        newest = matching[0]
        text, line = _matching_line(newest.text, pattern)
        metadata = {
            **hit_metadata(*(getattr(newest, name) for name in ORIGIN)),
            "role": newest.role,
            "record": newest.kind,
            "tool": str(newest.tool_name),
            "line": line,
            "git_branch": str(newest.git_branch),
        }
        yield Hit(turn_id, turn_id, 0.0, text, metadata, {"records": len(matching)})


def _turn_ids(memory: Stores, project: str, session_id: str) -> dict[tuple[str | None, int], str]:
    """Return the ids of the turns of a session's records, by agent and place; none if it was
    forgotten meanwhile."""
    with suppress(NotFound):
        return {
            (record.agent_id, record.seq): turn.id
            for turn in session_turns(memory, project, session_id, recalled=True)
            for record in turn.records
        }
    return {}


def _row_hits(kind: SearchKind, pattern: _Pattern, rows: pa.Table) -> Iterator[Hit]:
    """Yield a hit for each row of another kind with a text; in documents for each chunk."""
    texts = texts_of(rows)
    for row, text in zip(rows.to_pylist(), texts, strict=True):
        excerpt, line = _matching_line(text, pattern)
        metadata = {
            **hit_metadata(*(row[name] for name in ORIGIN)),
            **{
                name: ", ".join(map(str, value)) if isinstance(value, list) else value
                for name, columns in kind.metadata.items()
                if columns[0] in row and name not in ("also", "last_modified")
                for value in [row[columns[0]]]
            },
        }
        if "line_start" in row:
            metadata["line_start"] = metadata["line_end"] = row["line_start"] + line - 1
        row_id = str(row.get("chunk_id") or row["id"])
        yield Hit(row_id, row_id, 0.0, excerpt, metadata, {"records": 1})


def _matching_line(text: RedactedText, pattern: _Pattern) -> tuple[RedactedText, int]:
    """Return the line, or lines, of the first match, shortened around the match if they are long,
    and the number of the first of these lines in the text."""
    start, end = pattern.places(text)[0]
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    begin = max(first, start - _BEFORE_MATCH)
    stop = min(len(text) if last < 0 else last, begin + _LINE_CHARACTERS)
    return text.cut(begin, stop).trimmed(), text.count("\n", 0, start) + 1
