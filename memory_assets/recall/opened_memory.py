"""The stores of one memory and its embedding model, as everything in `recall/` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from memory_assets.errors import NotFound, UnknownName
from memory_assets.recall.search.answer import Coverage
from memory_assets.recall.status import coverage
from memory_assets.status.reader_settings import ReaderSettings
from memory_assets.stores.stores import Stores

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.stores.chroma.collections import VectorStore


class OpenedMemory(Stores):
    """Reads one memory. Heavy parts (the model, Chroma) load with the first search."""

    def __init__(self, settings: ReaderSettings) -> None:
        super().__init__(
            settings.data_dir,
            chroma_url=settings.chroma_url,
            chroma_idle_seconds=settings.chroma_idle_seconds,
        )
        self.settings = settings

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        from memory_assets.embedding import load_embedder

        return load_embedder(self.settings.embedder)

    @property
    def vectors(self) -> VectorStore:
        """The connection to Chroma. It never creates an empty store: `memory ingest` recognises a
        lost store by its absence, and rebuilds it."""
        if self.chroma_url is None and not self.has_chroma_files:
            raise NotFound(
                f"the collections are not in {self.chroma_dir}; run `memory ingest`, which "
                "makes them from the lake"
            )
        return super().vectors

    def require_project(self, project: str | None) -> None:
        """Raise for a project that is not in memory.

        Raises:
            UnknownName: names those that are.
        """
        if project is not None and project not in (known := sorted(self.catalog.projects())):
            raise UnknownName(f"no project {project!r} in memory; known are: {', '.join(known)}")

    def coverage(self, kinds: Sequence[str] = ("sessions",)) -> Coverage:
        """Return how many of the stored rows a search can find."""
        return coverage(self.catalog, kinds)
