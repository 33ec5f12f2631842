"""Addresses in Dagster's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from memory_assets.recall import Memory


def dagster_url(memory: Memory) -> str:
    """Return the address of Dagster's UI, without a slash at its end."""
    return memory.settings.dagster_url.rstrip("/")


def lineage_url(memory: Memory, asset: str, partition: str) -> str:
    """Return the address of a partition of an asset, with its materializations and lineage."""
    return f"{dagster_url(memory)}/assets/{asset}?partition={quote(partition, safe='')}"
