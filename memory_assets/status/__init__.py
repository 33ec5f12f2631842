"""The figures of `memory status`, from the catalogue and from facts about files.

Belongs here: counts, coverage, freshness and what is held back. It must be fast, so nothing
here imports pyarrow, numpy, Chroma, pydantic or Dagster early. Does not: reading rows
(`recall/`), checking them (`pipeline/checks/`).
"""

from memory_assets.status.coverage import in_words
from memory_assets.status.held_back import can_be_helped, held_back
from memory_assets.status.reader_settings import ReaderSettings, quick_settings
from memory_assets.status.status import status

__all__ = [
    "ReaderSettings",
    "can_be_helped",
    "held_back",
    "in_words",
    "quick_settings",
    "status",
]
