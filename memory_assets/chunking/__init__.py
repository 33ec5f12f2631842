"""Redacted records to turns, and turns to the passages that are embedded and found.

Belongs here: grouping records into turns, selecting the text to embed, cutting long turns.
Does not: reading or redacting transcripts, vectors, stores. Text is passed as
`RedactedText`. docs/chunking.md has the measurements of each choice.
"""

from memory_assets.chunking.chunks import CHUNKER_VERSION, chunk_turn, prompt_passages
from memory_assets.chunking.digest import file_matches, touched_by
from memory_assets.chunking.passages import Tokens
from memory_assets.chunking.recalled import as_said, is_recalled
from memory_assets.chunking.turns import build_turns
from memory_assets.redacted_text import content_hash

__all__ = [
    "CHUNKER_VERSION",
    "Tokens",
    "as_said",
    "build_turns",
    "chunk_turn",
    "content_hash",
    "file_matches",
    "is_recalled",
    "prompt_passages",
    "touched_by",
]
