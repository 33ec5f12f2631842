"""The stable ids of design.md, section 2, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_assets.errors import ConfigurationError

_TURN = re.compile(r"session::(?P<session>.+)::turn::(?P<turn>\d+)(?:::part::\d+)?")
_PROMPT = re.compile(r"prompt::(?P<session>.+?)::(?P<turn>\d+)(?:::\d+)?")
_SUMMARY = re.compile(r"summary::(?P<session>.+)")


@dataclass(frozen=True)
class MemoryId:
    """What an id points at: a turn of a session, or (turn None) the session's summary."""

    session_id: str
    turn_index: int | None


def parse_id(text: str) -> MemoryId:
    """Return what the id of a turn, passage, prompt or summary, or a bare session id,
    points at.

    Raises:
        ConfigurationError: it looks like none of these.
    """
    for pattern in (_TURN, _PROMPT):
        if found := pattern.fullmatch(text):
            return MemoryId(found["session"], int(found["turn"]))
    if found := _SUMMARY.fullmatch(text):
        return MemoryId(found["session"], None)
    if "::" in text or not text:
        raise ConfigurationError(
            f"{text!r} is not an id; ids look like session::ID::turn::N, prompt::ID::N, summary::ID"
        )
    return MemoryId(text, None)
