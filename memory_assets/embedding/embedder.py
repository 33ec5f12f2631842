"""What maps texts to vectors, and the choice of one by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from memory_assets.errors import EmbedderUnavailable
from memory_assets.http.endpoint_use import is_endpoint
from memory_assets.redacted_text import RedactedText, require_redacted

if TYPE_CHECKING:  # word pieces are counted without numpy, whose import takes 60 ms
    import numpy as np
    from numpy.typing import NDArray

    from memory_assets.http.endpoint_use import EndpointUse
    from memory_assets.http.model_endpoint import RateLimit

DEFAULT_EMBEDDER = "all-MiniLM-L6-v2"


class Embedder(Protocol):
    """Maps texts to unit vectors of one space.

    `embedder_id` names model, precision, runtime and weights: equal ids give equal
    vectors. `family` names the space: vectors of one family may be searched together.
    `in_process` is whether the model runs in this process, and so has to be started.
    """

    embedder_id: str
    family: str
    dimension: int
    in_process: bool

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of rows of length 1."""

    def knows(self, text: str) -> bool:
        """Whether the model knows at least half of what a text consists of, so that its vector
        says something of it; True if that cannot be told."""


def embed_redacted(
    embedder: Embedder, texts: Sequence[RedactedText], contexts: Sequence[RedactedText] = ()
) -> NDArray[np.float32]:
    """Return the vectors (len(texts), dimension) of texts that have passed the redactor. A text
    with a context gets the unit vector halfway between its own and that of the context; an empty
    text gets that of its context.

    Raises:
        TypeError: a text is not a `RedactedText`, whatever its annotation says.
    """
    require_redacted((*texts, *contexts))
    if not contexts:
        return embedder.embed(texts)
    import numpy as np

    distinct = list(dict.fromkeys(filter(None, (*texts, *contexts))))
    vector_of = dict(zip(distinct, embedder.embed(distinct), strict=True))
    vectors = np.empty((len(texts), embedder.dimension), dtype=np.float32)
    for at, (text, context) in enumerate(zip(texts, contexts, strict=True)):
        sources = [vector_of[source] for source in (text, context) if source]
        if len(sources) == 1:
            vectors[at] = sources[0]
        else:
            total = sources[0] + sources[1]
            vectors[at] = total / max(float(total @ total) ** 0.5, 1e-6)
    return vectors


def load_embedder(
    name: str | None = None,
    *,
    key: str | None = None,
    patient: bool = True,
    note: Callable[[EndpointUse], None] = lambda use: None,
    parallel: int = 1,
    limit: RateLimit | None = None,
) -> Embedder:
    """Return the embedder `name`: all-MiniLM-L6-v2, the default, or `openai:MODEL@URL`.

    The other arguments are those of `load_endpoint`.

    Raises:
        EmbedderUnavailable: unknown name, or files missing or not the expected ones;
            says what to do.
    """
    if name == "none":
        raise EmbedderUnavailable("no vectors are made: MEMORY_EMBEDDER is none")
    if name is not None and is_endpoint(name):
        from memory_assets.embedding.endpoint import load_endpoint

        return load_endpoint(
            name, key=key, patient=patient, note=note, parallel=parallel, limit=limit
        )
    if name not in (None, DEFAULT_EMBEDDER):
        raise EmbedderUnavailable(
            f"unknown embedder {name!r}; known: {DEFAULT_EMBEDDER}, openai:MODEL@URL"
        )
    from memory_assets.embedding.minilm import load_minilm

    return load_minilm()
