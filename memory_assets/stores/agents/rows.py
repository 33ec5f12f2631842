"""Turns and memories as scalars, which stores keep as columns or metadata, and as rows of
agent_history and agent_memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.redacted_text import compose, seal
from memory_assets.stores.agents.partitions import AGENT, MEMORY_HEAD, MESSAGE_HEAD, partition_of

if TYPE_CHECKING:
    from memory_assets.agent_memory_models import AgentMemory, AgentTurn

TURN_FIELDS = tuple(field.name for field in fields(ConversationTurn))
MEMORY_FIELDS = tuple(field.name for field in fields(StoredMemory))
_TEXTS = ("entities", "tags", "also")
LISTS = (*_TEXTS, "contradicts")
"""Fields that are kept as JSON."""
FLOATS = ("confidence", "stored_at")
"""Chroma keeps 1 and 1.0 apart, and compares each with its like only."""
_EMPTY = compose("")


def values_of(row: ConversationTurn | StoredMemory) -> dict[str, str | int | float]:
    """Return the values of all fields, from which `turn_of` or `memory_of` makes the row again."""
    values = {**asdict(row), "text": str(row.text), "ts": row.ts.astimezone(UTC).isoformat()}
    if isinstance(row, StoredMemory):
        values |= {name: json.dumps(values[name]) for name in LISTS}
        values |= {name: float(values[name]) for name in FLOATS}
    return values


def turn_of(values: Mapping[str, Any]) -> ConversationTurn:
    """Return the turn of these values; further ones are ignored."""
    return ConversationTurn(**_of_fields(TURN_FIELDS, values))


def memory_of(values: Mapping[str, Any]) -> StoredMemory:
    """Return the memory of these values; further ones are ignored."""
    given = _of_fields(MEMORY_FIELDS, values)
    for name in given.keys() & {*LISTS}:
        parts = json.loads(given[name])
        given[name] = tuple(map(seal, parts)) if name in _TEXTS else tuple(parts)
    return StoredMemory(**given)


def _of_fields(names: tuple[str, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: values[name] for name in names if name in values}
    return given | {"text": seal(given["text"]), "ts": datetime.fromisoformat(given["ts"])}


def row_of_turn(turn: ConversationTurn, content_hash: str, ruleset_version: str) -> AgentTurn:
    """Return the row of a turn whose text has this hash and was redacted under these rules."""
    from memory_assets.agent_memory_models import AgentTurn  # 20 ms, which the journal need not

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
    from memory_assets.agent_memory_models import AgentMemory

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
