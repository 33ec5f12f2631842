"""`open_memory()`: the memory as one object, for the CLI, MCP and HTTP alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memory_assets import status as overview
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.recall.search.answer import Answer, Coverage
from memory_assets.recall.search.request import SearchRequest
from memory_assets.recall.search.search import Searcher
from memory_assets.recall.status import coverage
from memory_assets.status.reader_settings import ReaderSettings, quick_settings
from memory_assets.stores.stores import Stores

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.stores.chroma.collections import VectorStore


class Memory(Stores):
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
        """The connection to Chroma. A reader makes no empty store in the place of a lost
        one: `memory ingest` could not see any more that it has to be rebuilt."""
        if self.chroma_url is None and not self.has_chroma_files:
            raise NotFound(
                f"the collections are not in {self.chroma_dir}; run `memory ingest`, which "
                "makes them from the lake"
            )
        return super().vectors

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = ("sessions",),
        mode: str = "hybrid",
        project: str | None = None,
        agent: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | None = None,
        file: str | None = None,
        n: int = 10,
        session: str | None = None,
        recent: bool = False,
    ) -> Answer:
        """Return the best `n` hits for a question, best first; with `recent`, those of the
        last days alone (setting RECENT_DAYS), and how many older ones that leaves out.

        Raises:
            ConfigurationError: the request makes no sense; says what would.
            NotFound: nothing was ever ingested, or nothing is left to search in.
            StoreError: what the mode asks for cannot be used.
        """
        request = SearchRequest(
            query,
            tuple(kinds),
            mode,
            project,
            agent,
            since,
            until,
            tool,
            file,
            n,
            session,
            self.settings.recent_days if recent else None,
        )
        self._require_known(request)
        if request.file and request.kinds == ("observations",):
            from memory_assets.recall.observation_search import observations_of_file

            return observations_of_file(self, request)
        return self._searcher.search(request)

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self)

    def _require_known(self, request: SearchRequest) -> None:
        if request.agent is None and request.project is None and request.session is None:
            return
        known = {"agent": KNOWN_AGENTS, "project": sorted(self.catalog.projects())}
        if (
            request.session is not None
            and self.catalog.products.project_of(request.session) is None
        ):
            raise ConfigurationError(f"no session {request.session!r} in memory")
        for name, values in known.items():
            asked = getattr(request, name)
            if asked is not None and asked not in values:
                raise ConfigurationError(
                    f"no {name} {asked!r} in memory; known are: {', '.join(values)}"
                )

    def coverage(self, kinds: Sequence[str] = ("sessions",)) -> Coverage:
        """Return how much of what is on record a search can see."""
        return coverage(self.catalog, kinds)

    def status(self) -> dict[str, Any]:
        """Return sizes, counts, versions and what is held back; quick, opens no Chroma."""
        where = overview.Where(self.data_dir, self.settings.transcript_roots(), self.chroma_url)
        return overview.status(where)

    def show(self, any_id: str, around: int = 0) -> list[dict[str, Any]]:
        """Return the whole turn, summary, observation or commit behind an id, as rows with
        their full text. Passages of a turn come in order; `around` adds that many turns
        before and after.

        Raises:
            ConfigurationError: it does not look like an id.
            NotFound: there is no such id.
        """
        from memory_assets.recall.get import show

        return show(self, any_id, around)


def open_memory(settings: ReaderSettings | None = None) -> Memory:
    """Return the memory that the environment's settings (or `settings`) describe.

    Raises:
        ConfigurationError: a setting is wrong.
        NotFound: nothing was ever ingested there.
    """
    settings = settings or quick_settings()
    if settings is None:
        from memory_assets.settings import load_settings

        settings = load_settings()
    memory = Memory(settings)
    if not memory.exists:
        raise NotFound(f"there is no memory in {memory.data_dir} yet; run `memory ingest` first")
    return memory
