"""`Lasting`: something that sessions of a project show and the next one should know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_LAST_TURNS = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """Something that happened in a turn of a session, and when."""

    session_id: str
    turn_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Lasting:
    """What sessions show. `topic` says what it is about: of a project there is one of each. `at`
    is when it was seen last, `sources` are the ids of turns that show it: of each session that
    does, the last two. `type` is that of the memory that it may become."""

    topic: str
    text: str
    confidence: float
    at: datetime | None
    sources: tuple[str, ...]
    type: str = "project"


def shown_by(topic: str, text: str, evidence: Iterable[Seen]) -> Lasting:
    """Return what some evidence shows: it is surer, the more sessions and turns there are."""
    turns: dict[str, dict[str, None]] = defaultdict(dict)
    times = []
    for piece in evidence:
        turns[piece.session_id].pop(piece.turn_id, None)
        turns[piece.session_id][piece.turn_id] = None
        if piece.at is not None:
            times.append(piece.at)
    count = sum(map(len, turns.values()))
    confidence = min(0.7 + 0.05 * (len(turns) - 1) + 0.02 * (count - 1), 0.95)
    sources = tuple(turn for of in turns.values() for turn in list(of)[-_LAST_TURNS:])
    return Lasting(topic, text, round(confidence, 2), max(times, default=None), sources)
