"""Vectors from an OpenAI-compatible endpoint.

The request and its answer are those of https://platform.openai.com/docs/api-reference/embeddings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_assets.errors import EmbedderUnavailable
from memory_assets.http.client import HttpServer
from memory_assets.http.endpoint_use import EndpointUse
from memory_assets.http.model_endpoint import (
    EndpointFailed,
    ModelEndpoint,
    RateLimit,
    Refused,
    family_of_model,
    parse_endpoint,
)

DIMENSION = 384
"""Numbers of a vector; the lake's tables are made for it."""
BATCH = 50
"""Texts of a request."""
_SETTING = "MEMORY_EMBEDDER"
_SHORTENED = ("text-embedding-3-",)
"""Families whose vectors may be asked for in any length (the parameter `dimensions`)."""


class EndpointEmbedder:
    """A model at one or more endpoints, which all serve the same model so that vectors of two
    models are never mixed. Up to `parallel` requests run at once, at the rate of `limit`."""

    dimension = DIMENSION
    in_process = False

    def __init__(
        self,
        model: str,
        servers: Sequence[HttpServer],
        *,
        patient: bool = True,
        note: Callable[[EndpointUse], None] = lambda use: None,
        sleep: Callable[[float], None] = time.sleep,
        parallel: int = 1,
        limit: RateLimit | None = None,
    ) -> None:
        self.at_once = BATCH * parallel
        """Texts of the requests that run at once."""
        self._parallel = parallel
        self.family = family_of_model(model)
        self.embedder_id = f"{self.family}/endpoint/{model.replace('/', '.')}/{DIMENSION}"
        self._endpoint = ModelEndpoint(
            _SETTING, model, servers, patient=patient, note=note, sleep=sleep, limit=limit
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array (len(texts), 384) of rows of length 1.

        Raises:
            EmbedderUnavailable: no endpoint gives them; says why, and what to do.
        """
        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        batches = [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]
        if not batches:
            return np.empty((0, DIMENSION), dtype=np.float32)
        if len(batches) == 1 or self._parallel == 1:
            return np.concatenate([*map(self._embed_batch, batches)])
        return np.concatenate([*self._threads.map(self._embed_batch, batches)])

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        """The threads that send requests; each keeps its connection."""
        return ThreadPoolExecutor(self._parallel, thread_name_prefix="embedding")

    def knows(self, text: str) -> bool:
        """Return True, as it is unknown what a model at an endpoint knows."""
        return True

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # An empty input is refused by some endpoints.
        request: dict[str, Any] = {"input": [text or " " for text in texts]}
        if self.family.startswith(_SHORTENED):
            request["dimensions"] = DIMENSION
        try:
            return self._endpoint.ask(
                "embeddings", request, lambda got: _parse_vectors(got, len(texts))
            )
        except EndpointFailed as failed:
            raise EmbedderUnavailable(
                f"the model {self._endpoint.model} gives no vectors: {failed}"
            ) from None


def load_endpoint(
    name: str,
    *,
    key: str | None = None,
    patient: bool = True,
    note: Callable[[EndpointUse], None] = lambda use: None,
    parallel: int = 1,
    limit: RateLimit | None = None,
) -> EndpointEmbedder:
    """Return the embedder of a name such as `openai:all-minilm@http://127.0.0.1:11434/v1`, without
    sending a request. Further URLs, after commas, are tried if those before fail. Unless `patient`,
    a failed request is not repeated, because a person waits.

    Raises:
        EmbedderUnavailable: the name has another form.
    """
    try:
        model, servers = parse_endpoint(_SETTING, name, key)
    except EndpointFailed as failed:
        raise EmbedderUnavailable(str(failed)) from None
    return EndpointEmbedder(
        model, servers, patient=patient, note=note, parallel=parallel, limit=limit
    )


def _parse_vectors(answer: bytes, count: int) -> NDArray[np.float32]:
    """Return the `count` vectors of an answer, of length 1.

    Raises:
        Refused: the answer is something else, or its vectors cannot be used.
    """
    try:
        data = json.loads(answer)["data"]
        rows = {int(row.get("index", at)): row["embedding"] for at, row in enumerate(data)}
        arrays = [np.asarray(rows[at], dtype=np.float32) for at in sorted(rows)]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Refused("answers something else than embeddings") from None
    if sorted(rows) != list(range(count)):
        raise Refused(f"answers {len(rows)} vectors to {count} texts", again=True)
    for vector in arrays:
        if vector.shape != (DIMENSION,):
            raise Refused(
                f"answers vectors of {vector.size} numbers; memory holds {DIMENSION}. Choose a "
                "model of that length"
            )
    vectors = np.stack(arrays)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not lengths.all():
        raise Refused("answers a vector without a direction (NaN, infinite or zero)")
    unit: NDArray[np.float32] = vectors / lengths
    return unit
