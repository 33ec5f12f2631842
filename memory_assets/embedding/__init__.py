"""Text to vectors, with all-MiniLM-L6-v2 from an installed package.

Belongs here: finding and verifying the model's files, word pieces, vectors. Does not:
what text is worth embedding (`chunking`), storing vectors (`stores`), anything that
could reach the network. onnxruntime is imported when an embedder is loaded, not before.
"""

from memory_assets.embedding.minilm import DEFAULT_EMBEDDER, Embedder, embed_redacted, load_embedder
from memory_assets.embedding.model_files import WordPieces, load_word_pieces

__all__ = [
    "DEFAULT_EMBEDDER",
    "Embedder",
    "WordPieces",
    "embed_redacted",
    "load_embedder",
    "load_word_pieces",
]
