"""Turns and memories as scalars, which stores keep as columns or metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.redacted_text import seal

TURN_FIELDS = tuple(field.name for field in fields(ConversationTurn))
MEMORY_FIELDS = tuple(field.name for field in fields(StoredMemory))
_TEXTS = ("entities", "tags", "also")
LISTS = (*_TEXTS, "contradicts")
"""Fields that are kept as JSON."""
FLOATS = ("confidence", "stored_at")
"""Chroma keeps 1 and 1.0 apart, and compares each with its like only."""


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
