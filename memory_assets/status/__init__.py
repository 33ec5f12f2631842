"""What is in memory and how true that is: figures of the catalogue and facts about files.

Belongs here: `memory status`, which must answer at once, so nothing here imports pyarrow,
numpy, Chroma, pydantic or Dagster before it has to. Does not: reading rows (`recall/`),
proving that they are right (`pipeline/checks/`).
"""

from memory_assets.status.coverage import in_words
from memory_assets.status.held_back import can_be_helped, held_back
from memory_assets.status.status import status
from memory_assets.status.where import Where, quick_where, where_of

__all__ = [
    "Where",
    "can_be_helped",
    "held_back",
    "in_words",
    "quick_where",
    "status",
    "where_of",
]
