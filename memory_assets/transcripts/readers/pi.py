"""Pi coding agent, session formats 1 to 3.

Where: `~/.pi/agent/sessions/--<directory>--/<ISO time>_<session id>.jsonl`, or flat in a directory
of the user's. Runs of subagents lie in a directory named after the session's file:
`<ISO time>_<session id>/<run>/run-<n>/session.jsonl`. The first line is the session's header with
its id, its directory, and where it was forked from.

Versions 2 and 3 hold a tree in one file (`lines.abandoned_entries`). All entries are kept in file
order; what is said on an abandoned branch has the subtype `ABANDONED`; what tools did there was
done. A fork copies entries into a new file and names the old one; a subagent's fork repeats what
its session has, and is read from where it began.

`record_uuid` is derived from the entry's id (8 hex digits, unique per file only) and its
timestamp, and in version 1, which has no ids, from timestamp, role and content: copies
made by forks keep all of these.

OpenClaw's sessions have format 3: `~/.openclaw/agents/<agent>/sessions/<session id>.jsonl`. Copies
of sessions (`*.checkpoint.*`) are left out.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from memory_assets.agents import AGENTS
from memory_assets.models import ABANDONED, Record
from memory_assets.transcripts.account import MIN_LEAF, LeftOut
from memory_assets.transcripts.authorship import BY_PROGRAM, UNKNOWN
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.blocks import (
    ANSWER,
    CallBlock,
    ShapedParser,
    Shapes,
    TextBlock,
    blocks_of,
)
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id, text_hash, type_name
from memory_assets.transcripts.lines import JsonObject, abandoned_entries, first_object
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import (
    COPIED,
    HEADER,
    REPEATED_ID,
    STATE,
    Call,
    Frame,
    Outcome,
    tokens_in,
)
from memory_assets.transcripts.tags import replace_enclosed
from memory_assets.transcripts.texts import content_text, render_value
from memory_assets.transcripts.times import parse_time

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


class PiParser(ShapedParser):
    """The state of reading one file."""

    shapes: ClassVar[Shapes] = {
        "text": ANSWER,
        "thinking": TextBlock("thinking", "thinking"),
        "toolCall": CallBlock("id", "name", "arguments"),
    }

    def __init__(
        self, source: Source, report: ReadReport, abandoned: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(source, report)
        self._abandoned = abandoned
        self._uuids: OrderedDict[int, str] = OrderedDict()
        self._started: datetime | None = None
        self._name = text_hash("")
        self._origin = BY_PROGRAM if _RUN.fullmatch(source.path.parent.name) else UNKNOWN

    def take(self, entry: JsonObject) -> list[Record]:
        """Return the `Record`s that this entry gives."""
        name = type_name(entry.get("type"))
        message = object_field(entry, "message")
        role = text_field(message, "role")
        outcome: Outcome
        if name in NOISE:
            outcome = STATE
        elif name == "session":
            outcome = self._header(entry)
        else:
            frame = self._frame_of(entry, message)
            is_abandoned = text_hash(text_field(entry, "id")) in self._abandoned
            self._branch = ABANDONED if is_abandoned else ""
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
            return HEADER
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
        return HEADER

    def _frame_of(self, entry: JsonObject, message: JsonObject) -> Frame:
        timestamp = parse_time(entry.get("timestamp")) or parse_time(message.get("timestamp"))
        stamp = timestamp.isoformat() if timestamp is not None else str(self._byte_start)
        entry_id = text_field(entry, "id")
        content = entry_id or render_value(message or entry)
        uuid = derived_id("pi", stamp, text_field(message, "role"), content)
        if entry_id:
            self._uuids[text_hash(entry_id)] = uuid
            if len(self._uuids) > _KNOWN_PARENTS:
                self._uuids.popitem(last=False)
        model, parent = text_field(message, "model"), text_field(entry, "parentId")
        frame = self._frame(message or entry, None, timestamp, model)
        frame.record_uuid = uuid
        frame.parent_uuid = self._uuids.get(text_hash(parent))
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
            return self._user_text(frame, prompt_text(content_text(content)), self._origin)
        if role == "assistant":
            return self._assistant(message, content, frame)
        if role == "toolResult":
            return [self._tool_result(message, frame)]
        if role == "bashExecution":
            return self._shell(message, frame)
        if role in SUMMARIES:
            return self._records(frame, "summary", text_field(message, "summary"), SUMMARIES[role])
        if role in INJECTED_ROLES:
            return self._records(frame, "system", content_text(content), "injected")
        return self._unknown("message", role)

    def _assistant(self, message: JsonObject, content: Any, frame: Frame) -> Outcome:
        records: list[Record] = []
        for block in blocks_of(content):
            records += self._block(block, frame)
        error = text_field(message, "errorMessage")
        if error:
            aborted = message.get("stopReason") == "aborted"
            subtype = "interrupt" if aborted else "api-error"
            records += self._records(frame, "system", error, subtype, is_error=not aborted)
        return self._with_tokens(records, frame, tokens_in(object_field(message, "usage"), _COUNTS))

    def _call_id(self, value: object) -> str:
        """Return a call's id; some providers append an opaque blob after "|"."""
        return safe_id(value.partition("|")[0]) if isinstance(value, str) else ""

    def _tool_result(self, message: JsonObject, frame: Frame) -> Record:
        return self._answered(
            frame,
            self._call_id(message.get("toolCallId")),
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
            return self._records(frame, "summary", text, SUMMARIES[name])
        if name == "custom_message":
            text = _with_details(content_text(entry.get("content")), entry.get("details"))
            return self._records(frame, "system", text, "injected")
        if name == "session_info":
            title = text_field(entry, "name")
            if text_hash(title) == self._name:
                return "repeated"
            self._name = text_hash(title)
            return self._records(frame, "title", title, "session-name")
        return self._unknown(name)


def _with_details(text: str, details: Any) -> str:
    """Return a text with what the details beside it say more, such as subagents' reports: each
    extension has keys of its own."""
    output_lines: list[str] = []
    waiting = deque([details])
    while waiting:
        value = waiting.popleft()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += [nested for key, nested in value.items() if key not in _SHOWN_ELSEWHERE]
        elif isinstance(value, str) and len(value) >= MIN_LEAF and value not in text:
            output_lines.append(value)
    return "\n".join(filter(None, [text, *dict.fromkeys(output_lines)]))


def prompt_text(text: str) -> str:
    """Return the typed text, without the skills and files that Pi inserts for their names."""
    text = replace_enclosed(text, _FILE, lambda opening: f"@{opening.group(2)}")
    text = replace_enclosed(
        text, _SKILL, lambda opening: f"/skill:{opening.group(2)} ", blanks=True
    )
    return text.strip()


_SIGNATURE = "signature of a thought or a call"
_IDS = "ids of the program's interface to the model"
_FORKED = "the file of the session that it was forked from"
_FILES = "a file that is on disk; its name is kept"
_SHOWN = "an output as it is shown"
_EDIT = "an edit as a diff; the call is kept"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("message.message.assistant.content.thinking.thinkingSignature", _SIGNATURE),
    LeftOut("message.message.assistant.content.toolCall.thoughtSignature", _SIGNATURE),
    LeftOut("message.message.assistant.content.text.textSignature", _SIGNATURE),
    LeftOut("message.message.assistant.content.toolCall.id", _IDS),
    LeftOut("message.message.toolResult.toolCallId", _IDS),
    LeftOut("message.message.assistant.responseId", _IDS),
    LeftOut("message.message.assistant.content.toolCall.partialJson", "a call as it came in"),
    LeftOut("message.message.user.content.text.text.<skill>", _FILES),
    LeftOut("message.message.user.content.text.text.<file>", _FILES),
    LeftOut("message.message.toolResult.details.command", "a command as it was run"),
    LeftOut("message.message.bashExecution.fullOutputPath", _FILES),
    LeftOut("session.branchedFrom", _FORKED),
    LeftOut("session.parentSession", _FORKED),
    LeftOut("message.message.toolResult.details.diff", _EDIT),
    LeftOut("message.message.toolResult.details.patch", _EDIT),
    LeftOut("message.message.toolResult.details.truncation.content", _SHOWN),
    LeftOut("message.message.toolResult.content.image.data", "pixels of an image"),
    LeftOut("message.message.assistant.diagnostics", "a failed request, tried again"),
    LeftOut("custom_message.details.action", "what an extension did"),
)
"""By path of keys."""


_FOLDERS = (Path("agent", "sessions"), Path("sessions"))
_DEPTH = 12
"""Folders below that of the sessions: a project's, and of runs within runs three each."""
_NAMED_AFTER_SESSION = re.compile(r"\d{4}-\d\d-\d\dT[\dZ-]+_([0-9A-Za-z-]+)")
"""The name of a directory of runs: that of the session's file, with its id at the end."""


class PiReader(Reader):
    """Reads Pi's sessions."""

    left_out = LEFT_OUT
    agent = "pi"
    format = "pi"
    version = "9"

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the id at the end of the file's name, of a subagent's run that in the name of the
        directory above it and the run's own; a name without an id gives way to the header's, which
        names the directory, too."""
        header, stem = first_object(head, _is_header), path.name.removesuffix(".jsonl")
        own, directory = safe_id(stem.rpartition("_")[2]), text_field(header, "cwd")
        if "_" not in stem:
            own = safe_id(header.get("id")) or own
        above = (_NAMED_AFTER_SESSION.fullmatch(folder.name) for folder in path.parents[:_DEPTH])
        session = next((match[1] for match in above if match), own)
        return Identity(session, own if session != own else None, directory)

    def files(self, walk: Walk, root: Path) -> Iterable[File]:
        """Return sessions under `~/.pi`, its `agent` folder, its `sessions`, or a directory of
        sessions."""
        return walk.transcripts(walk.root(*(root / folder for folder in _FOLDERS), root), _DEPTH)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions. A subagent's run has the project of its session."""
        sources = list(super().discover(root, known, note))
        main = {one.session_id: one for one in sources if one.agent_id is None}
        for source in sources:
            top = main.get(source.session_id, source)
            yield replace(source, project=top.project, directory=top.directory)

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> PiParser:
        """Return the state of reading a session, abandoned branches included."""
        return PiParser(source, report, abandoned_entries(source.path, end))


_AGENTS_DEPTH = 3


class OpenClawReader(PiReader):
    """Reads OpenClaw's sessions."""

    agent = "openclaw"

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the sessions of each agent below `~/.openclaw`, or a directory of sessions."""
        base = walk.root(root / "agents", root)
        for file in walk.transcripts(base, _AGENTS_DEPTH):
            path = Path(file[0].path)
            is_copy = AGENTS[self.agent].is_other(path.name)
            if not is_copy and (path.parent.name == "sessions" or base == root):
                yield file


def _is_header(entry: JsonObject) -> bool:
    return entry.get("type") == "session" and "timestamp" in entry and "cwd" in entry
