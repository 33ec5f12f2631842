"""Answer the requests of agents to their own memory from the journal: for MCP, HTTP and the command
line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound, StoreError
from memory_assets.requests.agent_memory import (
    AppendRequest,
    ContextRequest,
    HideRequest,
    MemoriesRequest,
    PinRequest,
    RememberRequest,
)
from memory_assets.requests.arguments import Arguments
from memory_assets.serving.visible_text import Frame
from memory_assets.settings import Settings

if TYPE_CHECKING:
    from memory_assets.pipeline.agent_memory.calls import AgentCalls

_LOG = logging.getLogger(__name__)
_WORK_TOKENS = 300
"""Tokens of a context for the project's last sessions: an agent pays for them each time it
begins."""
_WAITS_NOTE = "It waits, and is stored with the next that can be"
_ANSWERING_TURNS = 3
"""Turns that answer the latest message."""
_EXCERPT = 200
"""Characters of each."""


class AgentMemory:
    """Answers the requests of agents, one at a time. Stores and redactor are opened when they are
    first needed; `busy_seconds` is how long a lock of another process is awaited, `ends` whether
    the process ends with its answer."""

    def __init__(
        self, settings: Settings, *, busy_seconds: float = 30.0, ends: bool = False
    ) -> None:
        self._settings = settings
        self._ends = ends
        self._busy_seconds = busy_seconds
        self._opened: AgentCalls | None = None
        self._lock = Lock()

    def answer(self, request: Arguments) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            MemoryAssetsError: it cannot be answered; nothing was stored, or the message says that
                this is not known.
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
        from memory_assets.pipeline.agent_memory.calls import AgentCalls

        if self._opened is None:
            self._opened = AgentCalls(self._settings, self._busy_seconds)
        return self._opened

    def _project(self, text: str | None) -> str:
        if not text:
            return ""
        from memory_assets.recall.names import project_written_about

        return project_written_about(self._calls.engines, text)

    def send_waiting(self) -> int:
        """Store turns and memories that came while the memory was locked, and return their number.
        What is refused now, since another turn has its place, say, is dropped, and the log says so.

        Raises:
            StoreError: it still cannot be written; what is left waits.
        """
        from memory_assets.pipeline.agent_memory.calls import send_waiting

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
            from memory_assets.pipeline.agent_memory.calls import let_wait
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
        of = resolve_id(engines, request.id)
        session_id, place = of.parts.session_id, of.place
        memory = self._calls.gateway(of.project)
        memory_id = memory.pin_id(place)
        done = {"pinned": not request.remove, "id": place, "memory_id": memory_id}
        if request.remove:
            if not engines.journal.delete_memories([memory_id]):
                raise NotFound(f"{place} is not pinned")
            return {**done, "text": ""}
        note = usual_note(engines, of)
        for earlier in engines.journal.memories({"memory_id": memory_id}):
            note = earlier.text
        pinned = memory.pin(place, session_id, request.text.strip() or note)
        return {**done, "text": str(pinned.text)}

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
        from memory_assets.pipeline.agent_memory.calls import has_memory, has_sessions

        settings = self._settings
        budget = request.budget or settings.context_token_budget
        nothing = {"text": "", "tokens": 0, "dropped": [], "cut": False, "budget": budget}
        if settings.context == "off":
            return nothing
        engines = self._calls.engines
        remembers = has_memory(settings)
        about: list[str] = []
        if request.project and (remembers or engines.has_catalog):
            from memory_assets.recall.names import projects_read_about

            about = projects_read_about(engines, request.project)
        with_sessions = [project for project in about if has_sessions(engines, project)]
        work: list[str] = []
        if with_sessions and not request.conversation:
            work = self._recent_work_lines(with_sessions, (request.latest or "").strip())
        if not (work or remembers):
            return nothing
        if len(about) > 1:
            from memory_assets.serving.answer_lines import as_spoken, project_notes

            of = as_spoken({"project": ", ".join(about)}, engines.catalog.spoken_projects)
            work = [*project_notes(of), *work]
        return self._calls.context(
            about,
            request.conversation or "",
            request.latest or "",
            request.budget,
            framed_under(engines.install_key),
            work,
            self._short,
        )

    def _short(self, any_id: str) -> str:
        """Return the shortest id that is taken for a session or turn."""
        from memory_assets.recall.names import parse_id, shortest_id

        return shortest_id(self._calls.engines, any_id, parse_id(any_id).session_id)

    def _recent_work_lines(self, projects: Sequence[str], latest: str) -> list[str]:
        """Return lines on the last sessions of projects, within `_WORK_TOKENS`: the turns that
        answer the latest message first, if there is one."""
        if self._ends and not latest:
            from memory_assets.recall.rows import import_arrow_alone

            import_arrow_alone()
        from memory_assets.recall.sessions.recent_work import recent_work

        engines = self._calls.engines
        count = engines.tokens.count_tokens
        answering = self._answering_turns(projects, latest) if latest else []
        while answering and count("\n".join(answering)) > _WORK_TOKENS:
            answering.pop()
        return answering + recent_work(
            engines,
            projects,
            lambda lines: count("\n".join([*answering, *lines])) <= _WORK_TOKENS,
            latest,
        )

    def _answering_turns(self, projects: Sequence[str], latest: str) -> list[str]:
        """Return lines with the turns of projects' sessions that probably answer a message; none
        where nothing can be searched."""
        from memory_assets.recall import Memory
        from memory_assets.recall.names import shortest_id
        from memory_assets.recall.search.excerpts import excerpt
        from memory_assets.requests.search import SearchRequest

        try:
            memory = Memory(self._settings)
            candidates = [
                hit
                for project in projects
                for hit in memory.search(
                    SearchRequest.given(
                        "mcp", {"query": latest, "project": project, "n": _ANSWERING_TURNS}
                    )
                ).hits
                if not hit.weak
            ]
            hits = sorted(candidates, key=lambda hit: -hit.score)[:_ANSWERING_TURNS]
        except (NotFound, StoreError):
            return []
        lines = []
        for hit in hits:
            short = shortest_id(memory, hit.turn_id, str(hit.metadata["session_id"]))
            day = str(hit.metadata.get("timestamp") or "")[:10]
            said = excerpt(str(hit.text), latest, _EXCERPT, hit.prompt_length)
            lines.append(f"- {day} {said} [{short}]")
            if hit.later is not None:
                lines.append(f"  {hit.later.how} later: {hit.later.text}")
        return ["On this message, from earlier sessions:", *lines] if lines else []


def framed_under(key: bytes) -> Callable[[Sequence[str]], str]:
    """Return a function that puts lines into a frame whose number is a keyed hash of them: the same
    for the same lines, and unknown to the author of the lines."""

    def framed(lines: Sequence[str]) -> str:
        said = "\n".join(lines).encode("utf-8", "surrogatepass")
        return Frame(blake2b(said, key=key, digest_size=8).hexdigest()).lines(lines)

    return framed


def in_words(name: str, answer: Mapping[str, Any]) -> str:
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
