"""The stages of agent_history and agent_memory: tables made of the journal of what agents wrote.

The journal has redacted text only. When the rules have changed, or a secret has become known, its
texts are redacted again and replaced there, too. What the lake has and the journal has lost is
put back into the journal; only forgetting and retention remove rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from memory_assets.agent_memory.ports import ConversationTurn
from memory_assets.agent_memory.router import DEFAULT_COLLECTION
from memory_assets.agent_memory_models import AgentTurn
from memory_assets.chunking import content_hash
from memory_assets.errors import NotFound
from memory_assets.pipeline.agent_memory.gateway import EVERYWHERE, redaction_for
from memory_assets.pipeline.agent_memory.lost_turns import LAKE_ONLY, conversation_states, put_back
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, input_hash
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.partitions import (
    AGENT,
    MEMORY_HEAD,
    is_agent_memory,
    project_in,
)
from memory_assets.stores.agents.rows import (
    memory_of_row,
    row_of_memory,
    row_of_turn,
    turn_of_row,
)
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY, MEMORY_TRAIL

TABLES_VERSION = "agent-2"
_JOURNAL = "agent_journal"


def made_with(components: Components) -> str:
    """Return the version of what makes the tables: code, rules, and the number of known secrets,
    which are taken out, too."""
    known = len(components.catalog.known_secrets.since(0))
    return input_hash(TABLES_VERSION, components.ruleset_version, str(known))


HISTORY = DerivedTable(AGENT_HISTORY, TABLES_VERSION, chosen=made_with)
MEMORIES = DerivedTable(AGENT_MEMORY, TABLES_VERSION, chosen=made_with)
TRAIL = DerivedTable(MEMORY_TRAIL, TABLES_VERSION, chosen=made_with)


def make_history(components: Components, partition: str) -> StageReport:
    """Bring the turns of the conversations that changed up to date, and return the report."""
    with components.project_lock(partition):
        return _History(components, partition).made()


def make_memories(components: Components, partition: str) -> StageReport:
    """Bring the memories that changed up to date, and return the report."""
    with components.project_lock(partition):
        return _Memories(components, partition).made()


def outdated(components: Components, partition: str) -> int:
    """Return the number of conversations and memories of a partition whose rows in the lake are
    not made of their present state, or that the journal has lost."""
    journal, project, version = components.journal, project_in(partition), made_with(components)
    states = {
        AGENT_HISTORY: conversation_states(components, partition),
        AGENT_MEMORY: by_hash(journal.memory_states(project)),
        MEMORY_TRAIL: by_hash(journal.trail_states(project)),
    }
    count = 0
    for table, of_stage in states.items():
        stage = table.name
        count += len(set(components.lake.sessions(table, partition)) - of_stage.keys())
        hashes = components.catalog.products.hashes(stage, partition)
        held = {
            each.session_id: each.input_hash
            for each in components.catalog.quarantine.entries(partition)
            if each.stage == stage
        }
        for key, state in of_stage.items():
            expected = input_hash(state, version)
            made = hashes.get(key, ("", ""))[0]
            count += expected not in (made, held.get(key))
    return count


def journal_keys(components: Components, partition: str) -> list[str]:
    """Return the conversations of a partition, and the hashes of its memories, in the journal."""
    project = project_in(partition)
    if not (components.data_dir / FILE_NAME).exists():
        return []
    journal = components.journal
    return [*journal.conversation_states(project), *by_hash(journal.memory_states(project))]


def forget_written(components: Components, keys: Iterable[tuple[str, str]]) -> int:
    """Delete conversations and memories by partition and name, leaving no byte of them in the
    journal; return the number of turns and memories. Sessions are not in the journal, but their
    projects are to be looked at again for what is promoted."""
    if not (components.data_dir / FILE_NAME).exists():
        return 0
    journal, names = components.journal, list[str]()
    for partition, name in keys:
        project = project_in(partition) if is_agent_memory(partition) else partition
        if is_agent_memory(partition) and journal.project_of(name) in (None, project):
            names.append(name)
        journal.note_sessions_seen(project, "")
    removed = journal.delete_conversations(names)
    removed += journal.delete_memories(f"{MEMORY_HEAD}{name}" for name in names)
    journal.compact()
    return removed


class _History:
    """Makes the rows of the conversations of a partition."""

    def __init__(self, components: Components, partition: str) -> None:
        self._components, self._partition = components, partition
        self._journal, self._version = components.journal, made_with(components)
        self._replaced = False
        self._before = components.catalog.products.of_project(AGENT_HISTORY.name, partition)
        for name in components.lake.sessions(AGENT_HISTORY, partition):
            if not self._only_grew(name):
                put_back(components, partition, name)
        self._states = conversation_states(components, partition)

    def made(self) -> StageReport:
        """Make the rows, and return the report."""
        sources = {
            name: Product(_JOURNAL, self._partition, name, state, state)
            for name, state in self._states.items()
        }
        report = derive_table(
            self._components,
            self._partition,
            HISTORY,
            make=self._make,
            sources=sources,
        )
        if self._replaced:
            self._journal.compact()
        return report

    def _only_grew(self, name: str) -> bool:
        """Whether a conversation was only appended to since its rows were made."""
        before = self._before.get(name)
        noted = before.facts.get("journal") if before is not None else None
        if not noted:
            return False
        count, changed = map(int, noted.split(":"))
        return self._journal.begins_with(name, count, changed)

    def _facts(self, source: Product) -> ProductFacts:
        facts: ProductFacts = {
            "agent": AGENT,
            "journal": source.output_hash,
            "made_with": self._version,
        }
        if cut := self._journal.cut_turns.count(source.session_id):
            facts["retained_blocks"] = cut
        return facts

    def _make(self, source: Product) -> Made:
        turns, before = self._turns(source), self._before.get(source.session_id)
        same_rules = before is not None and before.facts.get("made_with") == self._version
        if same_rules and self._only_grew(source.session_id):  # what is appended is redacted
            return self._rows(turns), self._facts(source)
        redact = redaction_for(self._components, source.session_id).redact
        again = [replace(turn, text=redact(turn.text)) for turn in turns]
        changed = [turn for turn, old in zip(again, turns, strict=True) if turn != old]
        if changed and source.output_hash != LAKE_ONLY:
            self._journal.replace_turns(changed)
            self._replaced = True
        return self._rows(again), self._facts(source)

    def _turns(self, source: Product) -> list[ConversationTurn]:
        """Return the turns of a conversation that are of this partition's project."""
        if source.output_hash == LAKE_ONLY:
            rows = list[AgentTurn]()
            with suppress(NotFound):  # of one of which the summaries alone are left
                rows = self._components.lake.read_rows(
                    AGENT_HISTORY, source.project, source.session_id
                )
            return list(map(turn_of_row, rows))
        project = project_in(self._partition)
        turns = self._journal.turns(source.session_id)
        return [turn for turn in turns if turn.project == project]

    def _rows(self, turns: Iterable[ConversationTurn]) -> Iterator[AgentTurn]:
        rules = self._components.ruleset_version
        return (row_of_turn(turn, content_hash(turn.text), rules) for turn in turns)


class _Memories:
    """Makes the rows of the memories of a partition."""

    def __init__(self, components: Components, partition: str) -> None:
        self._components, self._partition = components, partition
        self._journal = components.journal
        self._redact = redaction_for(components, EVERYWHERE).redact
        self._replaced = False
        project = project_in(partition)
        known = by_hash(self._journal.memory_states(project))
        lake = components.lake
        for lost in set(lake.sessions(AGENT_MEMORY, partition)) - known.keys():
            rows = lake.read_rows(AGENT_MEMORY, partition, lost)
            memories = list(map(memory_of_row, rows))
            self._journal.put_memories(DEFAULT_COLLECTION, memories)
        self._states = by_hash(self._journal.memory_states(project))

    def made(self) -> StageReport:
        """Make the rows, and return the report."""
        sources = {
            name: Product(_JOURNAL, self._partition, name, state, state)
            for name, state in self._states.items()
        }
        report = derive_table(
            self._components, self._partition, MEMORIES, make=self._make, sources=sources
        )
        if self._replaced:
            self._journal.compact()
        return report

    def _make(self, source: Product) -> Made:
        (memory,) = self._journal.memories({"memory_id": f"{MEMORY_HEAD}{source.session_id}"})
        again = replace(
            memory,
            text=self._redact(memory.text),
            entities=tuple(map(self._redact, memory.entities)),
            tags=tuple(map(self._redact, memory.tags)),
            also=tuple(map(self._redact, memory.also)),
        )
        if again != memory:
            self._journal.put_memories(self._journal.collection_of(memory.memory_id), [again])
            self._replaced = True
        row = row_of_memory(again, content_hash(again.text), self._components.ruleset_version)
        return [row], {"agent": AGENT, "memory_type": row.type}


def by_hash(states: Mapping[str, str]) -> dict[str, str]:
    """Return the states of memories by hash, which are given by id."""
    return {memory_id.removeprefix(MEMORY_HEAD): state for memory_id, state in states.items()}
