"""`Lasting`: a statement that sessions of a project support and later ones should know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_LAST_TURNS = 2
"""Turns of a session that are kept as sources."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The turn of a session in which something happened, and the time."""

    session_id: str
    turn_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Lasting:
    """A statement that sessions support, one for each `topic` of a project. `confidence` is 0 to 1,
    `at` the last time it was seen, `sources` the ids of turns that show it (the last two of each
    session), `type` that of the memory it may become."""

    topic: str
    text: str
    confidence: float
    at: datetime | None
    sources: tuple[str, ...]
    type: str = "project"


def shown_by(topic: str, text: str, evidence: Iterable[Seen]) -> Lasting:
    """Return a statement with its evidence; more sessions and turns give a higher confidence."""
    turns: dict[str, dict[str, None]] = defaultdict(dict)
    times = []
    for piece in evidence:
        turns[piece.session_id].pop(piece.turn_id, None)
        turns[piece.session_id][piece.turn_id] = None
        if piece.at is not None:
            times.append(piece.at)
    count = sum(map(len, turns.values()))
    confidence = min(0.7 + 0.05 * (len(turns) - 1) + 0.02 * (count - 1), 0.95)
    sources = [turn for of_session in turns.values() for turn in list(of_session)[-_LAST_TURNS:]]
    return Lasting(topic, text, round(confidence, 2), max(times, default=None), tuple(sources))
