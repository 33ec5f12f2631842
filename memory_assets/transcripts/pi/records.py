"""Pi's entries, one JSON object at a time, turned into `Record`s.

Versions 2 and 3 hold a tree in one file (`transcripts/branches.py`). All entries are kept in file
order; what is said on an abandoned branch has the subtype `ABANDONED`; what tools did there was
done. A fork copies entries into a new file and names the old one; a subagent's fork repeats what
its session has, and is read from where it began.

`record_uuid` is derived from the entry's id (8 hex digits, unique per file only) and its
timestamp, and in version 1, which has no ids, from timestamp, role and content: copies
made by forks keep all of these.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import datetime
from typing import Any

from memory_assets.models import ABANDONED, Record, Tokens
from memory_assets.transcripts.authorship import authored
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.fields import (
    content_text,
    count_field,
    derived_id,
    mark,
    object_field,
    parse_time,
    render_input,
    render_value,
    safe_id,
    safe_name,
    text_field,
    type_name,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import (
    REPEATED_ID,
    UNKNOWN_TYPE,
    Call,
    Frame,
    Outcome,
    Session,
)

COPIED = "copied-history"
NOISE = frozenset({"model_change", "thinking_level_change", "label", "custom"})
SUMMARIES = {
    "compaction": "compact-summary",
    "branch_summary": "branch-summary",
    "compactionSummary": "compact-summary",
    "branchSummary": "branch-summary",
}
INJECTED_ROLES = frozenset({"custom", "hookMessage", "system", "developer"})
_KNOWN_PARENTS = 4_096
_SESSION_IN_PATH = re.compile(r"_([0-9A-Za-z-]+)\.jsonl$")
_SKILL = re.compile(r'<skill name="([^"\n]*)"[^>]*>.*?</skill>\s*', re.DOTALL)
_FILE = re.compile(r'<file name="([^"\n]*)">.*?</file>', re.DOTALL)


class PiSession(Session):
    """The state of reading one file."""

    def __init__(
        self, source: Source, report: ReadReport, abandoned: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(source, report)
        self._abandoned = abandoned
        self._is_abandoned = False
        self._uuids: OrderedDict[int, str] = OrderedDict()
        self._started: datetime | None = None
        self._cwd = self._version = ""
        self._name = mark("")

    def take(self, entry: JsonObject, start: int, end: int) -> list[Record]:
        """Return the `Record`s that this entry gives."""
        name = type_name(entry.get("type"))
        message = object_field(entry, "message")
        role = text_field(message, "role")
        self._report.see_type(f"{name}/{type_name(role)}" if role else name)
        outcome: Outcome
        if name in NOISE:
            outcome = "session-state"
        elif name == "session":
            outcome = self._header(entry)
        else:
            frame = self._frame(entry, message, start, end)
            self._is_abandoned = mark(text_field(entry, "id")) in self._abandoned
            self._report.copied += self._is_copied(frame)
            if self._met(frame.record_uuid):
                outcome = REPEATED_ID
            elif frame.is_sidechain and self._is_copied(frame):
                outcome = COPIED
            elif name == "message":
                outcome = self._message(role, message, frame)
            else:
                outcome = self._other(name, entry, frame)
        return self._resolve(outcome)

    @property
    def _branch(self) -> str:
        return ABANDONED if self._is_abandoned else ""

    def _header(self, header: JsonObject) -> Outcome:
        report = self._report
        report.see_session(safe_id(header.get("id")))
        if self._started is not None or self._cwd:
            return "session-header"
        self._started = parse_time(header.get("timestamp"))
        report.see_time(self._started)
        self._cwd = text_field(header, "cwd")
        report.see_cwd(self._cwd)
        version = header.get("version")
        self._version = f"v{version}" if isinstance(version, int) and 0 < version < 100 else "v1"
        report.see_version(self._version)
        origin = text_field(header, "parentSession") or text_field(header, "branchedFrom")
        if origin:
            found = _SESSION_IN_PATH.search(origin)
            report.see_parent(safe_id(found.group(1) if found else origin))
        return "session-header"

    def _frame(self, entry: JsonObject, message: JsonObject, start: int, end: int) -> Frame:
        timestamp = parse_time(entry.get("timestamp")) or parse_time(message.get("timestamp"))
        stamp = timestamp.isoformat() if timestamp is not None else str(start)
        self._report.see_time(timestamp)
        entry_id = text_field(entry, "id")
        content = entry_id or render_value(message or entry)
        uuid = derived_id("pi", stamp, text_field(message, "role"), content)
        if entry_id:
            self._uuids[mark(entry_id)] = uuid
            if len(self._uuids) > _KNOWN_PARENTS:
                self._uuids.popitem(last=False)
        return Frame(
            byte_start=start,
            byte_end=end,
            record_uuid=uuid,
            timestamp=timestamp,
            parent_uuid=self._uuids.get(mark(text_field(entry, "parentId"))),
            cwd=self._cwd,
            model=safe_name(text_field(message, "model")),
            agent_version=self._version,
            is_sidechain=self._source.agent_id is not None,
            message_id=safe_id(message.get("responseId")),
            content=message or entry,
        )

    def _is_copied(self, frame: Frame) -> bool:
        """Return whether an entry is older than the session, which is a fork then."""
        began, written = self._started, frame.timestamp
        forked = self._report.parent_session is not None
        return forked and began is not None and written is not None and written < began

    def _message(self, role: str, message: JsonObject, frame: Frame) -> Outcome:
        content = message.get("content")
        if role == "user":
            said = authored(prompt_text(content_text(content)))
            if said.kind == "prompt" and not said.subtype:
                said = said._replace(subtype=self._branch)
            return self._said(frame, said)
        if role == "assistant":
            return self._assistant(message, content, frame)
        if role == "toolResult":
            return [self._tool_result(message, frame)]
        if role == "bashExecution":
            return self._shell(message, frame)
        if role in SUMMARIES:
            return self._one(
                frame, "system", "summary", text_field(message, "summary"), SUMMARIES[role]
            )
        if role in INJECTED_ROLES:
            return self._one(frame, "system", "system", content_text(content), "injected")
        self._report.see_unknown(f"message/{type_name(role)}")
        return UNKNOWN_TYPE

    def _assistant(self, message: JsonObject, content: Any, frame: Frame) -> Outcome:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        made: list[Record] = []
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict):
                made += self._assistant_block(block, frame)
        error = text_field(message, "errorMessage")
        if error:
            aborted = message.get("stopReason") == "aborted"
            subtype = "interrupt" if aborted else "api-error"
            made += self._one(frame, "system", "system", error, subtype, is_error=not aborted)
        return self._with_tokens(made, frame, _tokens(object_field(message, "usage")))

    def _assistant_block(self, block: JsonObject, frame: Frame) -> list[Record]:
        kind = block.get("type")
        if kind == "text":
            text = text_field(block, "text")
            return self._one(frame, "assistant", "assistant_text", text, self._branch)
        if kind == "thinking":
            text = text_field(block, "thinking")
            return self._one(frame, "assistant", "thinking", text, self._branch)
        if kind != "toolCall":
            self._report.see_unknown(f"assistant/{type_name(kind)}")
            return []
        return [self._called(frame, *_call(block), render_input(block.get("arguments")))]

    def _tool_result(self, message: JsonObject, frame: Frame) -> Record:
        return self._answered(
            frame,
            _call_id(message.get("toolCallId")),
            content_text(message.get("content")),
            Call(text_field(message, "toolName")),
            is_error=message.get("isError") is True,
        )

    def _shell(self, message: JsonObject, frame: Frame) -> list[Record]:
        """Return a command that the human ran with `!`, and its output."""
        command = text_field(message, "command")
        call = Call("bash", (), command)
        code = message.get("exitCode")
        failed = isinstance(code, int) and code != 0
        asked, output = f"command: {command}", text_field(message, "output")
        return [
            self._called(frame, "", call, asked, "user", subtype="user-shell"),
            self._answered(frame, "", output, call, subtype="user-shell", is_error=failed),
        ]

    def _other(self, name: str, entry: JsonObject, frame: Frame) -> Outcome:
        if name in SUMMARIES:
            text = text_field(entry, "summary")
            return self._one(frame, "system", "summary", text, SUMMARIES[name])
        if name == "custom_message":
            text = content_text(entry.get("content"))
            return self._one(frame, "system", "system", text, "injected")
        if name == "session_info":
            title = text_field(entry, "name")
            if mark(title) == self._name:
                return "repeated"
            self._name = mark(title)
            return self._one(frame, "system", "title", title, "session-name")
        self._report.see_unknown(name)
        return UNKNOWN_TYPE


def prompt_text(text: str) -> str:
    """Return the typed text, without the skills and files that Pi inserts for their names."""
    text = _FILE.sub(lambda found: f"@{found.group(1)}", text)
    text = _SKILL.sub(lambda found: f"/skill:{found.group(1)} ", text)
    return text.strip()


def _tokens(usage: JsonObject) -> Tokens:
    fields = ("input", "output", "cacheRead", "cacheWrite")
    return Tokens(*(count_field(usage, name) for name in fields))


def _call(block: JsonObject) -> tuple[str, Call]:
    """Return the id and the call of a block that calls a tool."""
    return _call_id(block.get("id")), Call.of_block(block, "arguments")


def _call_id(value: object) -> str:
    """Return a call's id; some providers append an opaque blob after "|"."""
    return safe_id(value.partition("|")[0]) if isinstance(value, str) else ""
