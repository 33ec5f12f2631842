"""The stage of history_summaries: summaries of the older turns of each conversation.

A window of turns is summarized when it is complete: at 16 turns, or fewer if the conversation
rested after them. So appended turns change no window, and only the last turns have no summary. A
window in which nothing stands out has none either. Summaries of turns that retention has cut are
kept in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from memory_assets.agent_memory_models import AgentTurn, HistorySummary
from memory_assets.errors import NotFound
from memory_assets.models import Kind, RedactedRecord, Role, Turn
from memory_assets.pipeline.agent_memory.tables import made_with
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport, input_hash
from memory_assets.pipeline.tables.derive import DerivedRows, DerivedTable, derive_table
from memory_assets.redacted_text import compose
from memory_assets.session_analysis.session import SessionTurns, session_turns
from memory_assets.stores.agents.partitions import SUMMARY_HEAD
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES
from memory_assets.summaries import ExtractiveSummarizer

_WINDOW_TURNS = 16
"""The most turns of a window: the number of recent turns in a context."""
_LEAST_TURNS = 4
"""The fewest turns of a window that a rest completes."""
_REST_TIME = timedelta(hours=8)
_KINDS: dict[str, tuple[Role, Kind]] = {
    "user": ("user", "prompt"),
    "assistant": ("assistant", "assistant_text"),
    "system": ("system", "system"),
}
"""Role and kind of the record that a turn becomes, by the turn's role."""
_EXTRACTIVE = ExtractiveSummarizer()
_EMPTY = compose("")
_VERSION = f"windows-2+{_EXTRACTIVE.summarizer_id}"


def _version(components: Components) -> str:
    """Return the version of the code, with that of the redaction: summaries of turns that were cut
    are redacted again, too."""
    return input_hash(_VERSION, made_with(components))


def summarise_history(components: Components, partition: str) -> StageReport:
    """Summarize the new windows of the conversations that changed, and return the report."""
    with components.project_lock(partition):
        report = derive_table(components, partition, SUMMARISED_HISTORY)
        if components.has_journal:
            components.journal.erase_replaced_texts()
    return report


def windows(times: Sequence[datetime]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each complete window of turns with these times."""
    begin = 0
    for end in range(1, len(times)):
        rested = end - begin >= _LEAST_TURNS and times[end] - times[end - 1] >= _REST_TIME
        if rested or end - begin == _WINDOW_TURNS:
            yield begin, end
            begin = end
    if len(times) - begin == _WINDOW_TURNS:
        yield begin, len(times)


def _summarize_conversation(components: Components, source: Product) -> DerivedRows:
    turns: list[AgentTurn] = []
    with suppress(NotFound):  # only the summaries of the conversation are left
        turns = components.lake.read_rows(AGENT_HISTORY, source.project, source.session_id)
    present_ids = {turn.id for turn in turns}
    kept = _summaries_of_cut_turns(components, source, present_ids)
    counted = [replace(row, cut_turns=len({*row.message_ids} - present_ids)) for row in kept]
    return [*counted, *_new_summaries(components, _turns_after(turns, kept), kept)], {}


SUMMARISED_HISTORY = DerivedTable(
    HISTORY_SUMMARIES,
    _VERSION,
    _summarize_conversation,
    chosen=_version,
    upstream=AGENT_HISTORY,
    is_pure=lambda components: False,  # it writes to the journal
)


def _summaries_of_cut_turns(
    components: Components, source: Product, present_ids: Set[str]
) -> list[HistorySummary]:
    """Return the summaries of a conversation up to the last one that names a cut turn, redacted
    under the present rules and with all known secrets; changed ones are stored in the journal.
    `present_ids`: the ids of the turns that were not cut. They are in the lake alone where a worker
    derives a shard, and where version 0.3.0 cut the turns; from there they go to the journal."""
    cut = components.journal.cut_turns if components.has_journal else None
    kept = cut.summaries(source.session_id) if cut is not None else []
    if not kept and (cut is None or cut.count(source.session_id)):
        kept = _in_lake(components.lake, source, present_ids)
        if cut is not None:
            cut.keep(kept)
    if not kept:
        return []
    known = components.catalog.known_secrets.hashes()
    redactor = components.redactor.session(source.session_id, known)
    redacted = [redact_composed(redactor, row) for row in kept]
    changed = [row for row, old in zip(redacted, kept, strict=True) if row != old]
    if changed and cut is not None:
        with components.journal.replacing_texts():
            cut.keep(changed)
    return redacted


def _in_lake(lake: Lake, source: Product, present_ids: Set[str]) -> list[HistorySummary]:
    """Return the summaries of a conversation in the lake, up to the last one that names a cut
    turn."""
    rows: list[HistorySummary] = []
    with suppress(NotFound):
        rows = lake.read_rows(HISTORY_SUMMARIES, source.project, source.session_id)
    naming = [number for number, row in enumerate(rows, 1) if {*row.message_ids} - present_ids]
    return rows[: max(naming, default=0)]


def _turns_after(
    turns: Sequence[AgentTurn], summaries: Sequence[HistorySummary]
) -> Sequence[AgentTurn]:
    """Return the turns after the last one that these summaries cover."""
    since = summaries[-1].last_turn if summaries else -1
    return [turn for turn in turns if turn.turn_index > since]


def _new_summaries(
    components: Components, turns: Sequence[AgentTurn], before: Sequence[HistorySummary]
) -> Iterator[HistorySummary]:
    """Yield the summaries of the complete windows of these turns, numbered on from `before`."""
    number = int(before[-1].id.rpartition("::")[2]) + 1 if before else 0
    for begin, end in windows([turn.timestamp for turn in turns]):
        window = turns[begin:end]
        summary = _EXTRACTIVE.summarize(_as_session(window))
        if not summary.text:
            continue
        row = HistorySummary(
            id=f"{SUMMARY_HEAD}{window[0].session_id}::{number}",
            project=window[0].project,
            project_root=_EMPTY,
            agent=window[0].agent,
            session_id=window[0].session_id,
            first_turn=window[0].turn_index,
            last_turn=window[-1].turn_index,
            message_ids=tuple(turn.id for turn in window),
            cut_turns=0,
            timestamp=window[0].timestamp,
            ended_at=window[-1].timestamp,
            text=summary.text,
            content_hash=summary.content_hash,
            summarizer_id=summary.summarizer_id,
        )
        yield redact_composed(components.redactor_of(row.session_id), row)
        number += 1


def _as_session(turns: Sequence[AgentTurn]) -> SessionTurns:
    """Return turns of a conversation as a session: a message of the user begins a turn of it."""
    openings: list[tuple[RedactedRecord | None, list[RedactedRecord]]] = []
    for turn in turns:
        record = _record(turn)
        if record.kind == "prompt" or not openings:
            openings.append((record if record.kind == "prompt" else None, []))
        openings[-1][1].append(record)
    name = turns[0].session_id
    return session_turns(
        [record for _, records in openings for record in records],
        [
            Turn(name, number, prompt, tuple(records))
            for number, (prompt, records) in enumerate(openings)
        ],
    )


def _record(turn: AgentTurn) -> RedactedRecord:
    role, kind = _KINDS[turn.role]
    return RedactedRecord(
        project=turn.project,
        project_root=_EMPTY,
        agent=turn.agent,
        session_id=turn.session_id,
        agent_id=None,
        seq=turn.turn_index,
        record_uuid=turn.id,
        parent_uuid=None,
        byte_start=0,
        byte_end=0,
        timestamp=turn.timestamp,
        role=role,
        kind=kind,
        text=turn.text,
        subtype="",
        tool_name=_EMPTY,
        tool_use_id="",
        is_error=False,
        paths=(),
        command=_EMPTY,
        cwd=_EMPTY,
        git_branch=_EMPTY,
        model="",
        agent_version="",
        is_sidechain=False,
        message_id="",
        spawned_agent_id="",
        tokens=(),
        redactions=0,
        ruleset_version=turn.ruleset_version,
    )
