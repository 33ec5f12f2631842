"""Cutting old conversations that agents wrote down to what the user said and their summaries.

A turn is cut where a summary names it, so that something of it remains. The last turn
of a conversation stays, and its end, which no summary covers. So do memories.
"""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memory_assets.agent_memory_models import HistorySummary
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.agent_memory.calls import has_journal
from memory_assets.pipeline.agent_memory.history_summaries import SUMMARISED_HISTORY
from memory_assets.pipeline.agent_memory.lost_turns import stored_summaries
from memory_assets.pipeline.agent_memory.tables import made_with
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.stores.agents.partitions import AGENT, MESSAGE_HEAD, partition_of, project_in
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES


def due_conversations(components: Components) -> tuple[set[SessionKey], int]:
    """Return the conversations that are old enough and have turns to cut, and the number of those
    that are old enough and not summarized as they are now."""
    found: set[SessionKey] = set()
    waiting = 0
    if has_journal(components.settings):
        for project in components.journal.projects():
            for name, turns in _turns_to_cut(components, partition_of(project)).items():
                if turns is None:
                    waiting += 1
                elif turns:
                    found.add((partition_of(project), name))
    return found, waiting


def cut_conversations(components: Components, partition: str, names: Set[str]) -> None:
    """Cut those of these conversations that are due now, in the journal and then in the lake, and
    complete what an interrupted call had begun, leaving no byte of the turns. What a lost journal
    does not have any more stays in the lake."""
    if not has_journal(components.settings):
        return
    cut_turns = components.journal.cut_turns
    with components.project_lock(partition):
        with components.journal.transaction():  # no turn is appended between the look and the cut
            for name, turns in _turns_to_cut(components, partition, names).items():
                if turns:
                    cut_turns.cut(name, turns)
        components.journal.compact()
        for name in sorted(names):
            if gone := cut_turns.ids(name):
                _cut_rows(components, (partition, name), gone)


def _turns_to_cut(
    components: Components, partition: str, names: Set[str] | None = None
) -> dict[str, list[str] | None]:
    """Return the message ids of the turns that retention cuts now, by conversation, of these or of
    all; None for an old conversation that is not summarized as it is."""
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
    found: dict[str, list[str] | None] = {}
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


def _not_the_users(components: Components, key: SessionKey) -> list[str] | None:
    """Return the message ids of the turns of a conversation that a summary covers and that are
    not the user's, but for the last turn; None where the summaries cannot be read."""
    rows: list[HistorySummary] = []
    try:
        with suppress(NotFound):
            rows = stored_summaries(components.lake, *key)
    except DamagedFile:
        return None
    covered = {message_id for row in rows for message_id in row.message_ids}
    return [
        turn.message_id
        for turn in components.journal.turns(key[1])[:-1]
        if turn.role != "user" and f"{MESSAGE_HEAD}{turn.message_id}" in covered
    ]


def _cut_rows(components: Components, key: SessionKey, gone: set[str]) -> None:
    """Write the rows of a conversation in the lake again without the cut turns. Its product stays,
    with an input that nothing equals, so that the next ingest compares it with the journal and
    keeps what is made of it."""
    lake, products = components.lake, components.catalog.products
    product = products.of_session(*key).get(AGENT_HISTORY.name)
    with suppress(NotFound, DamagedFile):  # which the next ingest makes again
        rows = lake.read_rows(AGENT_HISTORY, *key)
        kept = [row for row in rows if row.id.removeprefix(MESSAGE_HEAD) not in gone]
        if len(kept) < len(rows):
            written = lake.write(AGENT_HISTORY, *key, kept)
            if product is not None:
                product = replace(
                    product,
                    output_hash=written.output_hash,
                    rows=written.rows,
                    bytes=written.bytes,
                )
    if product is not None:
        facts: ProductFacts = {"agent": AGENT, "retained_blocks": len(gone)}
        products.put(replace(product, input_hash="", facts=facts))
