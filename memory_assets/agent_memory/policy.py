"""Which memories are stored, how many of them, and which two count as one. No store is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, get_args

from memory_assets.agent_memory.ports import MemoryType, Origin, Role
from memory_assets.errors import BadArgument

MEMORY_TYPES: Final[tuple[str, ...]] = get_args(MemoryType)
NOTE = "note"
"""The type of what a person pinned: its text is the note, `entities` the id of the session or turn,
and its conversation the session, with which it is forgotten."""
ROLES: Final[tuple[str, ...]] = get_args(Role)
ORIGINS: Final[tuple[str, ...]] = get_args(Origin)
MOST_TOKENS = 800
"""Word pieces of a memory; a longer one is summarized or refused."""
MOST_CHARACTERS = 200_000
"""Characters of one turn."""
MOST_TURNS = 1_000_000
LEAST_BUDGET = 200
"""Tokens that the frame of a context and the mark of a cut message need, and some to spare."""


@dataclass(frozen=True)
class MemoryPolicy:
    """When a memory is stored. At most `max_per_window` new ones are stored in a window: the last
    `window_turns` turns of a conversation, or `window_minutes` where it has none. A memory that is
    not said again loses half its worth in `half_life_days`; None: nothing."""

    confidence_min: float = 0.7
    max_per_window: int = 3
    window_turns: int = 16
    window_minutes: float = 60.0
    half_life_days: float | None = None

    def should_store_memory(self, confidence: float, type: str) -> bool:
        """Return whether a memory is believed enough to be stored.

        Raises:
            BadArgument: the confidence is no number from 0 to 1, or the type is unknown.
        """
        number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        if not number or math.isnan(confidence) or not 0 <= confidence <= 1:
            raise BadArgument(f"confidence: give a number from 0 to 1, not {confidence!r:.40}")
        if type not in MEMORY_TYPES:
            raise BadArgument(
                f"type: there is no {str(type)!r:.40}; choose from {', '.join(MEMORY_TYPES)}"
            )
        return confidence >= self.confidence_min

    def has_faded(self, confidence: float, days: float) -> bool:
        """Return whether a memory of this confidence, last said so many days ago, is worth less
        than half of the confidence that is needed to store it."""
        if self.half_life_days is None:
            return False
        worth: float = confidence * 0.5 ** (max(days, 0.0) / self.half_life_days)
        return worth < self.confidence_min / 2


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return a value that is allowed.

    Raises:
        BadArgument: it is not; lists those that are.
    """
    if value not in allowed:
        raise BadArgument(f"{name}: there is no {value!r:.40}; choose from {', '.join(allowed)}")
    return value


def in_utc(ts: datetime | str) -> datetime:
    """Return a time in UTC.

    Raises:
        BadArgument: it is not ISO 8601, or has no zone.
    """
    if isinstance(ts, str):
        try:
            ts = datetime.fromisoformat(ts)
        except ValueError:
            raise BadArgument("ts: give ISO 8601 with a zone, as in 2026-11-23T09:30:00Z") from None
    if ts.tzinfo is None:
        raise BadArgument("ts: has no zone; give ISO 8601 with one, as in 2026-11-23T09:30:00Z")
    return ts.astimezone(UTC)
