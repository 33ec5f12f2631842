"""Unredacted records of which nothing is said but what a test is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memory_assets.models import Record

_PLAIN = Record(
    agent="claude-code",
    session_id="s",
    agent_id=None,
    seq=0,
    record_uuid="u",
    parent_uuid=None,
    byte_start=0,
    byte_end=1,
    timestamp=None,
    role="tool",
    kind="tool_result",
    text="",
)


def record(text: str = "", **fields: Any) -> Record:
    """Return a tool's output, unless `fields` say otherwise."""
    return replace(_PLAIN, text=text, **fields)
