"""What agents ask of their own memory, answered from the journal: for MCP, HTTP and the command
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
"""Tokens of a context that tell of the project's last sessions: an agent pays for them each time
it begins."""
_LATER = "It waits, and is stored with the next that can be"
_ANSWERING, _EXCERPT = 3, 200
"""Turns that answer the latest message, and characters of each."""


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

    def answer(self, asked: Arguments) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            MemoryAssetsError: it cannot be answered; nothing was stored, or the message says that
                this is not known.
        """
        with self._lock:
            match asked:
                case RememberRequest() | AppendRequest():
                    return self._written(asked)
                case PinRequest():
                    return self._pin(asked)
                case HideRequest():
                    return self._hide(asked)
                case MemoriesRequest():
                    return self._memories(asked)
                case ContextRequest():
                    return self._context(asked)
        raise TypeError(f"no request of an agent: {type(asked).__name__}")

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
        """Store what was said while the memory could not be written, and return how much it was.
        What is refused now, since another turn has its place, say, is dropped, and the log says so.

        Raises:
            StoreError: it still cannot be written; what is left waits.
        """
        from memory_assets.pipeline.agent_memory.calls import send_waiting

        return send_waiting(self._settings, self._send)

    def _send(self, entry: Mapping[str, Any]) -> None:
        try:
            if "role" in entry:
                self._append(AppendRequest(**entry))
            else:
                self._remember(RememberRequest(**entry), waited=True)
        except ConfigurationError as error:
            _LOG.warning("What waited for the memory was dropped: %s", error)

    def _written(self, asked: RememberRequest | AppendRequest) -> dict[str, Any]:
        """Store what is said after what waits; let it wait where the memory cannot be written."""
        try:
            self.send_waiting()
            if isinstance(asked, AppendRequest):
                return self._append(asked)
            return self._remember(asked)
        except StoreError as error:
            from memory_assets.pipeline.agent_memory.calls import let_wait
            from memory_assets.recall.names import project_from_anywhere

            self._opened = None
            project = project_from_anywhere(asked.project) if asked.project else None
            return let_wait(self._settings, {**asdict(asked), "project": project}, error)

    def _remember(self, asked: RememberRequest, *, waited: bool = False) -> dict[str, Any]:
        written = self._calls.gateway(self._project(asked.project)).write_memory(
            asked.text,
            asked.type,
            asked.confidence,
            asked.ts or datetime.now(UTC),
            asked.conversation,
            entities=asked.entities or (),
            tags=asked.tags or (),
            source=asked.source,
            waited=waited,
        )
        return asdict(written)

    def _pin(self, asked: PinRequest) -> dict[str, Any]:
        """Pin a session or a turn, or remove what is pinned. Without a note what is there stays.

        Raises:
            NotFound: there is no such session or turn, or nothing is pinned there.
            ConfigurationError: the session is hidden.
        """
        from memory_assets.recall.names import id_named
        from memory_assets.recall.pins import usual_note

        engines = self._calls.engines
        of = id_named(engines, asked.id)
        session_id, place = of.parts.session_id, of.place
        memory = self._calls.gateway(of.project)
        memory_id = memory.pin_id(place)
        done = {"pinned": not asked.remove, "id": place, "memory_id": memory_id}
        if asked.remove:
            if not engines.journal.delete_memories([memory_id]):
                raise NotFound(f"{place} is not pinned")
            return {**done, "text": ""}
        note = usual_note(engines, of)
        for earlier in engines.journal.memories({"memory_id": memory_id}):
            note = earlier.text
        pinned = memory.pin(place, session_id, asked.text.strip() or note)
        return {**done, "text": str(pinned.text)}

    def _hide(self, asked: HideRequest) -> dict[str, Any]:
        from memory_assets.recall.pins import hide_session

        session_id = hide_session(self._calls.engines, asked.session, again=asked.remove)
        return {"hidden": not asked.remove, "session_id": session_id}

    def _append(self, asked: AppendRequest) -> dict[str, Any]:
        appended = self._calls.gateway(self._project(asked.project)).append_history(
            asked.conversation,
            asked.role,
            asked.text,
            asked.turn_index,
            asked.ts or datetime.now(UTC),
            message_id=asked.message_id or "",
            channel=asked.channel or "",
        )
        return {**asdict(appended), "waits": ""}

    def _memories(self, asked: MemoriesRequest) -> dict[str, Any]:
        from memory_assets.recall.agent_rows import memories

        return {"memories": memories(self._calls.engines, asked)}

    def _context(self, asked: ContextRequest) -> dict[str, Any]:
        from memory_assets.pipeline.agent_memory.calls import has_memory, has_sessions

        settings = self._settings
        budget = asked.budget or settings.context_token_budget
        nothing = {"text": "", "tokens": 0, "dropped": [], "cut": False, "budget": budget}
        if settings.context == "off":
            return nothing
        engines = self._calls.engines
        remembers = has_memory(settings)
        about: list[str] = []
        if asked.project and (remembers or engines.has_catalog):
            from memory_assets.recall.names import projects_read_about

            about = projects_read_about(engines, asked.project)
        with_sessions = [project for project in about if has_sessions(engines, project)]
        work: list[str] = []
        if with_sessions and not asked.conversation:
            work = self._work_before(with_sessions, (asked.latest or "").strip())
        if not (work or remembers):
            return nothing
        if len(about) > 1:
            from memory_assets.serving.answer_lines import as_spoken, project_notes

            of = as_spoken({"project": ", ".join(about)}, engines.catalog.spoken_projects)
            work = [*project_notes(of), *work]
        return self._calls.context(
            about,
            asked.conversation or "",
            asked.latest or "",
            asked.budget,
            framed_under(engines.install_key),
            work,
            self._short,
        )

    def _short(self, any_id: str) -> str:
        """Return the shortest id that is taken for a session or turn."""
        from memory_assets.recall.names import parse_id, shortened

        return shortened(self._calls.engines, any_id, parse_id(any_id).session_id)

    def _work_before(self, projects: Sequence[str], latest: str) -> list[str]:
        """Return lines on the last sessions of projects, within `_WORK_TOKENS`: the turns that
        answer the latest message first, if there is one."""
        if self._ends and not latest:
            from memory_assets.recall.rows import import_arrow_alone

            import_arrow_alone()
        from memory_assets.recall.sessions.recent_work import recent_work

        engines = self._calls.engines
        count = engines.tokens.count_tokens
        answering = self._answering(projects, latest) if latest else []
        while answering and count("\n".join(answering)) > _WORK_TOKENS:
            answering.pop()
        return answering + recent_work(
            engines,
            projects,
            lambda lines: count("\n".join([*answering, *lines])) <= _WORK_TOKENS,
            latest,
        )

    def _answering(self, projects: Sequence[str], latest: str) -> list[str]:
        """Return lines with the turns of projects' sessions that probably answer a message; none
        where nothing can be searched."""
        from memory_assets.recall import Memory
        from memory_assets.recall.names import shortened
        from memory_assets.recall.search.excerpts import excerpt
        from memory_assets.requests.search import SearchRequest

        try:
            memory = Memory(self._settings)
            candidates = [
                hit
                for project in projects
                for hit in memory.search(
                    SearchRequest.given(
                        "mcp", {"query": latest, "project": project, "n": _ANSWERING}
                    )
                ).hits
                if not hit.weak
            ]
            hits = sorted(candidates, key=lambda hit: -hit.score)[:_ANSWERING]
        except (NotFound, StoreError):
            return []
        lines = []
        for hit in hits:
            short = shortened(memory, hit.turn_id, str(hit.metadata["session_id"]))
            day = str(hit.metadata.get("timestamp") or "")[:10]
            said = excerpt(str(hit.text), latest, _EXCERPT, hit.prompt_length)
            lines.append(f"- {day} {said} [{short}]")
            if hit.later is not None:
                lines.append(f"  {hit.later.how} later: {hit.later.text}")
        return ["On this message, from earlier sessions:", *lines] if lines else []


def framed_under(key: bytes) -> Callable[[Sequence[str]], str]:
    """Return what puts lines into a frame whose number is a keyed hash of them: the same for the
    same lines, and unknown to who wrote them."""

    def framed(lines: Sequence[str]) -> str:
        said = "\n".join(lines).encode("utf-8", "surrogatepass")
        return Frame(blake2b(said, key=key, digest_size=8).hexdigest()).lines(lines)

    return framed


def in_words(name: str, answer: Mapping[str, Any]) -> str:
    """Return the answer of a tool (`remember`, `append_history`, `context`) as text."""
    if name == "context":
        return answer["text"] or "Nothing is remembered yet."
    if name == "append_history" and answer["waits"]:
        return f"{_LATER}: {answer['waits']}"
    if name == "append_history":
        return f"{'Kept as' if answer['new'] else 'It is kept already as'} {answer['message_id']}."
    if answer["outcome"] == "waits":
        return f"{_LATER}: {answer['reason']}"
    if answer["outcome"] == "refused":
        return f"Not kept: {answer['reason']}."
    others = zip(answer["contradicts"], answer["differences"], strict=True)
    notes = (f" It says otherwise than {other}, which stays: {why}." for other, why in others)
    return f"{answer['outcome'].capitalize()}: {answer['memory_id']}.{''.join(notes)}"
