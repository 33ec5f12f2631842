"""Cutting old conversations that agents wrote down to what the user said and their summaries.

A turn is cut where a summary names it, so that something of it remains. The last turn
of a conversation stays, and its end, which no summary covers. So do memories.
"""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from memory_assets.agent_memory_models import HistorySummary
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.agent_memory.history_summaries import SUMMARISED_HISTORY
from memory_assets.pipeline.agent_memory.tables import made_with, make_history
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, partition_of, project_in
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES

_Cut = tuple[list[str], list[HistorySummary]]
"""The message ids of turns to cut, and the summaries of the conversation up to the last one that
names one of them."""


def due_conversations(components: Components) -> tuple[set[SessionKey], int]:
    """Return the conversations that are old enough and have turns to cut, and the number of those
    that are old enough and not summarized as they are now."""
    found: set[SessionKey] = set()
    waiting = 0
    if has_journal(components.data_dir):
        for project in components.journal.projects():
            for name, cut in _to_cut(components, partition_of(project)).items():
                if cut is None:
                    waiting += 1
                elif cut[0]:
                    found.add((partition_of(project), name))
    return found, waiting


def cut_conversations(components: Components, partition: str, names: Set[str]) -> dict[str, int]:
    """Cut those of these conversations that are due now, in the journal, which leaves no byte of
    the turns, and export it; so is what an interrupted call had cut. Return the number of turns
    that were cut now by conversation; 0 of an old one that an interrupted call had cut."""
    if not has_journal(components.data_dir):
        return {}
    journal = components.journal
    with components.project_lock(partition):
        with journal.transaction():  # no turn is appended between the look and the cut
            to_cut = _to_cut(components, partition, names)
            cut = {
                name: journal.cut_turns.cut(name, *each)
                for name, each in to_cut.items()
                if each is not None and each[0]
            }
        journal.compact()
        make_history(components, partition)
    return {name: cut.get(name, 0) for name in to_cut if journal.cut_turns.count(name)}


def _to_cut(
    components: Components, partition: str, names: Set[str] | None = None
) -> dict[str, _Cut | None]:
    """Return what retention cuts now, by conversation, of these or of all; None for an old
    conversation that is not summarized as it is."""
    days = components.settings.retention
    if days is None:
        return {}
    before = datetime.fromtimestamp(components.clock(), UTC) - timedelta(days=days)
    journal, products = components.journal, components.catalog.products
    project = project_in(partition)
    states = journal.conversation_states(project)
    turns = products.hashes(AGENT_HISTORY.name, partition)
    summaries = products.hashes(HISTORY_SUMMARIES.name, partition)
    version, of_summaries = made_with(components), SUMMARISED_HISTORY.version(components)
    found: dict[str, _Cut | None] = {}
    for name in journal.cut_turns.over_before(project, before):
        if names is not None and name not in names:
            continue
        made_of, made = turns.get(name, ("", ""))
        summarized = summaries.get(name, ("", ""))[0] == expected_input(made, of_summaries)
        if not summarized or made_of != expected_input(states[name], version):
            found[name] = None
        else:
            found[name] = _not_the_users(components, (partition, name))
    return found


def _not_the_users(components: Components, key: SessionKey) -> _Cut | None:
    """Return the turns of a conversation that a summary covers and that are not the user's, but
    for the last turn; None where the summaries cannot be read."""
    rows: list[HistorySummary] = []
    try:
        with suppress(NotFound):
            rows = components.lake.read_rows(HISTORY_SUMMARIES, *key)
    except DamagedFile:
        return None
    covered = {message_id for row in rows for message_id in row.message_ids}
    cut = [
        turn.message_id
        for turn in components.journal.turns(key[1])[:-1]
        if turn.role != "user" and f"{MESSAGE_HEAD}{turn.message_id}" in covered
    ]
    gone = {f"{MESSAGE_HEAD}{each}" for each in cut}
    naming = [at for at, row in enumerate(rows, 1) if not gone.isdisjoint(row.message_ids)]
    return cut, rows[: max(naming, default=0)]
