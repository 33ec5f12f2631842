"""The rows of agent_history and agent_memory, made from turns and memories of the journal."""

from __future__ import annotations

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.agent_memory_models import AgentMemory, AgentTurn
from memory_assets.redacted_text import compose
from memory_assets.stores.agents.partitions import AGENT, MEMORY_HEAD, MESSAGE_HEAD, partition_of

_EMPTY = compose("")


def row_of_turn(turn: ConversationTurn, content_hash: str, ruleset_version: str) -> AgentTurn:
    """Return the row of a turn whose text has this hash and was redacted under these rules."""
    return AgentTurn(
        id=f"{MESSAGE_HEAD}{turn.message_id}",
        project=partition_of(turn.project),
        project_root=_EMPTY,
        agent=AGENT,
        session_id=turn.conversation_id,
        turn_index=turn.turn_index,
        role=turn.role,
        channel=turn.channel,
        timestamp=turn.ts,
        text=turn.text,
        content_hash=content_hash,
        ruleset_version=ruleset_version,
    )


def row_of_memory(memory: StoredMemory, content_hash: str, ruleset_version: str) -> AgentMemory:
    """Return the row of a memory whose text has this hash; these rules redacted its texts."""
    return AgentMemory(
        id=memory.memory_id,
        project=partition_of(memory.project),
        project_root=_EMPTY,
        agent=AGENT,
        session_id=memory.memory_id.removeprefix(MEMORY_HEAD),
        type=memory.type,
        confidence=memory.confidence,
        conversation_id=memory.conversation_id,
        entities=memory.entities,
        tags=memory.tags,
        source=memory.source,
        also=memory.also,
        contradicts=memory.contradicts,
        timestamp=memory.ts,
        text=memory.text,
        content_hash=content_hash,
        ruleset_version=ruleset_version,
    )
