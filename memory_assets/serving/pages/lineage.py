"""Addresses in Dagster's UI."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from memory_assets.recall import Memory


def lineage_url(memory: Memory, asset: str, partition: str = "") -> str:
    """Return the address of an asset, or of one of its partitions: its materializations, and the
    way to its lineage."""
    url = f"{_dagster_url(memory)}/assets/{asset}"
    # The page of an asset shows a partition in this view alone.
    return f"{url}?view=partitions&partition={quote(partition, safe='')}" if partition else url


def lineage_links(memory: Memory) -> dict[str, Any]:
    """Return what templates make addresses of: that of Dagster's UI (`dagster`), without a slash at
    its end, and `lineage_url(asset, partition)`."""
    return {"dagster": _dagster_url(memory), "lineage_url": partial(lineage_url, memory)}


def _dagster_url(memory: Memory) -> str:
    return memory.settings.dagster_url.rstrip("/")
