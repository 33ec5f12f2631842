"""The stages of agent_history, agent_memory and memory_trail: exports of the journal of what agents
wrote, a conversation or a memory at a time.

The journal has redacted text only. When the rules have changed, or a secret has become known, its
texts are redacted again and replaced there, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from memory_assets.agent_memory_models import MemoryChange
from memory_assets.chunking import content_hash
from memory_assets.pipeline.agent_memory.gateway import EVERYWHERE, redaction_for
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, input_hash
from memory_assets.pipeline.tables.derive import (
    DerivedRows,
    DerivedTable,
    DueProducts,
    derive_table,
    expected_input,
)
from memory_assets.redacted_text import compose
from memory_assets.stores.agents.partitions import AGENT, MEMORY_HEAD, project_in
from memory_assets.stores.agents.rows import row_of_memory, row_of_turn
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY, MEMORY_TRAIL

TABLES_VERSION = "agent-2"
_JOURNAL = "agent_journal"


def made_with(components: Components) -> str:
    """Return the version of the tables: of the code, the rules, and the number of known secrets,
    which are redacted, too."""
    known = len(components.catalog.known_secrets.hashes())
    return input_hash(TABLES_VERSION, components.ruleset_version, str(known))


def _conversation(components: Components, source: Product) -> DerivedRows:
    journal, project = components.journal, project_in(source.project)
    turns = [turn for turn in journal.turns(source.session_id) if turn.project == project]
    stored = components.catalog.products.of_session(source.project, source.session_id)
    if not _is_made_with(stored.get(AGENT_HISTORY.name), made_with(components)):
        redact = redaction_for(components, source.session_id).redact
        redacted = [replace(turn, text=redact(turn.text)) for turn in turns]
        changed = [turn for turn, old in zip(redacted, turns, strict=True) if turn != old]
        if changed:
            with journal.replacing_texts():
                journal.replace_turns(changed)
        turns = redacted
    facts: ProductFacts = {"agent": AGENT, "journal": source.output_hash}
    if cut := journal.cut_turns.count(source.session_id):
        facts["retained_blocks"] = cut
    rules = components.ruleset_version
    return (row_of_turn(turn, content_hash(turn.text), rules) for turn in turns), facts


def _memory(components: Components, source: Product) -> DerivedRows:
    journal, redact = components.journal, redaction_for(components, EVERYWHERE).redact
    (memory,) = journal.memories({"memory_id": f"{MEMORY_HEAD}{source.session_id}"})
    redacted = replace(
        memory,
        text=redact(memory.text),
        entities=tuple(map(redact, memory.entities)),
        tags=tuple(map(redact, memory.tags)),
        also=tuple(map(redact, memory.also)),
    )
    if redacted != memory:
        with journal.replacing_texts():
            journal.put_memories([redacted])
    row = row_of_memory(redacted, content_hash(redacted.text), components.ruleset_version)
    return [row], {"agent": AGENT, "memory_type": row.type}


def _trail(components: Components, source: Product) -> DerivedRows:
    rows = [
        MemoryChange(
            id=f"trail::{source.session_id}::{number}",
            project=source.project,
            project_root=compose(""),
            agent=AGENT,
            session_id=source.session_id,
            timestamp=datetime.fromtimestamp(entry.at, UTC),
            what=entry.what,
            who=entry.who,
            of=entry.of,
            why=entry.why,
        )
        for number, entry in enumerate(
            components.journal.trail(f"{MEMORY_HEAD}{source.session_id}")
        )
    ]
    return rows, {"agent": AGENT}


HISTORY = DerivedTable(AGENT_HISTORY, TABLES_VERSION, _conversation, chosen=made_with)
MEMORIES = DerivedTable(AGENT_MEMORY, TABLES_VERSION, _memory, chosen=made_with)
TRAIL = DerivedTable(MEMORY_TRAIL, TABLES_VERSION, _trail, chosen=made_with)


def count_outdated(components: Components, partition: str) -> int:
    """Return the number of conversations and memories of a partition whose rows in the lake are
    not made of their present state, or that the journal does not have."""
    count = 0
    for derived in (HISTORY, MEMORIES, TRAIL):
        sources = _journal_products(components, partition, derived)
        due = DueProducts(components, partition, derived)
        count += len(set(components.lake.sessions(derived.table, partition)) - sources.keys())
        count += sum(due.status(source) == "due" for source in sources.values())
    return count


def _export(components: Components, partition: str, *, derived: DerivedTable) -> StageReport:
    """Copy the journal, export what changed of it into a table, and return the report."""
    with components.project_lock(partition):
        sources = _journal_products(components, partition, derived)
        components.journal.keep_copy()
        report = derive_table(components, partition, derived, sources=sources)
        components.journal.erase_replaced_texts()
    return report


make_history = partial(_export, derived=HISTORY)
make_memories = partial(_export, derived=MEMORIES)
make_trail = partial(_export, derived=TRAIL)


def _journal_products(
    components: Components, partition: str, derived: DerivedTable
) -> Mapping[str, Product]:
    """Return the upstream products of a table, by name: the journal's conversations or memories."""
    journal, project = components.journal, project_in(partition)
    if derived is HISTORY:
        states = journal.conversation_states(project)
    else:
        states_of = journal.memory_states if derived is MEMORIES else journal.trail_states
        states = {key.removeprefix(MEMORY_HEAD): state for key, state in states_of(project).items()}
    return {key: Product(_JOURNAL, partition, key, state, state) for key, state in states.items()}


def _is_made_with(before: Product | None, version: str) -> bool:
    """Whether a product was made under this version, even if its conversation grew since."""
    noted = before.facts.get("journal") if before is not None else None
    if before is None or noted is None:
        return False
    return before.input_hash == expected_input(noted, version)
