"""Text to vectors: with all-MiniLM-L6-v2 from an installed package, or by an endpoint.

Belongs here: finding and verifying the model's files, word pieces, vectors, requests to an
endpoint that the settings name. Does not: what text is worth embedding (`chunking`), storing
vectors (`stores`). onnxruntime is imported when an embedder is loaded, not before.
"""

from memory_assets.embedding.embedder import (
    DEFAULT_EMBEDDER,
    Embedder,
    embed_redacted,
    load_embedder,
)
from memory_assets.embedding.model_files import WordPieces, load_word_pieces
from memory_assets.http.endpoint_use import is_endpoint

__all__ = [
    "DEFAULT_EMBEDDER",
    "Embedder",
    "WordPieces",
    "embed_redacted",
    "is_endpoint",
    "load_embedder",
    "load_word_pieces",
]
