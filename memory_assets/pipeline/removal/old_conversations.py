"""Cutting old conversations that agents wrote down to what the user said and their summaries.

A turn is cut where a summary names it, so that something of it remains. The last turn
of a conversation stays, and its end, which no summary covers. So do memories.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
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
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.batch import Batch
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


def cut_conversations(components: Components, partition: str, names: Set[str]) -> dict[str, int]:
    """Cut those of these conversations that are due now, in the journal and then in the lake, and
    complete what an interrupted call had begun, leaving no byte of the turns. Return the number
    of turns that were cut now by conversation; 0 of an old one that an interrupted call had cut.
    What a lost journal does not have any more stays in the lake."""
    if not has_journal(components.settings):
        return {}
    cut_turns = components.journal.cut_turns
    with components.project_lock(partition):
        with components.journal.transaction():  # no turn is appended between the look and the cut
            to_cut = _turns_to_cut(components, partition, names)
            cut = {name: cut_turns.cut(name, turns) for name, turns in to_cut.items() if turns}
        components.journal.compact()
        gone = {name: cut_turns.ids(name) for name in sorted(names)}
        _cut_rows(components, partition, {name: ids for name, ids in gone.items() if ids})
    return {name: cut.get(name, 0) for name in to_cut if gone[name]}


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


def _cut_rows(components: Components, partition: str, gone: Mapping[str, set[str]]) -> None:
    """Write the rows of conversations in the lake again without their cut turns, which are given
    by message id. A product stays, with an input that nothing equals, so that the next ingest
    compares it with the journal and keeps what is made of it. Small conversations share a file,
    which is not written again for each of them."""
    lake = components.lake
    on_record = components.catalog.products.of_project(AGENT_HISTORY.name, partition)
    batch, noted = Batch(lake, partition, AGENT_HISTORY), list[Product]()
    for name, ids in gone.items():
        product = on_record.get(name)
        with suppress(NotFound, DamagedFile):  # which the next ingest makes again
            rows = lake.read_rows(AGENT_HISTORY, partition, name)
            kept = [row for row in rows if row.id.removeprefix(MESSAGE_HEAD) not in ids]
            if len(kept) < len(rows):
                written = batch.write(AGENT_HISTORY, name, kept)
                if product is not None:
                    product = replace(
                        product,
                        output_hash=written.output_hash,
                        rows=written.rows,
                        bytes=written.bytes,
                    )
        if product is not None:
            facts: ProductFacts = {"agent": AGENT, "retained_blocks": len(ids)}
            noted.append(replace(product, input_hash="", facts=facts))
        if batch.full:
            _publish(components, batch, noted)
    _publish(components, batch, noted)


def _publish(components: Components, batch: Batch, noted: list[Product]) -> None:
    """Write the rows that a batch has collected, and then put the products of them on record,
    which are taken off the list."""
    sizes = batch.publish()
    sized = [
        replace(each, bytes=sizes.get((each.stage, each.session_id), each.bytes)) for each in noted
    ]
    components.catalog.products.put(*sized)
    noted.clear()
