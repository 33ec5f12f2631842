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
    """How many of the stored rows the search could find, and as of when. `ingest` says how far
    an ingest has come that is under way."""

    sessions: int
    turns: int
    rows: int
    indexed: int
    quarantined: int
    as_of: str
    ingest: str = ""

    @property
    def complete(self) -> bool:
        """True if every row of the lake is in the searched index."""
        return self.rows == self.indexed


@dataclass(frozen=True)
class Answer:
    """The hits of one search, best first. `degraded` is "keyword-only" if vectors were not used,
    `reason` says why. `older` counts hits outside the requested window of
    recent days. `filters` are those of the request as they were understood: names written out,
    times in UTC."""

    query: str
    mode: str
    coverage: Coverage
    hits: tuple[Hit, ...]
    degraded: str | None = None
    reason: str | None = None
    older: int = 0
    filters: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of an answer (docs/contracts.md)."""
        return {
            "query": self.query,
            "mode": self.mode,
            "filters": dict(self.filters),
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


def coverages(catalog: Catalog, kinds: Sequence[str]) -> tuple[Coverage, Coverage]:
    """Return how many rows of these kinds are in the keyword index, and in the collections."""
    wanted = [SEARCH_KINDS[kind] for kind in kinds]
    totals = catalog.products.totals()
    quarantined = len(catalog.quarantine.entries())

    def total(stages: Sequence[str], name: str) -> int:
        return sum(int(totals.get(stage, {}).get(name) or 0) for stage in stages)

    def held_in(stages: Sequence[str]) -> Coverage:
        times = (totals.get(stage, {}).get("made_at") for stage in stages)
        return Coverage(
            sessions=total(["redacted_records"], "sessions"),
            turns=total(["turn_chunks"], "turns"),
            rows=total([kind.table for kind in wanted], "rows"),
            indexed=total(stages, "rows"),
            quarantined=quarantined,
            as_of=max((str(time or "") for time in times), default=""),
        )

    return held_in([kind.keywords for kind in wanted]), held_in([kind.asset for kind in wanted])
