"""The stores of one memory with its redactor, embedder and key, each loaded on first use: enough to
write agents' memory, without the parts that only stages need."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from memory_assets.install_key import load_install_key
from memory_assets.paths import NO_EMBEDDER
from memory_assets.settings import Settings
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.stores import Stores, opened_once

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder, WordPieces
    from memory_assets.redaction import RedactionSettings, Redactor


def redaction_settings(settings: Settings) -> RedactionSettings:
    """Return the settings of redaction among all settings."""
    from memory_assets.redaction import RedactionSettings

    return RedactionSettings(
        max_file_bytes=settings.max_file_bytes,
        allowlist=settings.allowlist,
        personal=settings.personal_data,
        engine=settings.redaction_engine,
        record_seconds=settings.record_seconds,
    )


class Engines(Stores):
    """The stores and engines of one memory, made from the settings. `clock` returns the present
    time in Unix seconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        super().__init__(
            settings.data_dir,
            vector_backend=settings.vector_backend,
            vectors_url=settings.vectors_url,
            vectors_key=settings.vectors_key,
            chroma_idle_seconds=settings.chroma_idle_seconds,
            tenant=settings.tenant,
        )
        self.settings = settings
        self.clock = clock

    @opened_once
    def install_key(self) -> bytes:
        """The key of tags, fingerprints, record ids and known secrets."""
        return load_install_key()

    @opened_once
    def redactor(self) -> Redactor:
        """The redactor.

        Raises:
            RedactionUnavailable: a rule or the engine fails its self-test.
        """
        from memory_assets.redaction import load_redactor

        return load_redactor(redaction_settings(self.settings), self.install_key)

    @property
    def has_journal(self) -> bool:
        """Whether an agent ever wrote anything here; opening the journal would create it."""
        return has_journal(self.data_dir)

    @property
    def embeds(self) -> bool:
        """Whether vectors are made; false with `MEMORY_EMBEDDER=none`."""
        return self.settings.embedder != NO_EMBEDDER

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model; one at an endpoint is asked once, since a person waits."""
        from memory_assets.embedding import load_embedder
        from memory_assets.stores.gateway_usage import FILE_NAME, request_noter

        note, key = request_noter(self.data_dir / FILE_NAME, "search"), self.settings.embedder_key
        return load_embedder(self.settings.embedder, key=key, patient=False, note=note)

    @opened_once
    def tokens(self) -> WordPieces:
        """The embedding model's word pieces, without the model."""
        from memory_assets.embedding.model_files import load_word_pieces

        return load_word_pieces()
