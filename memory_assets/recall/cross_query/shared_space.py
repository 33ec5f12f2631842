"""Whether another program's collection was embedded with our model, so that we can search it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_assets.embedding import Embedder
from memory_assets.errors import StoreMismatch
from memory_assets.stores.vector_store import Collection, Document

_NAMING_KEYS = (
    "embedder_id",
    "embedder",
    "embedding_model",
    "embedding_model_name",
    "embedding_function",
    "model_name",
    "model",
)
_CHROMA_MINILM = ("default", "onnx_mini_lm_l6_v2")
"""Chroma's names for all-MiniLM-L6-v2, the model of its default embedding function."""
_PROBED = 3
_SAME, _OTHER = 0.95, 0.3
"""Cosine of a stored vector with ours of the same text: over .99 at another precision, about 0 for
another model; between the two, the stored text is not quite the one that was embedded."""


@dataclass(frozen=True)
class Space:
    """The model of a collection, and how it is known: `evidence` is "metadata", "configuration",
    "vectors" (embedding its texts again gave equal vectors) or "assumed"."""

    embedder: str
    evidence: str


def require_same_space(
    collection: Collection, embedder: Embedder, *, assume: bool = False
) -> Space:
    """Return the model of a collection, if its vectors can be compared with the embedder's.

    `assume` is the user's statement that they can; it counts only if nothing else is known.

    Raises:
        StoreMismatch: they are not, or nothing tells; says which and what to do.
    """
    sample = collection.sample(_PROBED)
    dimension = len(sample[0].vector) if sample else embedder.dimension
    if dimension != embedder.dimension:
        raise _refusal(
            collection, f"its vectors have {dimension} numbers, ours {embedder.dimension}"
        )
    declared = _declared(collection)
    alike = _alike(embedder, sample)
    name, evidence = declared or ("", "")
    named_alike = embedder.family.lower() in name.lower()
    if alike is not None and alike >= _SAME:
        return Space(name, evidence) if named_alike else Space(embedder.family, "vectors")
    if declared is not None:
        if not named_alike:
            raise _refusal(collection, f"it was embedded with {name}")
        if alike is not None and alike < _OTHER:
            raise _refusal(collection, f"it names {name}, but its vectors are of another model")
        return Space(name, evidence)
    if assume:
        return Space(embedder.family, "assumed")
    raise StoreMismatch(
        f"what {collection.name} was embedded with is not known. If it was "
        f"{embedder.family}, say so (assume_same_embedder), or write it into the "
        "collection's metadata as embedding_model."
    )


def _refusal(collection: Collection, reason: str) -> StoreMismatch:
    return StoreMismatch(
        f"{collection.name} cannot be compared with sessions: {reason}. Embed it with "
        "all-MiniLM-L6-v2 (Chroma's default) to ask across both."
    )


def _declared(collection: Collection) -> tuple[str, str] | None:
    """Return the model that the collection names, and whether its metadata or its configuration
    does."""
    for key in _NAMING_KEYS:
        value = collection.metadata.get(key)
        if isinstance(value, str) and value.strip():
            known = value.strip().lower() in _CHROMA_MINILM
            return ("all-MiniLM-L6-v2" if known else value.strip()), "metadata"
    function = collection.embedding_function
    name = str(function.get("name") or "")
    if name in _CHROMA_MINILM:
        return "all-MiniLM-L6-v2", "configuration"
    if function.get("type") == "known" and name:
        return _model_of(name, function.get("config")), "configuration"
    return None


def _model_of(name: str, config: Any) -> str:
    settings: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    model = settings.get("model_name") or settings.get("model") or ""
    return f"{name}/{model}" if model else name


def _alike(embedder: Embedder, sample: list[Document]) -> float | None:
    """Return the median cosine between stored vectors and ours of the same texts."""
    texts = [document for document in sample if document.text.strip()]
    if not texts:
        return None
    ours = embedder.embed([document.text for document in texts])
    stored = np.stack([document.vector for document in texts])
    return float(np.median(np.sum(ours * stored, axis=1)))
