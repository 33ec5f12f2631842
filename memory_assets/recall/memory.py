"""`open_memory()`: the memory as one object, for the CLI, MCP and HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets import status as overview
from memory_assets.errors import ConfigurationError, NotFound, StoreError, UnknownName
from memory_assets.install_key import load_install_key
from memory_assets.paths import NO_EMBEDDER
from memory_assets.recall.ids import may_be_id
from memory_assets.recall.search.answer import Answer, Coverage, with_held_back
from memory_assets.recall.search.hybrid import within_window
from memory_assets.recall.search.newest import newest_first
from memory_assets.recall.search.search import KEYWORD_ONLY, Searcher
from memory_assets.requests.actions import (
    FrictionRequest,
    HowRequest,
    RestoreRequest,
    ResumeRequest,
)
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.cross_query import CrossQueryRequest
from memory_assets.requests.questions import (
    AuditRequest,
    BlameRequest,
    SessionRequest,
    ShowRequest,
    StatusRequest,
    TimelineRequest,
)
from memory_assets.requests.search import SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.stores import Stores, require_memory

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.recall.conversation import Conversations
    from memory_assets.recall.search.corpus import Corpus
    from memory_assets.stores.vector_store import VectorStore

_OF_SESSIONS = {kind.name for kind in SEARCH_KINDS.values() if kind.archive == "redacted_records"}


class Memory(Stores):
    """Reads one memory. Heavy parts (the model, Chroma) load with the first search."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(
            settings.data_dir,
            vector_backend=settings.vector_backend,
            vectors_url=settings.vectors_url,
            vectors_key=settings.vectors_key,
            chroma_idle_seconds=settings.chroma_idle_seconds,
            tenant=settings.tenant,
        )
        self.settings = settings

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        from memory_assets.embedding import is_endpoint, load_embedder

        if is_endpoint(self.settings.embedder):
            from memory_assets.recall.redacted_queries import endpoint_for_queries

            return endpoint_for_queries(self.settings)
        return load_embedder(self.settings.embedder)

    @property
    def vectors(self) -> VectorStore:
        """The connection to the collections. It never creates an empty store: `memory ingest`
        recognises a lost store by its absence, and rebuilds it."""
        if self.vectors_url is None and not self.has_chroma_files:
            raise NotFound(
                f"the collections are not in {self.chroma_dir}; run `memory ingest`, which "
                "makes them from the lake"
            )
        return super().vectors

    def project_named(self, text: str | None) -> str | None:
        """Return the project that a person means, None for None; see `names.project_named`."""
        if text is None:
            return None
        from memory_assets.recall.names import project_named

        return project_named(self.catalog, text)

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
        answer = self._answered(request)
        return self._only_recent(request, answer) if request.recent else answer

    def _only_recent(self, request: SearchRequest, answer: Answer) -> Answer:
        """Return the best hits of the last days instead, and how many of an answer's are older."""
        begin = datetime.now(UTC) - timedelta(days=self.settings.recent_days)
        recent = within_window(answer, begin)
        if not recent.older or (request.until is not None and request.until <= begin):
            return recent
        hits = self._answered(replace(request, since=begin)).hits
        return replace(recent, hits=hits)

    def _answered(self, request: SearchRequest) -> Answer:
        if request.selects_observations:
            from memory_assets.recall.search.observations import find_observations

            answer = find_observations(self, request)
        else:
            answer = self._searched(request)
        coverage = with_held_back(self.catalog, answer.coverage, request)
        answer = replace(answer, coverage=coverage)
        if answer.degraded == KEYWORD_ONLY and not request.fallback:
            away = f"{self.vectors_name} is away"
            raise StoreError(f"{away}, and keyword-only answers were not allowed")
        hits = newest_first(answer.hits) if request.sort == "date" else answer.hits
        return replace(answer, hits=tuple(hits), filters=_as_text(request.filters))

    def _searched(self, request: SearchRequest) -> Answer:
        """Return the answer of the indexes, with what agents wrote since they were made."""
        from memory_assets.recall.search.unread import unread_hits

        unread = unread_hits(self, request)
        try:
            answer = self._searcher.search(request)
        except NotFound:
            if not unread:
                raise
            answer = Answer(request.query, request.mode, Coverage(0, 0, 0, 0, 0, ""), ())
        known = {hit.id for hit in answer.hits}
        hits = [*answer.hits, *(hit for hit in unread if hit.id not in known)]
        if len(hits) == len(known):
            return answer
        if request.query.strip():
            hits.sort(key=lambda hit: (-hit.score, hit.id))
        else:
            hits = newest_first(hits)
        return replace(answer, hits=tuple(hits[: request.n]))

    def ask(self, asked: Arguments) -> dict[str, Any]:
        """Return the answer to any of `requests/questions.py` that only reads, as its JSON
        (docs/contracts.md).

        Raises:
            MemoryAssetsError: it cannot be answered; the message says what to do.
        """
        match asked:
            case SearchRequest():
                return self.search(asked).to_dict()
            case ShowRequest():
                rows = self.show(asked)
                if not asked.records:
                    return {"id": asked.id, "rows": rows}
                from memory_assets.recall.records import record_page

                heads = [{**row, "passages": []} if "passages" in row else row for row in rows]
                return {"id": asked.id, "rows": heads, **record_page(self, asked)}
            case TimelineRequest():
                from memory_assets.recall.timeline import timeline

                return timeline(self, asked).to_dict()
            case SessionRequest():
                from memory_assets.recall.session import session_overview

                return session_overview(self, asked.session)
            case CrossQueryRequest():
                from memory_assets.recall.cross_query import cross_query

                return cross_query(self, asked).to_dict()
            case BlameRequest():
                from memory_assets.recall.blame import blame

                return asdict(blame(self, asked.target, Path.cwd()))
            case ResumeRequest():
                from memory_assets.recall.resume import resume_command

                return resume_command(self, asked.session)
            case HowRequest():
                from memory_assets.recall.tool_runs import how

                return how(self, asked)
            case FrictionRequest():
                from memory_assets.recall.friction import friction

                return friction(self, asked)
            case RestoreRequest():
                from memory_assets.recall.restore import restore

                return restore(self, asked, Path.cwd())
            case AuditRequest():
                return self._audit(asked.id)
            case StatusRequest():
                return self.status()
        raise TypeError(f"no question: {type(asked).__name__}")

    def _audit(self, any_id: str) -> dict[str, Any]:
        from memory_assets.recall.audit import audit
        from memory_assets.recall.tag_holders import is_tag, tag_holders

        if is_tag(any_id):
            return tag_holders(self.lake, any_id)
        embeds = self.settings.embedder != NO_EMBEDDER
        return audit(self, any_id, load_install_key(), embeds=embeds).to_dict()

    def titles(self, sessions: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the titles of sessions (project and id) by id, of those that have one."""
        return self._searcher.titles(sessions)

    def corpus(self, kind: str) -> Corpus:
        """Return all rows of a kind in the keyword index; see `Searcher.corpus`."""
        return self._searcher.corpus(kind)

    def short_ids(self, sessions: Iterable[str]) -> dict[str, str]:
        """Return a beginning of each session's id that no other session has."""
        from memory_assets.recall.names import short_id

        return {session_id: short_id(self, session_id) for session_id in set(sessions)}

    @cached_property
    def conversations(self) -> Conversations:
        """The sessions, to be read as conversations."""
        from memory_assets.recall.conversation import Conversations

        return Conversations(self)

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self)

    def _named(self, request: SearchRequest) -> SearchRequest:
        """Return the request with the names of its project and session written out; raise for
        one that is unknown or not unique."""
        if (project := self.project_named(request.project)) != request.project:
            request = replace(request, project=project)
        if request.session is None:
            return self._with_pasted_id(request)
        if self.catalog.products.project_of(request.session) is not None:
            return request
        from memory_assets.recall.names import session_named

        try:
            return replace(request, session=session_named(self, request.session)[1])
        except NotFound as error:
            raise UnknownName(str(error)) from None

    def _with_pasted_id(self, request: SearchRequest) -> SearchRequest:
        """Return the request for the session of the id that is its whole query, or as it is where
        others than sessions are searched, or another project."""
        if not may_be_id(request.query.strip()) or not _OF_SESSIONS.issuperset(request.kinds):
            return request
        from memory_assets.recall.names import session_named

        with suppress(ConfigurationError, NotFound):
            project, session = session_named(self, request.query)
            if request.project in (None, project):
                return replace(request, query="", session=session)
        return request

    def status(self) -> dict[str, Any]:
        """Return sizes, counts, versions and what is held back. Does not open Chroma."""
        return overview.status(self.settings)

    def show(self, any_id: str | ShowRequest, around: int = 0) -> list[dict[str, Any]]:
        """Return the rows of one id with their full text; see `recall.show.show`."""
        from memory_assets.recall.show import show

        asked = ShowRequest(any_id, around) if isinstance(any_id, str) else any_id
        return show(self, asked.id, asked.around)


def _as_text(filters: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else str(value)
        for name, value in filters.items()
    }


def open_memory(settings: Settings | None = None) -> Memory:
    """Return the memory of these settings, or of those from the environment.

    Raises:
        ConfigurationError: a setting is wrong.
        NotFound: nothing was ever ingested there.
    """
    memory = Memory(settings or load_settings())
    require_memory(memory.data_dir)
    return memory
