"""What comes back: hits, and how much of the memory they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memory_assets.redacted_text import RedactedText


@dataclass(frozen=True)
class Hit:
    """One answer. `score` is the cosine similarity of its best passage, in [-1, 1]."""

    id: str
    turn_id: str
    score: float
    text: RedactedText
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Coverage:
    """How much of what is on record the search could see.

    `complete` is whether every row of the lake is in the collections.
    """

    sessions: int
    turns: int
    rows: int
    indexed: int
    quarantined: int
    as_of: str

    @property
    def complete(self) -> bool:
        """Whether nothing of the lake is missing from the collections."""
        return self.rows == self.indexed


@dataclass(frozen=True)
class Answer:
    """The hits of one search, best first. `degraded` says what was not used, if anything."""

    query: str
    mode: str
    coverage: Coverage
    hits: tuple[Hit, ...]
    degraded: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON contract of design.md, section 4."""
        return {
            "query": self.query,
            "mode": self.mode,
            "coverage": {**asdict(self.coverage), "complete": self.coverage.complete},
            "degraded": self.degraded,
            "hits": [
                {
                    "id": hit.id,
                    "turn_id": hit.turn_id,
                    "score": round(hit.score, 4),
                    "text": str(hit.text),
                    "metadata": dict(hit.metadata),
                }
                for hit in self.hits
            ],
        }
