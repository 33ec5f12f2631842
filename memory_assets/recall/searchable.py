"""One memory that can be searched: what answers any other question is given this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound, StoreError, UnknownName
from memory_assets.paths import NO_COLLECTIONS
from memory_assets.recall import names
from memory_assets.recall.rows import rows_of
from memory_assets.recall.search.answer import (
    Answer,
    Coverage,
    Hit,
    joined_answer,
    keep_passing,
    newest_first,
    session_of,
    with_held_back,
)
from memory_assets.requests.search import SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.settings import Settings
from memory_assets.stores.stores import Stores
from memory_assets.stores.workspaces import Workspace, Workspaces

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.recall.search.search import Searcher
    from memory_assets.stores.vector_store import VectorStore

_OF_SESSIONS = {kind.name for kind in SEARCH_KINDS.values() if kind.archive == "redacted_records"}


class Searchable(Stores):
    """One memory, to be searched. What searches alone need (ranking, the model, Chroma) loads with
    the first of them."""

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
            from memory_assets.recall.search.redacted_queries import endpoint_for_queries

            return endpoint_for_queries(self.settings)
        return load_embedder(self.settings.embedder)

    @property
    def vectors(self) -> VectorStore:
        """The connection to the collections. It never creates an empty store: `memory ingest`
        recognises a lost store by its absence, and rebuilds it."""
        if self.settings.vector_backend == "none":
            raise NotFound(NO_COLLECTIONS)
        if self.vectors_url is None and not self.has_chroma_files:
            raise NotFound(
                f"the collections are not in {self.chroma_dir}; run `memory ingest`, which "
                "makes them from the lake"
            )
        return super().vectors

    def project_named(self, text: str | None) -> str | None:
        """Return the project that a person means, None for None; see `names.resolve_project`."""
        return None if text is None else names.resolve_project(self.catalog, text)

    def projects_named(self, text: str | None) -> list[str] | None:
        """Return the projects that a person means, None for None; see `names.resolve_projects`."""
        return None if text is None else names.resolve_projects(self.catalog, text)

    def projects_with_worktrees(self, text: str | None) -> list[str] | None:
        """Return the projects that a person means, and those of the working trees of their
        repositories; None for None."""
        named = self.projects_named(text)
        return None if named is None else names.with_worktrees(self.catalog, named)

    def workspace_named(self, text: str) -> Workspace:
        """Return the workspace that a person means by its name or a path in it. One of a pulled
        memory, whose directory is elsewhere, has a name only.

        Raises:
            UnknownName: there is none; lists those on record.
        """
        named = Workspace(text, Path())
        if named.partition in self.catalog.projects():
            return named
        return Workspaces(self.data_dir).named(text)

    def search(self, query: str | SearchRequest = "", **arguments: Any) -> Answer:
        """Return the best hits, best first, for a `SearchRequest`, or for a query with the
        request's other arguments.

        Raises:
            ConfigurationError: the request makes no sense; says what would.
            NotFound: nothing was ever ingested, or nothing is left to search in.
            StoreError: what the mode asks for cannot be used.
        """
        request = query if isinstance(query, SearchRequest) else SearchRequest(query, **arguments)
        answer = self.search_own(request)
        return replace(answer, hits=tuple(self.with_later(answer.hits, request)))

    def with_later(self, hits: Sequence[Hit], request: SearchRequest) -> Sequence[Hit]:
        """Return hits with what came of them later, but those of an exact search; of other sessions
        that are hidden it is not told."""
        if request.literal is not None:
            return hits
        hidden = frozenset() if request.hidden else self.hidden.all()
        ids = {session_id for _, session_id in hidden}
        return [
            replace(hit, later=None)
            if hit.later is not None
            and (session := names.parse_id(hit.later.turn_id).session_id) in ids
            and session != hit.metadata["session_id"]
            else hit
            for hit in self.searcher.with_later(hits, request.query)
        ]

    def search_own(self, request: SearchRequest) -> Answer:
        """Return the best hits of this memory, without what came of them later. Hidden sessions
        have no hit, unless they are asked for."""
        hidden = self.hidden.all()
        if request.hidden or request.session is not None or not hidden:
            return self._search_with_hidden(request)
        return keep_passing(
            self._search_with_hidden, request, lambda hit: session_of(hit) not in hidden
        )

    def _search_with_hidden(self, request: SearchRequest) -> Answer:
        if request.workspace:
            partition = self.workspace_named(request.workspace).partition
            within = replace(request, workspace=None, project=partition)
            answer = self._search_projects(within, [partition])
            return replace(answer, filters=_as_text(request.filters))
        projects = self.projects_with_worktrees(request.project) or []
        if projects:
            request = replace(request, project=projects[0])
        request = self._with_full_session_id(request, projects)
        answer = self._search_projects(request, projects)
        if len(projects) < 2:
            return answer
        return replace(answer, filters={**answer.filters, "project": ", ".join(projects)})

    def _search_projects(self, request: SearchRequest, projects: Sequence[str]) -> Answer:
        """Return the best hits of projects, [] for all."""
        if request.literal is not None:
            from memory_assets.recall.search.exact import find_exact

            answer = find_exact(self, self.settings, request, projects)
            return replace(answer, filters=_as_text(request.filters))
        answers = []
        for project in projects or (None,):
            project_request = request if project is None else replace(request, project=project)
            answer = self._search_with_coverage(project_request)
            answers.append(self._only_recent(project_request, answer) if request.recent else answer)
        whole = answers[0] if len(answers) == 1 else joined_answer(answers, request.n)
        if request.sort == "date" and len(answers) > 1:
            whole = replace(whole, hits=tuple(newest_first(whole.hits)))
        return whole

    def _only_recent(self, request: SearchRequest, answer: Answer) -> Answer:
        """Return the best hits of the last days instead, and how many of an answer's are older."""
        begin = datetime.now(UTC) - timedelta(days=self.settings.recent_days)
        from memory_assets.recall.search.hybrid import within_window

        recent = within_window(answer, begin)
        if not recent.older or (request.until is not None and request.until <= begin):
            return recent
        hits = self._search_with_coverage(replace(request, since=begin)).hits
        return replace(recent, hits=hits)

    def _search_with_coverage(self, request: SearchRequest) -> Answer:
        if request.selects_observations:
            from memory_assets.recall.search.observations import find_observations

            answer = find_observations(self, request, lambda: self.embedder)
        else:
            answer = self._search_with_unread(request)
        coverage = with_held_back(self.catalog, answer.coverage, request)
        answer = replace(answer, coverage=coverage)
        from memory_assets.recall.search.search import KEYWORD_ONLY

        if answer.degraded == KEYWORD_ONLY and not request.fallback:
            away = f"{self.vectors_name} is away"
            raise StoreError(f"{away}, and keyword-only answers were not allowed")
        hits = newest_first(answer.hits) if request.sort == "date" else answer.hits
        return replace(answer, hits=tuple(hits), filters=_as_text(request.filters))

    def _search_with_unread(self, request: SearchRequest) -> Answer:
        """Return the answer of the indexes, with what agents wrote since they were made."""
        from memory_assets.recall.search.unread import unread_hits

        unread = unread_hits(self, request)
        try:
            answer = self.searcher.search(request)
        except NotFound:
            if not unread:
                raise
            answer = Answer(request.query, request.mode, Coverage(0, 0, 0, 0, 0, ""), ())
        indexed_ids = {hit.id for hit in answer.hits}
        hits = [*answer.hits, *(hit for hit in unread if hit.id not in indexed_ids)]
        if len(hits) == len(indexed_ids):
            return answer
        if request.query.strip():
            hits.sort(key=lambda hit: (-hit.score, hit.id))
        else:
            hits = newest_first(hits)
        return replace(answer, hits=tuple(hits[: request.n]))

    def titles(self, sessions: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the titles of sessions (project and id) by id, of those that have one."""
        wanted = set(sessions)
        if titles := self.searcher.titles(wanted):
            return titles
        from memory_assets.stores.lake.schemas import SESSION_SUMMARIES

        rows = (  # the index of words was not opened for what is shown
            row
            for project, session in wanted
            for row in rows_of(self.lake, SESSION_SUMMARIES, project, session)
        )
        return {str(row["session_id"]): str(row["title"]) for row in rows if row["title"]}

    @cached_property
    def searcher(self) -> Searcher:
        """What ranks the rows of the keyword index."""
        from memory_assets.recall.search.search import Searcher

        return Searcher(self, self.settings, lambda: self.embedder)

    def _with_full_session_id(
        self, request: SearchRequest, projects: Sequence[str]
    ) -> SearchRequest:
        """Return the request with the name of its session written out; raise for one that is
        unknown or not unique."""
        if request.session is None:
            return self._search_pasted_id(request, projects)
        if self.catalog.products.project_of(request.session) is not None:
            return request
        try:
            return replace(request, session=names.resolve_session(self, request.session)[1])
        except NotFound as error:
            raise UnknownName(str(error)) from None

    def _search_pasted_id(self, request: SearchRequest, projects: Sequence[str]) -> SearchRequest:
        """Return the request for the session of the id that is its whole query, or as it is where
        others than sessions are searched, or another project."""
        if not names.looks_like_id(request.query.strip()) or not _OF_SESSIONS.issuperset(
            request.kinds
        ):
            return request
        with suppress(ConfigurationError, NotFound):
            project, session = names.resolve_session(self, request.query)
            if not projects or project in projects:
                return replace(request, query="", session=session)
        return request


def _as_text(filters: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else str(value)
        for name, value in filters.items()
    }
