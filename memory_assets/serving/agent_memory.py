"""Answer the requests of agents to their own memory from the journal, and link sessions to commits:
for MCP, HTTP and the command line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property, partial
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound, StoreError
from memory_assets.http.endpoint_use import is_endpoint
from memory_assets.requests.agent_memory import (
    AppendRequest,
    ContextRequest,
    HideRequest,
    MemoriesRequest,
    PinRequest,
    RememberRequest,
)
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.questions import LinkRequest, UnlinkRequest
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.visible_text import Frame
from memory_assets.settings import Settings

if TYPE_CHECKING:
    from memory_assets.pipeline.agent_memory.gateway import AgentCalls
    from memory_assets.recall import Memory

_LOG = logging.getLogger(__name__)
_WORK_TOKENS = 300
"""Tokens of a context for the project's last sessions: an agent pays for them each time it
begins."""
_WAITS_NOTE = "It waits, and is stored with the next that can be"
_ANSWERING_HEADING = "On this message, from earlier sessions:"
_ANSWERING_TURNS = 3
"""Turns that answer the latest message."""
_EXCERPT = 200
"""Characters of each of them."""


class AgentMemory:
    """Answers the requests of agents, one at a time. Stores and redactor are opened when they are
    first needed.

    `memory` is the memory of a server that answers other questions, too, whose model is used.
    `busy_seconds` is how long to wait for a lock of another process. `exits_after` says that the
    process exits after its answer, so that what only later answers use is not imported.
    """

    def __init__(
        self,
        settings: Settings,
        memory: OpenedMemory | None = None,
        *,
        busy_seconds: float = 30.0,
        exits_after: bool = False,
    ) -> None:
        self._settings = settings
        self._of_server = memory
        self._exits_after = exits_after
        self._busy_seconds = busy_seconds
        self._opened: AgentCalls | None = None
        self._lock = Lock()

    def answer(self, request: Arguments) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            MemoryAssetsError: the request cannot be answered. Nothing was stored, unless the
                message says that this is not known.
        """
        with self._lock:
            match request:
                case RememberRequest() | AppendRequest():
                    return self._store_after_waiting(request)
                case PinRequest():
                    return self._pin(request)
                case HideRequest():
                    return self._hide(request)
                case MemoriesRequest():
                    return self._memories(request)
                case ContextRequest():
                    return self._context(request)
        raise TypeError(f"no request of an agent: {type(request).__name__}")

    @property
    def _calls(self) -> AgentCalls:
        from memory_assets.pipeline.agent_memory.gateway import AgentCalls

        if self._opened is None:
            self._opened = AgentCalls(self._settings, self._busy_seconds)
            local = self._opened.engines.embeds and not is_endpoint(self._settings.embedder)
            if self._of_server is not None and local:
                with suppress(NotFound):  # nothing was ever ingested
                    self._opened.engines.embedder = self._of_server.get().embedder
        return self._opened

    @cached_property
    def _memory(self) -> Memory:
        """What searches for a context: its model and index are loaded once.

        Raises:
            NotFound: nothing was ever ingested.
        """
        return (self._of_server or OpenedMemory(self._settings)).get()

    def _project(self, text: str | None) -> str:
        if not text:
            return ""
        from memory_assets.recall.names import project_written_about

        return project_written_about(self._calls.engines, text)

    def send_waiting(self) -> int:
        """Store turns and memories that came while the memory was locked, and return their number.
        An entry that is refused now, for example because another turn has its index, is dropped
        with a warning in the log.

        Raises:
            StoreError: the memory still cannot be written; the remaining entries wait.
        """
        from memory_assets.pipeline.agent_memory.gateway import send_waiting

        return send_waiting(self._settings, self._store_waiting)

    def _store_waiting(self, entry: Mapping[str, Any]) -> None:
        try:
            if "role" in entry:
                self._append(AppendRequest(**entry))
            else:
                self._remember(RememberRequest(**entry), waited=True)
        except ConfigurationError as error:
            _LOG.warning("What waited for the memory was dropped: %s", error)

    def _store_after_waiting(self, request: RememberRequest | AppendRequest) -> dict[str, Any]:
        """Store waiting entries and then this one; if the memory cannot be written, let it wait."""
        try:
            self.send_waiting()
            if isinstance(request, AppendRequest):
                return self._append(request)
            return self._remember(request)
        except StoreError as error:
            from memory_assets.pipeline.agent_memory.gateway import let_wait
            from memory_assets.recall.names import project_from_anywhere

            self._opened = None
            project = project_from_anywhere(request.project) if request.project else None
            return let_wait(self._settings, {**asdict(request), "project": project}, error)

    def _remember(self, request: RememberRequest, *, waited: bool = False) -> dict[str, Any]:
        written = self._calls.gateway(self._project(request.project)).write_memory(
            request.text,
            request.type,
            request.confidence,
            request.ts or datetime.now(UTC),
            request.conversation,
            entities=request.entities or (),
            tags=request.tags or (),
            source=request.source,
            waited=waited,
        )
        return asdict(written)

    def _pin(self, request: PinRequest) -> dict[str, Any]:
        """Pin a session or a turn, or remove what is pinned. Without a note what is there stays.

        Raises:
            NotFound: there is no such session or turn, or nothing is pinned there.
            ConfigurationError: the session is hidden.
        """
        from memory_assets.recall.names import resolve_id
        from memory_assets.recall.pins import usual_note

        engines = self._calls.engines
        target = resolve_id(engines, request.id)
        place = target.place
        memory = self._calls.gateway(target.project)
        memory_id = memory.pin_id(place)
        answer = {"pinned": not request.remove, "id": place, "memory_id": memory_id}
        if request.remove:
            if not engines.journal.delete_memories([memory_id]):
                raise NotFound(f"{place} is not pinned")
            return {**answer, "text": ""}
        note = usual_note(engines, target)
        for earlier in engines.journal.memories({"memory_id": memory_id}):
            note = earlier.text
        pinned = memory.pin(place, target.parts.session_id, request.text.strip() or note)
        return {**answer, "text": str(pinned.text)}

    def _hide(self, request: HideRequest) -> dict[str, Any]:
        from memory_assets.recall.pins import hide_session

        session_id = hide_session(self._calls.engines, request.session, again=request.remove)
        return {"hidden": not request.remove, "session_id": session_id}

    def _append(self, request: AppendRequest) -> dict[str, Any]:
        appended = self._calls.gateway(self._project(request.project)).append_history(
            request.conversation,
            request.role,
            request.text,
            request.turn_index,
            request.ts or datetime.now(UTC),
            message_id=request.message_id or "",
            channel=request.channel or "",
        )
        return {**asdict(appended), "waits": ""}

    def _memories(self, request: MemoriesRequest) -> dict[str, Any]:
        from memory_assets.recall.agent_rows import memories

        return {"memories": memories(self._calls.engines, request)}

    def _context(self, request: ContextRequest) -> dict[str, Any]:
        from memory_assets.pipeline.agent_memory.gateway import has_memory, has_sessions

        settings = self._settings
        budget = request.budget or settings.context_token_budget
        empty_answer = {"text": "", "tokens": 0, "dropped": [], "cut": False, "budget": budget}
        if settings.context == "off":
            return empty_answer
        engines = self._calls.engines
        has_memories = has_memory(settings)
        projects: list[str] = []
        if request.project and (has_memories or engines.has_catalog):
            from memory_assets.recall.names import projects_read_about

            projects = projects_read_about(engines, request.project)
        with_sessions = [project for project in projects if has_sessions(engines, project)]
        work: list[str] = []
        if with_sessions and not request.conversation:
            work = self._recent_work_lines(with_sessions, (request.latest or "").strip())
        if not (work or has_memories):
            return empty_answer
        if len(projects) > 1:
            from memory_assets.serving.answer_lines import project_notes, with_spoken_names

            spoken = with_spoken_names(
                {"project": ", ".join(projects)}, engines.catalog.spoken_projects
            )
            work = [*project_notes(spoken), *work]
        return self._calls.context(
            projects,
            request.conversation or "",
            request.latest or "",
            request.budget,
            keyed_framer(engines.install_key),
            work,
            self._short,
        )

    def _short(self, any_id: str) -> str:
        """Return the shortest id that is taken for a session or turn."""
        from memory_assets.recall.names import parse_id, shortest_id

        return shortest_id(self._calls.engines, any_id, parse_id(any_id).session_id)

    def _recent_work_lines(self, projects: Sequence[str], latest: str) -> list[str]:
        """Return lines on the last sessions of projects, within `_WORK_TOKENS`; the turns that
        answer the latest message come first."""
        if self._exits_after and not latest:
            from memory_assets.recall.rows import import_arrow_alone

            import_arrow_alone()
        from memory_assets.recall.sessions.recent_work import recent_work

        engines = self._calls.engines
        count = engines.tokens.count_tokens
        answering = list[str]()
        for turn in self._answering_turns(projects, latest) if latest else []:
            longer = [*(answering or [_ANSWERING_HEADING]), *turn]
            if count("\n".join(longer)) > _WORK_TOKENS:
                break
            answering = longer
        return answering + recent_work(
            engines,
            projects,
            lambda lines: count("\n".join([*answering, *lines])) <= _WORK_TOKENS,
            latest,
        )

    def _answering_turns(self, projects: Sequence[str], latest: str) -> list[list[str]]:
        """Return the turns of projects' sessions that probably answer a message, best first, each
        as its lines; none if nothing can be searched."""
        from memory_assets.recall.names import shortest_id
        from memory_assets.recall.search.excerpts import excerpt
        from memory_assets.requests.search import SearchRequest

        try:
            candidates = [
                hit
                for project in projects
                for hit in self._memory.search(
                    SearchRequest.from_values(
                        "mcp", {"query": latest, "project": project, "n": _ANSWERING_TURNS}
                    )
                ).hits
                if not hit.weak
            ]
            hits = sorted(candidates, key=lambda hit: -hit.score)[:_ANSWERING_TURNS]
        except (NotFound, StoreError):
            return []
        turns = []
        for hit in hits:
            short = shortest_id(self._memory, hit.turn_id, str(hit.metadata["session_id"]))
            day = str(hit.metadata.get("timestamp") or "")[:10]
            text = excerpt(str(hit.text), latest, _EXCERPT, hit.prompt_length)
            later = hit.later
            lines = [f"  {later.how} later: {later.text}"] if later is not None else []
            turns.append([f"- {day} {text} [{short}]", *lines])
        return turns


def keyed_framer(key: bytes) -> Callable[[Sequence[str]], str]:
    """Return a function that puts lines into a frame whose number is a keyed hash of them: the same
    for the same lines, and unknown to the author of the lines."""

    def frame(lines: Sequence[str]) -> str:
        content = "\n".join(lines).encode("utf-8", "surrogatepass")
        return Frame(blake2b(content, key=key, digest_size=8).hexdigest()).lines(lines)

    return frame


def answer_in_words(name: str, answer: Mapping[str, Any]) -> str:
    """Return the answer of a tool (`remember`, `append_history`, `context`) as text."""
    if name == "context":
        return answer["text"] or "Nothing is remembered yet."
    if name == "append_history" and answer["waits"]:
        return f"{_WAITS_NOTE}: {answer['waits']}"
    if name == "append_history":
        return f"{'Kept as' if answer['new'] else 'It is kept already as'} {answer['message_id']}."
    if answer["outcome"] == "waits":
        return f"{_WAITS_NOTE}: {answer['reason']}"
    if answer["outcome"] == "refused":
        return f"Not kept: {answer['reason']}."
    others = zip(answer["contradicts"], answer["differences"], strict=True)
    notes = (f" It says otherwise than {other}, which stays: {why}." for other, why in others)
    return f"{answer['outcome'].capitalize()}: {answer['memory_id']}.{''.join(notes)}"


def link_to_commit(memory: Memory, request: LinkRequest) -> dict[str, Any]:
    """Link a session to a commit of the repository of the current directory, or of the session's
    own, and return the link.

    Raises:
        ConfigurationError, NotFound: the session or the commit is not known, or not unique.
    """
    from memory_assets.pipeline.tables.commit_links import link_commit

    return _changed_link(memory, request, partial(link_commit, force=request.force))


def unlink_from_commit(memory: Memory, request: UnlinkRequest) -> dict[str, Any]:
    """Remove the link between a session and a commit, and return what was removed.

    Raises:
        ConfigurationError, NotFound: the session or the link is not known, or not unique.
    """
    from memory_assets.pipeline.tables.commit_links import unlink_commit

    return _changed_link(memory, request, unlink_commit)


def _changed_link(
    memory: Memory, request: LinkRequest | UnlinkRequest, change: Callable[..., Any]
) -> dict[str, Any]:
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.recall.files.names import directory_of
    from memory_assets.recall.names import resolve_session

    _, session_id = resolve_session(memory, request.session)
    components = Components(memory.settings)
    link = change(components, session_id, request.commit, directory_of(request.commit))
    return {name: getattr(link, name) for name in LinkRequest.answers}
