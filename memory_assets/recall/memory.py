"""`open_memory()`: the memory as one object, for the CLI, MCP and HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from memory_assets.errors import NotFound, UnknownName
from memory_assets.install_key import load_install_key
from memory_assets.recall.names import short_id
from memory_assets.recall.searchable import Searchable
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.questions import (
    AuditRequest,
    BlameRequest,
    FrictionRequest,
    HowRequest,
    RestoreRequest,
    ResumeRequest,
    SessionRequest,
    SessionsRequest,
    ShowRequest,
    StatusRequest,
    TimelineRequest,
    UsageRequest,
)
from memory_assets.requests.search import CrossQueryRequest, SearchRequest
from memory_assets.settings import Settings, load_settings
from memory_assets.status.status import status as status_of
from memory_assets.stores.stores import require_memory

if TYPE_CHECKING:
    from memory_assets.recall.over import Others
    from memory_assets.recall.search.answer import Answer
    from memory_assets.recall.sessions.conversation import Conversations

_Result = TypeVar("_Result")


class Memory(Searchable):
    """Answers every question to one memory."""

    def ask(self, request: Arguments) -> dict[str, Any]:
        """Return the answer to any of `requests/questions.py` that only reads, as its JSON
        (docs/contracts.md).

        Raises:
            MemoryAssetsError: it cannot be answered; the message says what to do.
        """
        match request:
            case SearchRequest():
                return self.search(request).to_dict()
            case ShowRequest():
                return self.first_with(request.id, lambda memory: memory.shown(request))
            case SessionRequest():
                from memory_assets.recall.sessions.session import session_overview

                return self.first_with(
                    request.session, lambda memory: session_overview(memory, request.session)
                )
            case TimelineRequest() | SessionsRequest() | ResumeRequest():
                return self._ask_sessions(request)
            case UsageRequest():
                from memory_assets.recall.sessions.usage import usage

                return usage(self, request)
            case CrossQueryRequest():
                from memory_assets.recall.cross_query.cross_query import cross_query

                return cross_query(self, request)
            case BlameRequest() | RestoreRequest():
                return self._ask_files(request)
            case HowRequest():
                from memory_assets.recall.sessions.tool_runs import successful_runs

                return successful_runs(self, request)
            case FrictionRequest():
                from memory_assets.recall.sessions.friction import friction

                return friction(self, request)
            case AuditRequest():
                return self._audit(request.id)
            case StatusRequest():
                return self.status()
        raise TypeError(f"no question: {type(request).__name__}")

    def search(self, query: str | SearchRequest = "", **arguments: Any) -> Answer:
        """Return the best hits of this memory, or of those that the request is `over`; see
        `Searchable.search`."""
        request = query if isinstance(query, SearchRequest) else SearchRequest(query, **arguments)
        return self._others.search(request) if request.over else super().search(request)

    def shown(self, request: ShowRequest) -> dict[str, Any]:
        """Return the rows of an id, and a page of the records behind it if they are asked for."""
        if request.workspace:
            start = f"{self.workspace_named(request.workspace).name}::"
            request = replace(request, id=start + request.id.removeprefix(start), workspace=None)
        try:
            rows = self.show(request.id, request.around)
        except NotFound:
            if not request.records:
                raise
            rows = []  # what is held back may have records
        if not request.records:
            return {"id": request.id, "rows": rows}
        from memory_assets.recall.sessions.records import record_page

        heads = [{**row, "passages": []} if "passages" in row else row for row in rows]
        return {"id": request.id, "rows": heads, **record_page(self, request)}

    def titles(self, sessions: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the titles of sessions by id, of pulled memories, too."""
        wanted = set(sessions)
        titles = super().titles(wanted)
        project_of = self.catalog.products.project_of
        elsewhere = {key for key in wanted if key[1] not in titles and not project_of(key[1])}
        for memory in self._others.pulled() if elsewhere else ():
            titles |= memory.titles(elsewhere)
        return titles

    def first_with(self, any_id: str, ask: Callable[[Memory], _Result]) -> _Result:
        """Return the answer of this memory, or of the first pulled one that has what an id names;
        raise what this one does if none has it, or it was forgotten here."""
        try:
            return ask(self)
        except (NotFound, UnknownName):
            for memory in self._others.pulled():
                with suppress(NotFound, UnknownName):
                    if not self._others.is_forgotten(memory, any_id):
                        return ask(memory)
            raise

    @cached_property
    def copy_of(self) -> str:
        """The address of the shard that this is a copy of; "" of a machine's own memory."""
        from memory_assets.stores.shard.replicas import replica_in

        replica = replica_in(self.data_dir)
        return replica.url if replica else ""

    @cached_property
    def _others(self) -> Others[Memory]:
        from memory_assets.recall.over import Others

        return Others(self)

    def _ask_sessions(
        self, request: TimelineRequest | SessionsRequest | ResumeRequest
    ) -> dict[str, Any]:
        match request:
            case TimelineRequest():
                from memory_assets.recall.sessions.timeline import timeline

                return timeline(self, request).to_dict()
            case SessionsRequest():
                from memory_assets.recall.sessions.listing import list_sessions

                return list_sessions(self, request)
            case ResumeRequest():
                from memory_assets.recall.sessions.resume import resume_command

                return resume_command(self, request.session or self._last_session(request.project))

    def _last_session(self, project: str | None) -> str:
        """Return the id of the session that ended last in a project; in the current directory's,
        or in any where it is in none, if it is None."""
        from memory_assets.recall.sessions.listing import list_sessions

        with suppress(UnknownName):
            project = project or self.project_named(".")
        for session in list_sessions(self, SessionsRequest(project=project, n=1))["sessions"]:
            return str(session["session_id"])
        raise NotFound("no session in memory; run `memory ingest` first")

    def _ask_files(self, request: BlameRequest | RestoreRequest) -> dict[str, Any]:
        from memory_assets.recall.files.names import directory_of

        if isinstance(request, BlameRequest):
            from memory_assets.recall.files.blame import blame

            return blame(self, request.target, directory_of(request.target))
        from memory_assets.recall.files.restore import restore

        return restore(self, request, directory_of(request.file))

    def _audit(self, any_id: str) -> dict[str, Any]:
        from memory_assets.recall.audit.audit import audit, is_tag, tag_holders

        if is_tag(any_id):
            return tag_holders(self.lake, any_id)
        return audit(self, any_id, load_install_key(), self.settings.no_collections).to_dict()

    def short_ids(self, sessions: Iterable[str]) -> dict[str, str]:
        """Return a beginning of each session's id that no other session has."""
        return {session_id: short_id(self, session_id) for session_id in set(sessions)}

    @cached_property
    def conversations(self) -> Conversations:
        """The sessions, to be read as conversations."""
        from memory_assets.recall.sessions.conversation import Conversations

        return Conversations(self)

    def status(self) -> dict[str, Any]:
        """Return sizes, counts, versions and what is held back. Does not open Chroma."""
        return status_of(self.settings)

    def show(self, any_id: str, around: int = 0) -> list[dict[str, Any]]:
        """Return the rows of one id with their full text; see `recall.show.show`."""
        from memory_assets.recall.show import show

        return show(self, any_id, around)


def open_memory(settings: Settings | None = None) -> Memory:
    """Return the memory of these settings, or of those from the environment.

    Raises:
        ConfigurationError: a setting is wrong.
        NotFound: nothing was ever ingested there.
    """
    memory = Memory(settings or load_settings())
    require_memory(memory.data_dir)
    return memory
