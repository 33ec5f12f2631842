"""What is in memory and how true that is: figures of the catalogue and facts about files.

Belongs here: `memory status`, which must answer at once, so nothing here imports pyarrow,
numpy, Chroma, pydantic or Dagster before it has to. Does not: reading rows (`recall/`),
proving that they are right (`pipeline/proof/`).
"""

from memory_assets.overview.coverage import in_words
from memory_assets.overview.status import status
from memory_assets.overview.where import Where, quick_where, where_of

__all__ = ["Where", "in_words", "quick_where", "status", "where_of"]
