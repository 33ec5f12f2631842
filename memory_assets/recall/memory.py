"""`open_memory()`: the memory as one object, for the CLI, MCP and HTTP."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memory_assets import status as overview
from memory_assets.errors import NotFound, StoreError, UnknownName
from memory_assets.recall.opened_memory import OpenedMemory
from memory_assets.recall.search.answer import Answer
from memory_assets.recall.search.filters import within_window
from memory_assets.recall.search.search import KEYWORD_ONLY, Searcher
from memory_assets.requests.search import SearchRequest
from memory_assets.status.reader_settings import ReaderSettings, quick_settings

if TYPE_CHECKING:
    from memory_assets.requests.by_id import ShowRequest


class Memory(OpenedMemory):
    """Reads one memory. Heavy parts (the model, Chroma) load with the first search."""

    def search(self, query: str | SearchRequest = "", **arguments: Any) -> Answer:
        """Return the best hits, best first, for a `SearchRequest`, or for a query with the
        request's other arguments.

        Raises:
            ConfigurationError: the request makes no sense; says what would.
            NotFound: nothing was ever ingested, or nothing is left to search in.
            StoreError: what the mode asks for cannot be used.
        """
        request = self._named(
            query if isinstance(query, SearchRequest) else SearchRequest(query, **arguments)
        )
        if request.selects_observations:
            from memory_assets.recall.observation_search import find_observations

            answer = find_observations(self, request)
        else:
            answer = self._searcher.search(request)
        if answer.degraded == KEYWORD_ONLY and not request.fallback:
            raise StoreError("Chroma is away, and keyword-only answers were not allowed")
        return within_window(answer, self.settings.recent_days) if request.recent else answer

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self)

    def _named(self, request: SearchRequest) -> SearchRequest:
        """Return the request with the full id of its session; raise for an unknown project or
        session."""
        self.require_project(request.project)
        if request.session is None or self.catalog.products.project_of(request.session) is not None:
            return request
        from memory_assets.recall.timeline.identified import find_session

        try:
            return replace(request, session=find_session(self, request.session)[1])
        except NotFound as error:
            raise UnknownName(str(error)) from None

    def status(self) -> dict[str, Any]:
        """Return sizes, counts, versions and what is held back. Does not open Chroma."""
        return overview.status(self.settings)

    def show(self, any_id: str | ShowRequest, around: int = 0) -> list[dict[str, Any]]:
        """Return the whole turn, summary, observation or commit behind an id, as rows with
        their full text. Passages of a turn come in order; `around` adds that many turns
        before and after.

        Raises:
            ConfigurationError: it does not look like an id.
            NotFound: there is no such id.
        """
        from memory_assets.recall.show import show
        from memory_assets.requests.by_id import ShowRequest

        asked = ShowRequest(any_id, around) if isinstance(any_id, str) else any_id
        return show(self, asked.id, asked.around)


def open_memory(settings: ReaderSettings | None = None) -> Memory:
    """Return the memory of these settings, or of those from the environment.

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
