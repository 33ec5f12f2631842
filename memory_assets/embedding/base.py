"""The protocol `Embedder`, and the function that embeds redacted text for the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_assets.redacted_text import RedactedText, require_redacted


class Embedder(Protocol):
    """Maps texts to unit vectors of one space.

    `embedder_id` names model, precision, runtime and weights: equal ids give equal
    vectors. `family` names the space: vectors of one family may be searched together.
    """

    @property
    def embedder_id(self) -> str:
        """Model, precision, runtime and the head of the weights' sha256."""

    @property
    def family(self) -> str:
        """The space, e.g. `all-MiniLM-L6-v2`."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""

    @property
    def max_tokens(self) -> int:
        """Word pieces that count, [CLS] and [SEP] included; the rest is cut off."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of rows of length 1."""

    def count_tokens(self, text: str) -> int:
        """Return the word pieces of `text`, [CLS] and [SEP] included, before truncation."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) in characters of each word piece, [CLS] and [SEP] left out."""


def embed_redacted(embedder: Embedder, texts: Sequence[RedactedText]) -> NDArray[np.float32]:
    """Return the vectors of texts that have passed the redactor.

    Raises:
        TypeError: a text is not a `RedactedText`, whatever its annotation says.
    """
    require_redacted(texts)
    return embedder.embed(texts)
