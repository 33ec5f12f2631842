"""Factory Droid: `~/.factory/sessions/<directory>/<session id>.jsonl`.

The first line is the session's header: id, title, directory, and the session that called it. The
model stands in `<session id>.settings.json` beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.blocks import BlockParser
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import safe_id, safe_name, type_name
from memory_assets.transcripts.json_documents import object_beside
from memory_assets.transcripts.lines import JsonObject, first_object
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import REPEATED_ID, STATE, Frame, Outcome

_HEADER = "session_start"
_TASK = "# Task Tool Invocation"
"""How title and prompt begin where an agent's tool began the session."""


class DroidParser(BlockParser):
    """The state of reading one file."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._model_beside = _model_beside(source.path)

    def take(self, entry: JsonObject) -> list[Record]:
        """Return the `Record`s that this entry gives."""
        name = type_name(entry.get("type"))
        message = object_field(entry, "message")
        frame = self._frame_of(entry, message)
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
            outcome = self._records(frame, "summary", text, "compact-summary")
        elif name == "todo_state":
            outcome = STATE
        else:
            outcome = self._unknown(name)
        return self._resolve(outcome)

    def _frame_of(self, entry: JsonObject, message: JsonObject) -> Frame:
        own = None if _is_header(entry) else entry.get("id")
        model = self._model_beside if message.get("role") == "assistant" else ""
        at, parent = entry.get("timestamp"), entry.get("parentId")
        return self._frame(message or entry, own, at, model, parent)

    def _header(self, header: JsonObject, frame: Frame) -> Outcome:
        version = header.get("version")
        named = f"v{version}" if isinstance(version, int) and 0 < version < 100 else ""
        cwd = frame.cwd = text_field(header, "cwd")
        reason = self._begin(session=header.get("id"), cwd=cwd, version=named)
        title = text_field(header, "sessionTitle") or text_field(header, "title")
        if frame.is_sidechain or not title:
            return reason
        return self._records(frame, "title", title, "session-name")

    def _message(self, message: JsonObject, frame: Frame) -> Outcome:
        role, content = text_field(message, "role"), message.get("content")
        if role == "user":
            return self._from_user(content, frame)
        if role == "assistant":
            return self._from_assistant(content, frame)
        return self._unknown("message", role)


class DroidReader(Reader):
    """Reads Factory Droid's sessions."""

    agent = "droid"
    version = "2"
    parser = DroidParser
    left_out = (
        LeftOut("message.message.user.content.text.text.<system-reminder>", "reminders"),
        LeftOut("message.message.assistant.content.thinking.signature", "a signature"),
        LeftOut("todo_state", "the agent's list of tasks; its calls are kept"),
    )

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the header's id, or the file's name; of a session that a tool began, the id of the
        session that called it, and its own. The header names the directory, too."""
        header = first_object(head, _is_header)
        own = safe_id(header.get("id")) or safe_id(path.name.removesuffix(".jsonl"))
        caller = safe_id(header.get("callingSessionId"))
        is_task = bool(caller) or text_field(header, "title").startswith(_TASK)
        directory = text_field(header, "cwd")
        return Identity(caller or own if is_task else own, own if is_task else None, directory)

    def files(self, walk: Walk, root: Path) -> Iterable[File]:
        """Return the sessions below `~/.factory`, or a directory of sessions."""
        return walk.transcripts(walk.root(root / "sessions", root), 1)


def _is_header(entry: JsonObject) -> bool:
    return entry.get("type") == _HEADER


def _model_beside(path: Path) -> str:
    """Return the model in the settings beside a session, "" if there are none."""
    return safe_name(text_field(object_beside(path.with_suffix(".settings.json")), "model"))
