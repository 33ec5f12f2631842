"""The answer of a search: hits, and how much of the memory they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from memory_assets.redacted_text import RedactedText
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.catalog.catalog import Catalog


@dataclass(frozen=True)
class Hit:
    """One hit. In hybrid mode, `score` is the weighted sum of the two values in `why` (`words`:
    share of the question's words found, weighted by rarity; `meaning`: cosine of its passages); in
    the other modes it is one of them."""

    id: str
    turn_id: str
    score: float
    text: RedactedText
    metadata: Mapping[str, Any]
    why: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Coverage:
    """How many of the stored rows the search could find, and as of when."""

    sessions: int
    turns: int
    rows: int
    indexed: int
    quarantined: int
    as_of: str

    @property
    def complete(self) -> bool:
        """True if every row of the lake is in the searched index."""
        return self.rows == self.indexed


@dataclass(frozen=True)
class Answer:
    """The hits of one search, best first. `degraded` is "keyword-only" or "semantic-only" if one of
    the two was not used, `reason` says why. `older` counts hits outside the requested window of
    recent days."""

    query: str
    mode: str
    coverage: Coverage
    hits: tuple[Hit, ...]
    degraded: str | None = None
    reason: str | None = None
    older: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of an answer (docs/contracts.md)."""
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


def coverage(catalog: Catalog, kinds: Sequence[str]) -> Coverage:
    """Return how many rows of these kinds are in their collections."""
    totals = catalog.products.totals()
    stages = [(SEARCH_KINDS[kind].table, SEARCH_KINDS[kind].asset) for kind in kinds]
    chunks = totals.get("turn_chunks", {})
    made = [
        str(totals[name]["made_at"]) for _, name in stages if totals.get(name, {}).get("made_at")
    ]
    return Coverage(
        sessions=int(totals.get("redacted_records", {}).get("sessions", 0)),
        turns=int(chunks.get("turns") or 0),
        rows=sum(int(totals.get(table, {}).get("rows", 0)) for table, _ in stages),
        indexed=sum(int(totals.get(name, {}).get("rows", 0)) for _, name in stages),
        quarantined=len(catalog.quarantine.entries()),
        as_of=max(made, default=""),
    )
