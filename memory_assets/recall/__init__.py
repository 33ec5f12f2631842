"""Asking the memory: search, show, timeline, blame, audit. Never imports Dagster.

Belongs here: requests, filters, ranking, answers. Does not: how an answer is printed or
sent (`cli/`), how anything came to be stored (`pipeline/`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory, open_memory
    from memory_assets.recall.search.answer import Answer, Coverage, Hit
    from memory_assets.requests.search import KINDS, MODES, SearchRequest

__all__ = [
    "KINDS",
    "MODES",
    "Answer",
    "Coverage",
    "Hit",
    "Memory",
    "SearchRequest",
    "open_memory",
]
_FROM = {
    **dict.fromkeys(("Memory", "open_memory"), "memory_assets.recall.memory"),
    **dict.fromkeys(("Answer", "Coverage", "Hit"), "memory_assets.recall.search.answer"),
    **dict.fromkeys(("KINDS", "MODES", "SearchRequest"), "memory_assets.requests.search"),
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: `memory context` needs only `names`, not numpy."""
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_FROM[name]), name)
