"""Which memories come from what is to be forgotten."""

from __future__ import annotations

from memory_assets.pipeline.agent_memory.calls import has_journal
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.agents.partitions import MEMORY_HEAD, partition_of


def memories_from(components: Components, conversation_id: str) -> list[SessionKey]:
    """Return partition and name of the memories that come from a conversation."""
    if not has_journal(components.settings):
        return []
    found = components.journal.memories({"conversation_id": conversation_id})
    return [
        (partition_of(each.project), each.memory_id.removeprefix(MEMORY_HEAD)) for each in found
    ]
