"""How many of the stored rows a search can find."""

from __future__ import annotations

from collections.abc import Sequence

from memory_assets.recall.search.answer import Coverage
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.catalog.catalog import Catalog


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
