"""Addresses in Dagster's UI."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from memory_assets.serving.http_server import LOOPBACK

if TYPE_CHECKING:
    from memory_assets.recall import Memory


_REMEMBERED_SECONDS, _PATIENCE_SECONDS = 10.0, 0.2
_asked: dict[str, tuple[float, bool]] = {}
"""When each address was asked last, and whether it answered."""


def answers(url: str) -> bool:
    """Return whether Dagster's UI answers at an address. Only this machine is asked, and every ten
    seconds at most; what is elsewhere is taken to answer, and what is no address not to."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return False
    if parts.hostname not in LOOPBACK:
        return True
    at, answered = _asked.get(url, (float("-inf"), False))
    if time.monotonic() - at > _REMEMBERED_SECONDS:
        answered = False
        with suppress(OSError):
            socket.create_connection((parts.hostname, port), _PATIENCE_SECONDS).close()
            answered = True
        _asked[url] = time.monotonic(), answered
    return answered


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
