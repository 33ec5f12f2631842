"""Taking into a journal of an earlier version what only the lake has, once: it kept its rows there,
and put them back from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory_assets.agent_memory.ports import TrailEntry
from memory_assets.agent_memory_models import AgentTurn, HistorySummary
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.agents.journal import AgentJournal, has_journal
from memory_assets.stores.agents.journal_file import COMPLETE, COPIED
from memory_assets.stores.agents.partitions import (
    MEMORY_HEAD,
    MESSAGE_HEAD,
    SUMMARY_HEAD,
    project_in,
)
from memory_assets.stores.agents.rows import memory_of_row, turn_of_row
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    HISTORY_SUMMARIES,
    MEMORY_TRAIL,
    Table,
)

_TABLES = (AGENT_HISTORY, HISTORY_SUMMARIES, AGENT_MEMORY, MEMORY_TRAIL)


def complete_journal(components: Components) -> None:
    """Add to the journal what only the lake has, unless that was done. What the journal has stays
    as it is, so an append that came first keeps its place.

    Raises:
        DamagedFile: rows cannot be read, and nothing was added; the message says what to do.
        StoreBusy: another process writes what is to be moved first.
    """
    lake = components.lake
    partitions = sorted({project for table in _TABLES for project in lake.projects(table)})
    if not partitions and not has_journal(components.data_dir):
        return
    journal = components.journal
    if journal.version == COMPLETE:
        return
    for partition in partitions:
        if any(lake.partition(table, partition).unmoved() for table in _TABLES):
            # Callers hold the lock of another partition: who waits may be waited for.
            with components.project_lock(partition, wait=False):
                lake.tidy(partition)
    with journal.transaction():
        if journal.version != COPIED:
            for partition in partitions:
                _add_partition(journal, lake, partition)
        journal.note_complete()


def _add_partition(journal: AgentJournal, lake: Lake, partition: str) -> None:
    of_table = {table: set(lake.sessions(table, partition)) for table in _TABLES}

    def rows(table: Table, name: str) -> list[Any]:
        return lake.read_rows(table, partition, name) if name in of_table[table] else []

    for name in of_table[AGENT_HISTORY] | of_table[HISTORY_SUMMARIES]:
        history = rows(AGENT_HISTORY, name), rows(HISTORY_SUMMARIES, name)
        _add_conversation(journal, partition, name, *history)
    for name in of_table[AGENT_MEMORY]:
        if journal.place_of(f"{MEMORY_HEAD}{name}") is None:
            memories = list(map(memory_of_row, rows(AGENT_MEMORY, name)))
            journal.put_memories(memories)
    for name in of_table[MEMORY_TRAIL]:
        _add_trail(journal, name, rows(MEMORY_TRAIL, name))


def _add_conversation(
    journal: AgentJournal,
    partition: str,
    name: str,
    rows: Iterable[AgentTurn],
    summaries: Iterable[HistorySummary],
) -> None:
    """Add the turns of a conversation that are not in the journal, unless retention cut them; note
    those that only a summary names as cut, and keep the summaries up to that. Where the journal has
    another conversation of its name, about another project, it gets a name of its own."""
    if journal.project_of(name) not in (None, project_in(partition)):
        name = f"{name}@{project_in(partition)}"
    turns = [replace(turn_of_row(row), conversation_id=name) for row in rows]
    present = {turn.turn_index: turn.message_id for turn in journal.turns(name)}
    known = {*present.values(), *journal.cut_turns.ids(name)}
    lost = [
        turn for turn in turns if turn.message_id not in known and turn.turn_index not in present
    ]
    if lost:
        journal.replace_turns(lost)
        journal.note_promoted(lost[-1])  # or what was forgotten since may come back
    present |= {turn.turn_index: turn.message_id for turn in lost}
    known |= {turn.message_id for turn in turns}
    cut: dict[str, int | None] = {}
    kept = list[HistorySummary]()
    naming_cut = 0
    for row in summaries:
        kept.append(_renamed(row, name))
        gaps = row.last_turn - row.first_turn + 1 != len(row.message_ids)
        for at, any_id in enumerate(row.message_ids, row.first_turn):
            message_id = any_id.removeprefix(MESSAGE_HEAD)
            if message_id not in present.values():
                naming_cut = len(kept)
            if message_id not in known and (gaps or at not in present):
                cut[message_id] = None if gaps else at
    journal.cut_turns.put(name, cut)
    journal.cut_turns.keep(kept[:naming_cut])


def _renamed(row: HistorySummary, name: str) -> HistorySummary:
    number = row.id.rpartition("::")[2]
    return replace(row, session_id=name, id=f"{SUMMARY_HEAD}{name}::{number}")


def _add_trail(journal: AgentJournal, name: str, rows: Iterable[Any]) -> None:
    """Add to the trail of a memory the entries that only the lake has, and archive what was."""
    memory_id = f"{MEMORY_HEAD}{name}"
    since = journal.trail(memory_id)
    noted = {(datetime.fromtimestamp(step.at, UTC), step.what) for step in since}
    lost = [row for row in rows if (row.timestamp, row.what) not in noted]
    if not lost or journal.place_of(memory_id) is None:
        return
    trail = [
        TrailEntry(memory_id, row.timestamp.timestamp(), row.what, row.who, row.of, row.why)
        for row in lost
    ]
    trail = sorted([*trail, *since], key=lambda entry: entry.at)
    journal.replace_trail(memory_id, trail)
    if trail[-1].what == "archived":
        journal.archive(memory_id, trail[-1].why)
