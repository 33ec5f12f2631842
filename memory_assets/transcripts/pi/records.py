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
from collections import OrderedDict, deque
from datetime import datetime
from typing import Any

from memory_assets.models import ABANDONED, Record
from memory_assets.transcripts.account import MIN_LEAF
from memory_assets.transcripts.authorship import BY_PROGRAM, UNSAID, authored
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.blocks import blocks_of
from memory_assets.transcripts.enclosed import replaced
from memory_assets.transcripts.fields import (
    content_text,
    derived_id,
    mark,
    object_field,
    parse_time,
    render_input,
    render_value,
    safe_id,
    text_field,
    type_name,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import (
    REPEATED_ID,
    Call,
    Frame,
    Outcome,
    Session,
    tokens_in,
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
_SHOWN_ELSEWHERE = frozenset({"patch", "diff", "truncation", "command"})
"""Keys of a result's details that repeat the call or the result."""
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")
_SESSION_IN_PATH = re.compile(r"_([0-9A-Za-z-]+)\.jsonl$")
_RUN = re.compile(r"run-\d+")
"""The directory of a subagent's run, which an extension may be told to put where no session is
named (`defaultSessionDir` of pi-subagents): what it was asked, an agent wrote."""
_SKILL = re.compile(r'<(skill) name="([^"\n]*)"[^<>]*>')
_FILE = re.compile(r'<(file) name="([^"\n]*)">')


class PiSession(Session):
    """The state of reading one file."""

    def __init__(
        self, source: Source, report: ReadReport, abandoned: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(source, report)
        self._abandoned = abandoned
        self._uuids: OrderedDict[int, str] = OrderedDict()
        self._started: datetime | None = None
        self._name = mark("")
        self._origin = BY_PROGRAM if _RUN.fullmatch(source.path.parent.name) else UNSAID

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
            frame = self._frame_of(entry, message, start, end)
            is_abandoned = mark(text_field(entry, "id")) in self._abandoned
            self._branch = ABANDONED if is_abandoned else ""
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
            match = _SESSION_IN_PATH.search(origin)
            report.see_parent(safe_id(match.group(1) if match else origin))
        return "session-header"

    def _frame_of(self, entry: JsonObject, message: JsonObject, start: int, end: int) -> Frame:
        timestamp = parse_time(entry.get("timestamp")) or parse_time(message.get("timestamp"))
        stamp = timestamp.isoformat() if timestamp is not None else str(start)
        entry_id = text_field(entry, "id")
        content = entry_id or render_value(message or entry)
        uuid = derived_id("pi", stamp, text_field(message, "role"), content)
        if entry_id:
            self._uuids[mark(entry_id)] = uuid
            if len(self._uuids) > _KNOWN_PARENTS:
                self._uuids.popitem(last=False)
        model, parent = text_field(message, "model"), text_field(entry, "parentId")
        frame = self._frame(message or entry, start, end, None, timestamp, model)
        frame.record_uuid = uuid
        frame.parent_uuid = self._uuids.get(mark(parent))
        frame.message_id = safe_id(message.get("responseId"))
        return frame

    def _is_copied(self, frame: Frame) -> bool:
        """Return whether an entry is older than the session, which is a fork then."""
        began, written = self._started, frame.timestamp
        forked = self._report.parent_session is not None
        return forked and began is not None and written is not None and written < began

    def _message(self, role: str, message: JsonObject, frame: Frame) -> Outcome:
        content = message.get("content")
        if role == "user":
            return self._said(frame, authored(prompt_text(content_text(content)), self._origin))
        if role == "assistant":
            return self._assistant(message, content, frame)
        if role == "toolResult":
            return [self._tool_result(message, frame)]
        if role == "bashExecution":
            return self._shell(message, frame)
        if role in SUMMARIES:
            return self._one(frame, "summary", text_field(message, "summary"), SUMMARIES[role])
        if role in INJECTED_ROLES:
            return self._one(frame, "system", content_text(content), "injected")
        return self._unknown(f"message/{type_name(role)}")

    def _assistant(self, message: JsonObject, content: Any, frame: Frame) -> Outcome:
        records: list[Record] = []
        for block in blocks_of(content):
            records += self._assistant_block(block, frame)
        error = text_field(message, "errorMessage")
        if error:
            aborted = message.get("stopReason") == "aborted"
            subtype = "interrupt" if aborted else "api-error"
            records += self._one(frame, "system", error, subtype, is_error=not aborted)
        return self._with_tokens(records, frame, tokens_in(object_field(message, "usage"), _COUNTS))

    def _assistant_block(self, block: JsonObject, frame: Frame) -> list[Record]:
        kind = block.get("type")
        if kind == "text":
            text = text_field(block, "text")
            return self._one(frame, "assistant_text", text)
        if kind == "thinking":
            text = text_field(block, "thinking")
            return self._one(frame, "thinking", text)
        if kind != "toolCall":
            self._report.see_unknown(f"assistant/{type_name(kind)}")
            return []
        call_id, given = _call_id(block.get("id")), render_input(block.get("arguments"))
        return [self._called(frame, call_id, Call.of_block(block, "arguments"), given)]

    def _tool_result(self, message: JsonObject, frame: Frame) -> Record:
        return self._answered(
            frame,
            _call_id(message.get("toolCallId")),
            _with_details(content_text(message.get("content")), message.get("details")),
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
            self._called(frame, "", call, asked, role="user", subtype="user-shell"),
            self._answered(frame, "", output, call, subtype="user-shell", is_error=failed),
        ]

    def _other(self, name: str, entry: JsonObject, frame: Frame) -> Outcome:
        if name in SUMMARIES:
            text = text_field(entry, "summary")
            return self._one(frame, "summary", text, SUMMARIES[name])
        if name == "custom_message":
            text = _with_details(content_text(entry.get("content")), entry.get("details"))
            return self._one(frame, "system", text, "injected")
        if name == "session_info":
            title = text_field(entry, "name")
            if mark(title) == self._name:
                return "repeated"
            self._name = mark(title)
            return self._one(frame, "title", title, "session-name")
        return self._unknown(name)


def _with_details(text: str, details: Any) -> str:
    """Return a text with what the details beside it say more, such as subagents' reports: each
    extension has keys of its own."""
    told: list[str] = []
    waiting = deque([details])
    while waiting:
        value = waiting.popleft()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += [nested for key, nested in value.items() if key not in _SHOWN_ELSEWHERE]
        elif isinstance(value, str) and len(value) >= MIN_LEAF and value not in text:
            told.append(value)
    return "\n".join(filter(None, [text, *dict.fromkeys(told)]))


def prompt_text(text: str) -> str:
    """Return the typed text, without the skills and files that Pi inserts for their names."""
    text = replaced(text, _FILE, lambda opening: f"@{opening.group(2)}")
    text = replaced(text, _SKILL, lambda opening: f"/skill:{opening.group(2)} ", blanks=True)
    return text.strip()


def _call_id(value: object) -> str:
    """Return a call's id; some providers append an opaque blob after "|"."""
    return safe_id(value.partition("|")[0]) if isinstance(value, str) else ""
