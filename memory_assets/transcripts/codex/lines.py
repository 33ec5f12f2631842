"""The shape of one Codex line: its type, its payload, its name in the report."""

from __future__ import annotations

from memory_assets.transcripts.codex.types import BARE_ITEMS, ENVELOPES
from memory_assets.transcripts.fields import text_field, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.rendering import content_text


def unwrap(line: JsonObject) -> tuple[str, JsonObject]:
    """Return (line type, payload), also for the bare lines of the oldest files."""
    payload = line.get("payload")
    kind = line.get("type")
    if isinstance(payload, dict):
        return (kind if isinstance(kind, str) else ""), payload
    if isinstance(kind, str) and kind in BARE_ITEMS:
        return "response_item", line
    if kind is None and "id" in line and "timestamp" in line:
        return "session_meta", line
    if "record_type" in line:
        return "state", line
    return (kind if isinstance(kind, str) else ""), line


def line_name(kind: str, payload: JsonObject) -> str:
    """Return a line's type, with its payload's type where there is one."""
    name = type_name(kind)
    return f"{name}/{type_name(payload.get('type'))}" if kind in ENVELOPES else name


def plain_text(payload: JsonObject) -> str:
    """Return the text of a payload, for comparing it with others."""
    for key in ("message", "text", "input", "arguments"):
        if value := text_field(payload, key):
            return value
    return content_text(payload.get("content"))


def completed_item(item: JsonObject) -> tuple[str, JsonObject]:
    """Return an `item_completed` item in the form of the older event.

    Builds of 2026-08 and later write a human's text so and without `user_message`.
    """
    kind = {"UserMessage": "user_message", "AgentMessage": "agent_message"}.get(
        text_field(item, "type"), "item_completed"
    )
    return kind, {"message": content_text(item.get("content"))}
