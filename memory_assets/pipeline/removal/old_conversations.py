"""Which conversations of agents retention cuts down, and how.

The turns that a summary covers are cut down to those of the user. The end of a conversation, which
no summary covers, stays, and so do memories.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC, datetime, timedelta

from memory_assets.errors import NotFound
from memory_assets.pipeline.agent_memory.calls import has_journal
from memory_assets.pipeline.agent_memory.history_summaries import SUMMARISED_HISTORY
from memory_assets.pipeline.agent_memory.tables import made_with
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.stores.agent_partitions import partition_of
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES


def due_conversations(components: Components) -> tuple[set[SessionKey], int]:
    """Return the conversations that are old enough and have something to lose, and the number of
    those that are old enough and not summarized as they are now."""
    found: set[SessionKey] = set()
    waiting, days = 0, components.settings.retention
    if days is None or not has_journal(components.settings):
        return found, waiting
    before = datetime.fromtimestamp(components.clock(), UTC) - timedelta(days=days)
    journal, products = components.journal, components.catalog.products
    version, of_summaries = made_with(components), SUMMARISED_HISTORY.version(components)
    for project in journal.projects():
        partition = partition_of(project)
        turns = products.hashes(AGENT_HISTORY.name, partition)
        summaries = products.hashes(HISTORY_SUMMARIES.name, partition)
        states = journal.conversation_states(project)
        for name in journal.over_before(project, before):
            made_of, made = turns.get(name, ("", ""))
            expected = (expected_input(states[name], version), expected_input(made, of_summaries))
            if (made_of, summaries.get(name, ("", ""))[0]) != expected:
                waiting += 1
            elif journal.others_until(name, _last_summarized(components, (partition, name))):
                found.add((partition, name))
    return found, waiting


def cut_conversations(components: Components, keys: Set[SessionKey]) -> int:
    """Delete the turns of conversations that a summary covers and the user did not say from the
    journal, leaving no byte there; return their number. The rows in the lake stay as they are."""
    if not keys:
        return 0
    journal = components.journal
    removed = sum(
        journal.cut_others(key[1], _last_summarized(components, key)) for key in sorted(keys)
    )
    journal.compact()
    return removed


def _last_summarized(components: Components, key: SessionKey) -> int:
    """Return the place of the last turn of a conversation that a summary covers, -1 if none."""
    try:
        rows = components.lake.read_rows(HISTORY_SUMMARIES, *key)
    except NotFound:
        return -1
    places: list[int] = [row.last_turn for row in rows]
    return max(places, default=-1)
