"""What is in memory, from the catalogue alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memory_assets.recall.answer import Coverage
from memory_assets.stores import chroma_server
from memory_assets.stores.catalog import Catalog
from memory_assets.stores.opened import Stores

_TABLE_AND_COLLECTION = {
    "sessions": ("turn_chunks", "session_collection"),
    "prompts": ("user_prompts", "prompt_collection"),
    "summaries": ("session_summaries", "summary_collection"),
}


def coverage(catalog: Catalog, kinds: Sequence[str]) -> Coverage:
    """Return how much of the lake is in the collections of these kinds."""
    totals = catalog.totals()
    stages = [_TABLE_AND_COLLECTION[kind] for kind in kinds]
    chunks = totals.get("turn_chunks", {})
    made = [
        str(totals[name]["made_at"]) for _, name in stages if totals.get(name, {}).get("made_at")
    ]
    return Coverage(
        sessions=int(totals.get("redacted_records", {}).get("sessions", 0)),
        turns=int(chunks.get("turns") or 0),
        rows=sum(int(totals.get(table, {}).get("rows", 0)) for table, _ in stages),
        indexed=sum(int(totals.get(name, {}).get("rows", 0)) for _, name in stages),
        quarantined=len(catalog.quarantined()),
        as_of=max(made, default=""),
    )


def status(stores: Stores) -> dict[str, Any]:
    """Return counts by agent and project, sizes, coverage, and what is held back."""
    catalog = stores.catalog
    endpoint = None if stores.chroma_url else chroma_server.running(stores.data_dir)
    return {
        "data_dir": str(stores.data_dir),
        "agents": catalog.counts_by("agent"),
        "projects": catalog.counts_by("project"),
        "stages": catalog.totals(),
        "coverage": {
            kind: {**asdict(covered), "complete": covered.complete}
            for kind, covered in (
                (kind, coverage(catalog, [kind])) for kind in _TABLE_AND_COLLECTION
            )
        },
        "quarantined": [asdict(entry) for entry in catalog.quarantined()],
        "chroma": {
            "url": stores.chroma_url or (endpoint.url if endpoint else None),
            "state": "remote" if stores.chroma_url else "running" if endpoint else "stopped",
            "bytes": _size(stores.chroma_dir),
        },
        "lake_bytes": _size(stores.lake.root),
    }


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
