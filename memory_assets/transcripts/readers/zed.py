"""Zed's own agent: `threads/threads.db` in the editor's data directory, one row a thread.

A row holds the whole thread as JSON, plain or compressed, and is rewritten whole. Versions 0.1 and
0.2 have messages with segments, 0.3 has them by author. Agents that run in Zed (Claude Code, Gemini
CLI) keep their own transcripts.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from memory_assets.errors import DamagedTranscript, printable
from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.blocks import ANSWER, CallBlock, Shapes, TextBlock
from memory_assets.transcripts.content import MAX_RATIO, zstd_library
from memory_assets.transcripts.databases import LENGTH, Database
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import (
    entries_of,
    from_json,
    object_field,
    objects_in,
    text_field,
)
from memory_assets.transcripts.ids import safe_id, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import STATE, UNKNOWN_TYPE, Frame, Outcome, tokens_in
from memory_assets.transcripts.stored import (
    DatabaseReader,
    Member,
    Sessions,
    StoredParser,
    session_rows,
)
from memory_assets.transcripts.texts import IMAGE, content_text, render_value
from memory_assets.transcripts.times import nanoseconds
from memory_assets.transcripts.unread import Columns

_PLACES = (Path("threads.db"), Path("threads", "threads.db"))
_COUNTS = (
    *("input_tokens", "output_tokens", "cache_read_input_tokens"),
    "cache_creation_input_tokens",
)
_MOST_BYTES = 512 << 20
_DAMAGED = "the thread cannot be unpacked"
_RESTORE = "open it in Zed, or delete it there; it is read again when it changes"


class ZedParser(StoredParser):
    """The state of reading one thread."""

    shapes: ClassVar[Shapes] = {
        "Text": ANSWER,
        "Thinking": TextBlock("thinking", "text"),
        "ToolUse": CallBlock("id", "name", "input"),
        "RedactedThinking": None,
    }

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        body: Any = row.get("body")
        if body == "Resume":
            return STATE
        if not isinstance(body, dict):
            return self._unknown("message")
        user = object_field(body, "User")
        own = user.get("id") or str(row.get("number"))
        frame = self._frame(row, own, body.get("created_at"))
        tokens = tokens_in(object_field(row, "usage"), _COUNTS)
        return self._with_tokens(self._said_in(body, user, frame), frame, tokens)

    def _said_in(self, body: JsonObject, user: JsonObject, frame: Frame) -> Outcome:
        if user:
            return self._from_user(objects_in(user.get("content")), frame)
        if agent := object_field(body, "Agent"):
            return self._from_agent(agent, frame)
        if "segments" in body:
            return self._segments(body, frame)
        self._report.see_unknown("message/" + type_name(next(iter(body), "")))
        return UNKNOWN_TYPE

    def _from_user(self, content: list[JsonObject], frame: Frame) -> list[Record]:
        texts: list[str] = []
        records: list[Record] = []
        for block in content:
            if "Text" in block:
                texts.append(text_field(block, "Text"))
            elif "Image" in block:
                texts.append(IMAGE)
            elif mention := object_field(block, "Mention"):
                records += self._attached(frame, render_value(mention.get("uri") or ""))
        return self._user_text(frame, "\n".join(texts)) + records

    def _from_agent(self, agent: JsonObject, frame: Frame) -> list[Record]:
        records: list[Record] = []
        results = object_field(agent, "tool_results")
        for block in objects_in(agent.get("content")):
            for kind, value in block.items():
                fields = value if isinstance(value, dict) else {"text": value}
                given = fields.get("input") or fields.get("raw_input")
                records += self._block({**fields, "type": kind, "input": given}, frame)
                if isinstance(result := results.get(text_field(fields, "id")), dict):
                    records.append(self._result(safe_id(fields["id"]), result, frame))
        return records

    def _segments(self, body: JsonObject, frame: Frame) -> Outcome:
        """Return the records of a message of versions 0.1 and 0.2."""
        role = text_field(body, "role")
        segments = objects_in(body.get("segments"))
        text = "".join(
            text_field(segment, "text") for segment in segments if segment.get("type") == "text"
        )
        if role == "user":
            return self._user_text(frame, text)
        if role != "assistant":
            return self._records(frame, "system", text, "injected")
        records: list[Record] = []
        for segment in segments:
            if segment.get("type") == "thinking":
                records += self._records(frame, "thinking", text_field(segment, "text"))
        records += self._records(frame, "assistant_text", text)
        for use in objects_in(body.get("tool_uses")):
            call_id = safe_id(use.get("id"))
            records.append(self._call(frame, call_id, text_field(use, "name"), use.get("input")))
        for result in objects_in(body.get("tool_results")):
            records.append(self._result(safe_id(result.get("tool_use_id")), result, frame))
        return records

    def _result(self, call_id: str, result: JsonObject, frame: Frame) -> Record:
        content: Any = result.get("content")
        if isinstance(content, dict):
            content = content.get("Text") or content
        text = content_text(content) if isinstance(content, str | list) else render_value(content)
        return self._answered(frame, call_id, text, is_error=result.get("is_error") is True)


class ZedReader(DatabaseReader):
    """Reads the threads of Zed's own agent."""

    agent = "zed"
    version = "4"
    session = ZedParser
    left_out = (
        LeftOut("beside.initial_project_snapshot", "the project when the thread began"),
        LeftOut("message.body.User.content.Mention", "a file that was named; its name is kept"),
        LeftOut("message.body.*.context", "files that were attached"),
        LeftOut("message.body.Agent.content.Thinking.signature", "signature of a thought"),
        LeftOut("message.body.Agent.content.RedactedThinking", "encrypted thoughts"),
        LeftOut("message.body.Agent.content.ToolUse.raw_input", "a call as it came in"),
        LeftOut("message.body.Agent.tool_results.*.output", "a result as it is shown"),
        LeftOut("message.body.Agent.tool_results", "a result as it is shown", opens="{"),
    )
    sessions = Sessions(
        "threads", "id summary data_type data folder_paths created_at", "updated_at"
    )
    known = (
        Columns("threads", "id summary updated_at created_at data_type data parent_id"),
        Columns("threads", "folder_paths folder_paths_order"),
    )

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the database in a directory."""
        return (root / place for place in _PLACES)

    def members(self, database: Database, path: Path) -> Iterator[Member]:
        """Yield the threads."""
        database.require("threads", "id data_type data")
        sizes = database.rows(f"SELECT id, {LENGTH}(data) AS size FROM threads")
        size_of = {row["id"]: row["size"] or 0 for row in sizes}
        names = "id updated_at parent_id folder_paths"
        for row in database.select("threads", names, "ORDER BY id"):
            at, above = nanoseconds(row["updated_at"]), str(row["parent_id"] or "")
            yield Member(str(row["id"]), _folder_of(row), size_of[row["id"]] + 1, at, above)

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a thread, a line a message."""
        thread = _thread(facts, source.path)
        model = text_field(object_field(thread, "model"), "model")
        known = {"id": facts["id"], "cwd": _folder_of(facts), "start": facts["created_at"]}
        known |= {"version": thread.get("version"), "model": model}
        rows = _rows(thread.pop("messages", None), object_field(thread, "request_token_usage"))
        yield from session_rows(known, {"title": facts["summary"]}, rows, thread)


def _folder_of(row: JsonObject) -> str:
    """Return the first directory of a thread."""
    return str(row["folder_paths"] or "").partition("\n")[0]


def _rows(messages: Any, usage: JsonObject) -> Iterator[JsonObject]:
    asked = ""
    for number, message in enumerate(entries_of(messages)):
        line = {"type": "message", "number": number, "body": message}
        body = message if isinstance(message, dict) else {}
        asked = text_field(object_field(body, "User"), "id") or asked
        if "Agent" in body and asked:  # its request is counted by what it answers
            line["usage"] = usage.get(asked)
            asked = ""
        yield line


def _thread(row: JsonObject, path: Path) -> JsonObject:
    data = row["data"]
    if row["data_type"] == "zstd":
        data = _unpacked(data if isinstance(data, bytes) else b"", path)
    thread = from_json(data)
    if not isinstance(thread, dict):
        raise DamagedTranscript(f"{printable(path)}: {_DAMAGED}", _DAMAGED, _RESTORE)
    return thread


def _unpacked(data: bytes, path: Path) -> bytes:
    zstd = zstd_library()
    most = min(_MOST_BYTES, MAX_RATIO * len(data))
    try:
        with zstd.open(io.BytesIO(data)) as file:
            unpacked: bytes = file.read(most + 1)
    except (zstd.ZstdError, EOFError, ValueError):
        unpacked = b""
    if not unpacked or len(unpacked) > most:
        raise DamagedTranscript(f"{printable(path)}: {_DAMAGED}", _DAMAGED, _RESTORE)
    return unpacked
