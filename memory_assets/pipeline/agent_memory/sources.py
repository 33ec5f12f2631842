"""Which memories come from what is to be forgotten, also where the journal was lost."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress

from memory_assets.agent_memory.ports import StoredMemory
from memory_assets.agent_memory.router import DEFAULT_COLLECTION
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.agent_memory.calls import has_journal
from memory_assets.pipeline.agent_memory.memory_trail import put_back_trails
from memory_assets.pipeline.agent_memory.tables import by_hash
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.agents.partitions import MEMORY_HEAD, partition_of, project_in
from memory_assets.stores.agents.rows import memory_of_row
from memory_assets.stores.lake.schemas import AGENT_MEMORY, MEMORY_TRAIL


def memories_from(components: Components, conversations: Set[str]) -> list[SessionKey]:
    """Return partition and name of the memories that come from these conversations, in the journal
    or, where that has lost them, in the lake."""
    found = list(_lost_memories(components)) if conversations else []
    if conversations and has_journal(components.settings):
        found += components.journal.memories()
    return [key_of(each) for each in found if each.conversation_id in conversations]


def put_back(components: Components) -> None:
    """Add to the journal the memories and trails that only the lake has: what forgetting does not
    find, the next ingest would put back. The writers are locked out."""
    lost = list(_lost_memories(components))
    if lost:
        components.journal.put_memories(DEFAULT_COLLECTION, lost)
    if has_journal(components.settings):
        for partition in components.lake.projects(MEMORY_TRAIL):
            put_back_trails(components, partition)


def key_of(memory: StoredMemory) -> SessionKey:
    """Return partition and name of a memory."""
    return partition_of(memory.project), memory.memory_id.removeprefix(MEMORY_HEAD)


def _lost_memories(components: Components) -> Iterator[StoredMemory]:
    lake, exists = components.lake, has_journal(components.settings)
    for partition in lake.projects(AGENT_MEMORY):
        project = project_in(partition)
        known = by_hash(components.journal.memory_states(project)) if exists else {}
        for name in sorted(set(lake.sessions(AGENT_MEMORY, partition)) - known.keys()):
            with suppress(NotFound, DamagedFile):
                yield from map(memory_of_row, lake.read_rows(AGENT_MEMORY, partition, name))
