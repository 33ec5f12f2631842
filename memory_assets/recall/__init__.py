"""Asking the memory: search, show, timeline, blame, audit. Never imports Dagster.

Belongs here: requests, filters, ranking, answers. Does not: how an answer is printed or
sent (`cli/`), how anything came to be stored (`pipeline/`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory, open_memory

__all__ = ["Memory", "open_memory"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: `memory context` needs only `names`, not numpy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("memory_assets.recall.memory"), name)
