"""Asking the memory: search, show, status. Never imports Dagster or Great Expectations.

Belongs here: requests, filters, ranking, answers. Does not: how an answer is printed or
sent (`cli/`), how anything came to be stored (`pipeline/`).
"""

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
