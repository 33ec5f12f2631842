"""Qwen Code: `~/.qwen/projects/<directory>/chats/<session id>.jsonl`, a tree of records.

A record is `{uuid, parentUuid, sessionId, timestamp, type, cwd, version, message{role, parts[]}}`.
Records of type `system` have a `subtype` and a `systemPayload`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_assets.models import ABANDONED, Record, Tokens
from memory_assets.paths import project_slug
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import PERSON, UNKNOWN, Origin
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.blocks import PartsParser, parts_of, text_of_parts
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.fields import count_field, object_field, text_field
from memory_assets.transcripts.ids import safe_id, text_hash, type_name
from memory_assets.transcripts.lines import (
    JsonObject,
    abandoned_entries,
    first_object,
    head_objects,
)
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import REPEATED_ID, STATE, Frame, Outcome, tokens_with_cached
from memory_assets.transcripts.texts import render_value

_FOLDER = "chats"
_HUMAN = "mid_turn_user_message"
_COMPRESSED = "compressed-history"
_TELEMETRY = "telemetry"
_DROPPED = {
    "chat_compression": _COMPRESSED,
    "ui_telemetry": _TELEMETRY,
    **dict.fromkeys(
        (
            *("attribution_snapshot", "slash_command", "at_command", "rewind"),
            *("file_history_snapshot", "goal_set", "goal_cleared", "goal_completed"),
            *("agent_started", "agent_completed", "agent_failed"),
        ),
        STATE,
    ),
}
"""Subtypes of system records that say nothing new, and why."""


class QwenReader(Reader):
    """Reads Qwen Code's sessions."""

    agent = "qwen"
    version = "3"
    left_out = (
        LeftOut("", "a conversation as it was compressed", dropped=_COMPRESSED),
        LeftOut("", "figures of calls and answers, which are kept", dropped=_TELEMETRY),
        LeftOut("", "settings and commands of the program", dropped=STATE),
        LeftOut("tool_result.toolCallResult", "a result as it is shown"),
    )

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the id that the records name, else the file's name, and the first directory that
        they name; without one the project is named after the folder."""
        ids = (safe_id(record.get("sessionId")) for record in head_objects(head))
        own = next(filter(None, ids), safe_id(path.name.removesuffix(".jsonl")))
        first = first_object(head, lambda record: bool(text_field(record, "cwd")))
        directory = text_field(first, "cwd")
        project = "" if directory else project_slug(path.parent.parent.name)
        return Identity(own, None, directory, project)

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the chats of each project, from `~/.qwen` or its `projects`."""
        for folder in walk.in_projects(walk.root(root / "projects", root), _FOLDER):
            yield from walk.transcripts(folder, 1)

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> QwenParser:
        """Return the state of reading a chat, abandoned branches included."""
        gone = abandoned_entries(source.path, end, own="uuid", above="parentUuid")
        return QwenParser(source, report, gone)


class QwenParser(PartsParser):
    """The state of reading one file."""

    def __init__(
        self, source: Source, report: ReadReport, abandoned: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(source, report)
        self._abandoned = abandoned

    def take(self, record: JsonObject) -> list[Record]:
        """Return the `Record`s that this record gives."""
        name, subtype = type_name(record.get("type")), text_field(record, "subtype")
        frame = self._frame_of(record)
        is_abandoned = text_hash(text_field(record, "uuid")) in self._abandoned
        self._branch = ABANDONED if is_abandoned else ""
        outcome: Outcome
        if self._met(frame.record_uuid):
            outcome = REPEATED_ID
        elif name == "user" or subtype == _HUMAN:
            outcome = self._from_user(record, subtype, frame)
        elif name == "assistant":
            records = self._from_model(object_field(record, "message").get("parts"), frame)
            tokens = _tokens(object_field(record, "usageMetadata"))
            outcome = self._with_tokens(records, frame, tokens)
        elif name == "tool_result":
            outcome = self._tool_results(record, frame)
        elif name == "system":
            outcome = self._system(subtype, record, frame)
        else:
            outcome = self._unknown(name)
        return self._resolve(outcome)

    def _frame_of(self, record: JsonObject) -> Frame:
        self._cwd = self._version = ""
        cwd, version = text_field(record, "cwd"), text_field(record, "version")
        self._begin(session=record.get("sessionId"), cwd=cwd, version=version)
        self._git_branch = text_field(record, "gitBranch")
        message = object_field(record, "message")
        return self._frame(
            [message.get("parts"), record.get("systemPayload")],
            record.get("uuid"),
            record.get("timestamp"),
            text_field(record, "model"),
            record.get("parentUuid"),
        )

    def _from_user(self, record: JsonObject, subtype: str, frame: Frame) -> Outcome:
        parts: Any = object_field(record, "message").get("parts")
        if parts is None:
            payload = object_field(record, "systemPayload")
            parts = next(
                (payload[key] for key in ("text", "content", "message") if key in payload), ""
            )
        by = text_field(record, "provenance")
        origin = PERSON if subtype == _HUMAN or by == "real_user" else UNKNOWN
        if by and origin is UNKNOWN:
            origin = Origin("machine", "injected")
        prompts = self._user_text(frame, text_of_parts(parts), origin)
        return prompts + self._answers(parts, frame)

    def _from_model(self, parts: Any, frame: Frame) -> list[Record]:
        records: list[Record] = []
        for part in parts_of(parts):
            if called := object_field(part, "functionCall"):
                call_id, name = safe_id(called.get("id")), text_field(called, "name")
                records.append(self._call(frame, call_id, name, called.get("args")))
            elif part.get("thought") is True:
                text = text_field(part, "text")
                records += self._records(frame, "thinking", text)
            else:
                records += self._records(frame, "assistant_text", text_of_parts([part]))
        return records

    def _tool_results(self, record: JsonObject, frame: Frame) -> Outcome:
        status = text_field(object_field(record, "toolCallResult"), "status")
        failed = status not in ("", "success")
        return self._answers(object_field(record, "message").get("parts"), frame, failed=failed)

    def _system(self, subtype: str, record: JsonObject, frame: Frame) -> Outcome:
        payload = object_field(record, "systemPayload")
        if subtype == "custom_title":
            title = text_field(payload, "title") or text_field(payload, "customTitle")
            return self._records(frame, "title", title, "custom-title")
        if subtype == "parent_session":
            ids = (safe_id(payload.get(key)) for key in ("parentSessionId", "sessionId"))
            self._report.see_parent(next(filter(None, ids), None))
            return STATE
        if subtype in ("notification", "cron"):
            text = text_of_parts(object_field(record, "message").get("parts"))
            text = text or (render_value(payload) if payload else "")
            return self._records(frame, "system", text, "notice")
        if subtype in _DROPPED:
            return _DROPPED[subtype]
        return self._unknown("system", subtype)


def _tokens(usage: JsonObject) -> Tokens:
    """Return what an answer took; what was cached is among the prompt, and all that is not the
    prompt was made."""
    given, cached = (
        count_field(usage, "promptTokenCount"),
        count_field(usage, "cachedContentTokenCount"),
    )
    generated = count_field(usage, "candidatesTokenCount") + count_field(
        usage, "thoughtsTokenCount"
    )
    total = count_field(usage, "totalTokenCount")
    output = total - given if total > given else generated
    return tokens_with_cached(given, output, cached)
