"""What comes back: hits, and how much of the memory they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from memory_assets.redacted_text import RedactedText


@dataclass(frozen=True)
class Hit:
    """One answer. `score` says how well it fits: in hybrid mode a weighted sum of the two
    in `why` (`words`: share of the question's words found, weighed by their rarity;
    `meaning`: cosine of its passages), in the other modes just one of them."""

    id: str
    turn_id: str
    score: float
    text: RedactedText
    metadata: Mapping[str, Any]
    why: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Coverage:
    """How much of what is on record the search could see, and as of when.

    `complete` is whether every row of the lake is where the search looked.
    """

    sessions: int
    turns: int
    rows: int
    indexed: int
    quarantined: int
    as_of: str

    @property
    def complete(self) -> bool:
        """Whether nothing of the lake is missing from where the search looked."""
        return self.rows == self.indexed


@dataclass(frozen=True)
class Answer:
    """The hits of one search, best first. `degraded` says what was not used, if anything
    ("keyword-only", "semantic-only"), and `reason` why. `older` counts turns that would be
    among the hits but for the window of recent days that was asked for."""

    query: str
    mode: str
    coverage: Coverage
    hits: tuple[Hit, ...]
    degraded: str | None = None
    reason: str | None = None
    older: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as docs/contracts.md describes its JSON."""
        return {
            "query": self.query,
            "mode": self.mode,
            "coverage": {**asdict(self.coverage), "complete": self.coverage.complete},
            "degraded": self.degraded,
            "reason": self.reason,
            "older": self.older,
            "hits": [
                {
                    "id": hit.id,
                    "turn_id": hit.turn_id,
                    "score": round(hit.score, 4),
                    "text": str(hit.text),
                    "metadata": dict(hit.metadata),
                    "why": dict(hit.why),
                }
                for hit in self.hits
            ],
        }
