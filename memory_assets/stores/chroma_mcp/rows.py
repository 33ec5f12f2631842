"""Memories and turns as rows of Chroma: a text, and metadata that are texts and numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory, Where
from memory_assets.errors import ConfigurationError
from memory_assets.redacted_text import seal

_SEALED = ("entities", "tags", "also")
_LISTS = (*_SEALED, "contradicts")
_FLOATS = ("confidence", "stored_at")
"""Chroma keeps 1 and 1.0 apart, and compares each with its like only."""


def metadata_of(row: ConversationTurn | StoredMemory) -> dict[str, str | int | float]:
    """Return all fields of a row but its text."""
    found = {}
    for name, value in asdict(row).items():
        if name in _LISTS:
            value = json.dumps(value)
        elif isinstance(value, datetime):
            value = value.astimezone(UTC).isoformat()
        found[name] = float(value) if name in _FLOATS else value
    del found["text"]
    return found


def memory_from(metadata: Mapping[str, Any], text: str) -> StoredMemory:
    """Return the memory of a row."""
    return StoredMemory(**_values(StoredMemory, metadata, text))


def turn_from(metadata: Mapping[str, Any], text: str) -> ConversationTurn:
    """Return the turn of a row."""
    return ConversationTurn(**_values(ConversationTurn, metadata, text))


def _values(kind: type, metadata: Mapping[str, Any], text: str) -> dict[str, Any]:
    values = {each.name: metadata[each.name] for each in fields(kind) if each.name in metadata}
    values |= {"text": seal(text), "ts": datetime.fromisoformat(metadata["ts"])}
    for name in values.keys() & {*_LISTS}:
        parts = json.loads(values[name])
        values[name] = tuple(map(seal, parts)) if name in _SEALED else tuple(parts)
    return values


def condition(where: Where) -> dict[str, Any] | None:
    """Return conditions that all must hold in Chroma's language; None for no condition.

    Raises:
        ConfigurationError: a memory has no such field.
    """
    known = {each.name for each in fields(StoredMemory)} - {"text", *_LISTS}
    if unknown := sorted(set(where) - known):
        raise ConfigurationError(f"a memory has no field {unknown[0]!r:.40} to search by")
    parts: list[dict[str, Any]] = []
    for name, wanted in where.items():
        least = isinstance(wanted, Mapping)
        value: Any = wanted["$gte"] if isinstance(wanted, Mapping) else wanted
        value = float(value) if name in _FLOATS else value
        parts.append({name: {"$gte": value} if least else value})
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)
