"""What `memory` alone says: what is there, and what to type first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory_assets.errors import NotFound
from memory_assets.status import counted

if TYPE_CHECKING:
    from memory_assets.settings import Settings

_NO_MEMORY = (
    ("memory ingest", "take in your coding agents' sessions"),
    ("memory doctor", "what is found here, and what is missing"),
)
_MEMORY = (
    ("memory search why did it fail", "by words and meaning"),
    ('memory search --exact "error: ..."', "a line, in tool output, too"),
    ("memory sessions --project .", "what was done in this directory"),
    ("memory resume --last", "go on with the last session"),
    ("memory open", "the page, in your browser"),
    ("memory ingest", "take in what is new"),
)


def what_to_type(settings: Settings) -> Iterator[str]:
    """Yield lines for somebody who does not know what to type."""
    yield "memory: search what your coding agents did before."
    yield ""
    sessions = _sessions(settings)
    if sessions:
        yield f"{counted(sessions, 'session')} in memory. Type:"
    else:
        yield "Nothing is in memory yet. Type:"
    yield ""
    for command, meaning in _MEMORY if sessions else _NO_MEMORY:
        yield f"  {command:<36}{meaning}"
    yield ""
    yield "memory --help lists all commands; memory search --help, the options of one."


def _sessions(settings: Settings) -> int:
    """Return the number of sessions in memory."""
    from memory_assets.recall import open_memory

    try:
        totals = open_memory(settings).catalog.products.totals()
    except NotFound:
        return 0
    return int(totals.get("redacted_records", {}).get("sessions") or 0)
