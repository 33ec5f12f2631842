"""The figures of `memory status`, from the catalogue and from facts about files.

Belongs here: counts, coverage, freshness and what is held back. It must be fast, so nothing
here imports pyarrow, numpy, Chroma, pydantic or Dagster early. Does not: reading rows
(`recall/`), checking them (`pipeline/checks/`).
"""

from memory_assets.status.health import (
    failed_checks,
    last_checks,
    redactions_by_rule,
    sizes_by_day,
)
from memory_assets.status.status import sizes_of, status
from memory_assets.status.words import (
    can_be_helped,
    chroma_notes,
    counted,
    duration_text,
    excluded_note,
    found_so_far,
    held_back,
    in_words,
    named_documents,
    report,
    sample_note,
    totals,
    waiting_sessions,
)
from memory_assets.stores.catalog.session_counts import SessionCounts

__all__ = [
    "SessionCounts",
    "can_be_helped",
    "chroma_notes",
    "counted",
    "duration_text",
    "excluded_note",
    "failed_checks",
    "found_so_far",
    "held_back",
    "in_words",
    "last_checks",
    "named_documents",
    "redactions_by_rule",
    "report",
    "sample_note",
    "sizes_by_day",
    "sizes_of",
    "status",
    "totals",
    "waiting_sessions",
]
