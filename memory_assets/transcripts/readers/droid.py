"""Factory Droid: `~/.factory/sessions/<directory>/<session id>.jsonl`.

The first line is the session's header: id, title, directory, and the session that called it. The
model stands in `<session id>.settings.json` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.models import Record
from memory_assets.paths import project_of
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.blocks import BlockSession
from memory_assets.transcripts.discovery import Identified, Walk
from memory_assets.transcripts.fields import (
    object_field,
    parse_time,
    record_id,
    safe_id,
    safe_name,
    text_field,
    type_name,
)
from memory_assets.transcripts.json_documents import object_beside
from memory_assets.transcripts.lines import JsonObject, head_objects, read_head
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import REPEATED_ID, UNKNOWN_TYPE, Frame, Outcome

_HEADER = "session_start"
_TASK = "# Task Tool Invocation"
"""How title and prompt begin where an agent's tool began the session."""


class DroidReader(Reader):
    """Reads Factory Droid's sessions."""

    agent = "droid"
    version = "1"
    left_out = (
        LeftOut("message.message.user.content.text.text.<system-reminder>", "v2", "reminders"),
        LeftOut("message.message.assistant.content.thinking.signature", "", "a signature"),
        LeftOut("todo_state", "", "the agent's list of tasks; its calls are kept"),
    )

    def sniff(self, head: bytes) -> bool:
        """Return whether any line is a session's header."""
        return any(entry.get("type") == _HEADER for entry in head_objects(head))

    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return the header's id, or the file's name; of a session that a tool began, the id of the
        session that called it, and its own."""
        header = next((each for each in head_objects(head) if each.get("type") == _HEADER), {})
        own = safe_id(header.get("id")) or safe_id(path.name.removesuffix(".jsonl"))
        caller = safe_id(header.get("callingSessionId"))
        is_task = bool(caller) or text_field(header, "title").startswith(_TASK)
        return (caller or own, own) if is_task else (own, None)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions below `~/.factory`, or a directory of sessions."""
        walk = Walk(self.agent, note)
        found = walk.root(root / "sessions", root)
        if found is not None:
            yield from walk.sources(walk.transcripts(found, 1), known, self._identified)

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> DroidSession:
        """Return the state of reading a session."""
        return DroidSession(source, report)

    def _identified(self, path: Path) -> Identified:
        head = read_head(path)
        header = next((each for each in head_objects(head) if each.get("type") == _HEADER), {})
        cwd = text_field(header, "cwd")
        return project_of(cwd), *self.identify(path, head), cwd


class DroidSession(BlockSession):
    """The state of reading one file."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._cwd = self._version = ""
        self._model = _model_beside(source.path)

    def take(self, entry: JsonObject, start: int, end: int) -> list[Record]:
        """Return the `Record`s that this entry gives."""
        name = type_name(entry.get("type"))
        message = object_field(entry, "message")
        self._report.see_type(name)
        frame = self._frame(entry, message, start, end)
        outcome: Outcome
        if self._met(frame.record_uuid):
            outcome = REPEATED_ID
        elif name == "message":
            outcome = self._message(message, frame)
        elif name == _HEADER:
            outcome = self._header(entry, frame)
        elif name == "compaction_state":
            summary = text_field(object_field(entry, "summary"), "body")
            text = text_field(entry, "summaryText") or summary
            outcome = self._one(frame, "system", "summary", text, "compact-summary")
        elif name == "todo_state":
            outcome = "session-state"
        else:
            self._report.see_unknown(name)
            outcome = UNKNOWN_TYPE
        return self._resolve(outcome)

    def _frame(self, entry: JsonObject, message: JsonObject, start: int, end: int) -> Frame:
        timestamp = parse_time(entry.get("timestamp"))
        self._report.see_time(timestamp)
        entry_id = None if entry.get("type") == _HEADER else entry.get("id")
        return Frame(
            byte_start=start,
            byte_end=end,
            record_uuid=record_id("droid", self._source.session_id, entry_id, start),
            timestamp=timestamp,
            parent_uuid=safe_id(entry.get("parentId")) or None,
            cwd=self._cwd,
            model=self._model if message.get("role") == "assistant" else "",
            agent_version=self._version,
            is_sidechain=self._source.agent_id is not None,
            content=message or entry,
        )

    def _header(self, header: JsonObject, frame: Frame) -> Outcome:
        self._report.see_session(safe_id(header.get("id")))
        self._cwd = frame.cwd = text_field(header, "cwd")
        self._report.see_cwd(self._cwd)
        version = header.get("version")
        self._version = f"v{version}" if isinstance(version, int) and 0 < version < 100 else ""
        self._report.see_version(self._version)
        title = text_field(header, "sessionTitle") or text_field(header, "title")
        if frame.is_sidechain or not title:
            return "session-header"
        return self._one(frame, "system", "title", title, "session-name")

    def _message(self, message: JsonObject, frame: Frame) -> Outcome:
        role, content = text_field(message, "role"), message.get("content")
        if role == "user":
            return self._from_user(content, frame)
        if role == "assistant":
            return self._from_assistant(content, frame)
        self._report.see_unknown(f"message/{type_name(role)}")
        return UNKNOWN_TYPE


def _model_beside(path: Path) -> str:
    """Return the model in the settings beside a session, "" if there are none."""
    return safe_name(text_field(object_beside(path.with_suffix(".settings.json")), "model"))
