"""Questions for a model at an endpoint: redacted before they leave the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_assets.embedding import Embedder, embed_redacted, load_embedder
from memory_assets.errors import EmbedderUnavailable, RedactionFailed, RedactionUnavailable
from memory_assets.install_key import load_install_key
from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets.settings import Settings
from memory_assets.stores.gateway_usage import FILE_NAME, request_noter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RedactingEmbedder:
    """An embedder that is given redacted texts only."""

    in_process = False

    def __init__(self, embedder: Embedder, redactor: Redactor) -> None:
        self.embedder_id, self.family = embedder.embedder_id, embedder.family
        self.dimension = embedder.dimension
        self._embedder, self._redactor = embedder, redactor

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of rows of length 1.

        Raises:
            EmbedderUnavailable: the endpoint does not answer, or a text cannot be redacted.
        """
        try:
            redacted = [self._redactor.redact(text).text for text in texts]
        except RedactionFailed as error:
            raise EmbedderUnavailable(f"the question cannot be redacted: {error}") from None
        return embed_redacted(self._embedder, redacted)

    def knows(self, text: str) -> bool:
        """Whether the model knows what a text consists of."""
        return self._embedder.knows(text)


def endpoint_for_queries(settings: Settings) -> RedactingEmbedder:
    """Return the embedder of a setting `openai:MODEL@URL` for questions: one that fails is asked
    once only, since a person waits.

    Raises:
        EmbedderUnavailable: the setting is wrong, or there is no redactor.
    """
    note = request_noter(settings.data_dir / FILE_NAME, "search")
    key = settings.embedder_key
    embedder = load_embedder(settings.embedder, key=key, patient=False, note=note)
    try:
        return RedactingEmbedder(embedder, redactor_of_queries(settings))
    except RedactionUnavailable as error:
        raise EmbedderUnavailable(f"questions cannot be redacted: {error}") from None


def redactor_of_queries(settings: Settings) -> Redactor:
    """Return what redacts a question; raise `RedactionUnavailable` if there is none."""
    limits = RedactionSettings(
        personal=settings.personal_data,
        engine=settings.redaction_engine,
        record_seconds=settings.record_seconds,
    )
    return load_redactor(limits, load_install_key())
