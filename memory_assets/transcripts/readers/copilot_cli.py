"""GitHub Copilot CLI, 0.0.3xx to 1.0.x: one file of events a session.

Where: `~/.copilot/session-state/<session id>/events.jsonl`, in old releases
`session-state/<session id>.jsonl` or `history-session-state/`; the directory wins where both are
there. The title stands beside the events, in `workspace.yaml`.

An event is `{type, data, id, parentId, timestamp}`, with an `agentId` if a subagent wrote it.
`user.message.transformedContent` repeats a prompt with what the program put around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR

from memory_assets.models import Record, Tokens
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.fields import (
    count_field,
    object_field,
    objects_in,
    text_field,
)
from memory_assets.transcripts.ids import safe_id, safe_name, text_hash, type_name
from memory_assets.transcripts.json_documents import directory_of, text_beside
from memory_assets.transcripts.lines import JsonObject, first_object
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import REPEATED_ID, STATE, Frame, Outcome, SessionParser
from memory_assets.transcripts.times import parse_time

_FOLDERS = (Path("session-state"), Path("history-session-state"))
_EVENTS = "events.jsonl"
_TITLE = re.compile(r"^(?:name|summary): *(.+?) *$", re.MULTILINE)
_HOOK = "hook"
_INSTRUCTIONS = "instructions"
_SHOWN = "a call or a result as it is shown"
_IDS = "ids of the program's interface to the model"
_DROPPED = {
    **dict.fromkeys(("hook.start", "hook.end"), _HOOK),
    "system.message": _INSTRUCTIONS,
    **dict.fromkeys(
        (
            *("assistant.turn_start", "assistant.turn_end", "assistant.usage", "assistant.intent"),
            *("session.model_change", "session.mode_changed", "session.permissions_changed"),
            *("session.compaction_start", "session.truncation"),
            *("session.idle", "session.usage_info", "session.context_changed"),
            *("session.usage_checkpoint", "session.workspace_file_changed"),
            *("subagent.started", "subagent.completed", "subagent.selected", "subagent.failed"),
            *("permission.requested", "permission.completed", "skill.invoked"),
        ),
        STATE,
    ),
}
"""Types of events that say nothing, and why."""
_NOTICES = {"session.info": "notice", "session.warning": "notice", "session.error": "api-error"}


class CopilotParser(SessionParser):
    """The state of reading one file."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._title = ""
        self._totals: dict[str, Tokens] = {}
        self._told = text_hash("")

    def take(self, event: JsonObject) -> list[Record]:
        """Return the `Record`s that this event gives."""
        name = type_name(event.get("type"))
        data = object_field(event, "data")
        if name in _DROPPED:
            return self._resolve(_DROPPED[name])
        frame = self._frame_of(event, data)
        if self._met(frame.record_uuid):
            return self._resolve(REPEATED_ID)
        return self._resolve(self._by_type(name, data, frame))

    def _frame_of(self, event: JsonObject, data: JsonObject) -> Frame:
        self._model = safe_name(text_field(data, "model")) or self._model
        at, parent = event.get("timestamp"), event.get("parentId")
        frame = self._frame(data, event.get("id"), at, parent=parent)
        by_subagent = "agentId" in event or bool(data.get("parentToolCallId"))
        frame.is_sidechain = frame.is_sidechain or by_subagent
        frame.message_id = safe_id(data.get("messageId"))
        return frame

    def _by_type(self, name: str, data: JsonObject, frame: Frame) -> Outcome:
        if name in ("session.start", "session.resume"):
            return self._started(data, frame)
        if name == "user.message":
            return self._from_user(data, frame)
        if name == "assistant.message":
            records = self._from_assistant(data, frame)
            return self._with_tokens(
                records, frame, Tokens(output=count_field(data, "outputTokens"))
            )
        if name == "session.shutdown":
            return self._given_tokens(data, frame) or STATE
        if name == "assistant.reasoning":
            return self._thought(text_field(data, "content"), frame)
        if name == "tool.execution_start":
            return self._request(data, "toolName", frame) or "repeated-call"
        if name == "tool.execution_complete":
            return [self._tool_result(data, frame)]
        if name == "session.compaction_complete":
            text = text_field(data, "summaryContent")
            return self._records(frame, "summary", text, "compact-summary")
        if name in _NOTICES:
            subtype, text = _NOTICES[name], text_field(data, "message")
            failed = subtype == "api-error"
            return self._records(frame, "system", text, subtype, is_error=failed)
        if name == "session.task_complete":
            summary = text_field(data, "summary")
            repeats = text_hash(summary.strip()) == self._told
            return "repeated" if repeats else self._records(frame, "assistant_text", summary)
        if name == "system.notification":
            return self._user_text(frame, text_field(data, "content"), Origin("machine"))
        if name == "abort":
            return self._records(frame, "system", text_field(data, "reason"), "interrupt")
        return self._unknown(name)

    def _started(self, data: JsonObject, frame: Frame) -> Outcome:
        context = object_field(data, "context")
        self._git_branch = text_field(context, "branch") or self._git_branch
        header = self._begin(
            session=data.get("sessionId"),
            cwd=text_field(context, "cwd") or self._source.directory,
            version=text_field(data, "copilotVersion"),
            model=safe_name(text_field(data, "selectedModel")),
        )
        self._report.see_time(parse_time(data.get("startTime")))
        frame.cwd, frame.git_branch = self._cwd, self._git_branch
        frame.agent_version = self._version
        title = self._title or _title_beside(self._source.path)
        if not title or title == self._title:
            return header
        self._title = title
        return self._records(frame, "title", title, "session-name")

    def _from_user(self, data: JsonObject, frame: Frame) -> Outcome:
        by_skill = text_field(data, "source").startswith("skill-")
        origin = Origin("machine", "meta") if by_skill else UNKNOWN
        records = self._user_text(frame, text_field(data, "content"), origin)
        for attachment in objects_in(data.get("attachments")):
            records += self._attached(frame, text_field(attachment, "path"))
        return records

    def _from_assistant(self, data: JsonObject, frame: Frame) -> list[Record]:
        records = self._thought(text_field(data, "reasoningText"), frame)
        content = text_field(data, "content")
        self._told = text_hash(content.strip()) if content.strip() else self._told
        records += self._records(frame, "assistant_text", content)
        for request in objects_in(data.get("toolRequests")):
            records += self._request(request, "name", frame)
        return records

    def _given_tokens(self, data: JsonObject, frame: Frame) -> list[Record]:
        """Return what the models were given since the program was last ended, which only its end
        says; what they made stands at each message."""
        records: list[Record] = []
        for name, metrics in object_field(data, "modelMetrics").items():
            usage = object_field(metrics, "usage") if isinstance(metrics, dict) else {}
            given, cached = count_field(usage, "inputTokens"), count_field(usage, "cacheReadTokens")
            written = count_field(usage, "cacheWriteTokens")
            total = Tokens(max(given - cached, 0), 0, cached, written)
            model = safe_name(name)
            before, self._totals[model] = self._totals.get(model, Tokens()), total
            new = Tokens(*(max(now - then, 0) for now, then in zip(total, before, strict=True)))
            one = self._with_tokens([], replace(frame, model=model), new)
            records += [] if isinstance(one, str) else one
        return records

    def _thought(self, text: str, frame: Frame) -> list[Record]:
        """Return a thought, which may come as an event of its own and with its message."""
        if not text or self._met(f"thought {text}"):
            return []
        return self._records(frame, "thinking", text)

    def _request(self, call: JsonObject, named: str, frame: Frame) -> list[Record]:
        """Return a call, unless it is known: it comes as it is asked for and as it begins."""
        call_id = safe_id(call.get("toolCallId"))
        if call_id and self._met(f"call {call_id}"):
            return []
        return [self._call(frame, call_id, text_field(call, named), call.get("arguments"))]

    def _tool_result(self, data: JsonObject, frame: Frame) -> Record:
        result, error = object_field(data, "result"), object_field(data, "error")
        text = text_field(result, "content") or text_field(error, "message")
        failed = data.get("success") is False
        return self._answered(frame, safe_id(data.get("toolCallId")), text, is_error=failed)


class CopilotCliReader(Reader):
    """Reads the sessions of GitHub Copilot CLI."""

    agent = "copilot-cli"
    once = True
    version = "6"
    parser = CopilotParser
    left_out = (
        LeftOut("", "what the user's own hooks got", dropped=_HOOK),
        LeftOut("", "the program's instructions to the model", dropped=_INSTRUCTIONS),
        LeftOut("*.data.transformedContent", "a prompt with what was put around it"),
        LeftOut("*.data.toolTelemetry", "the tool's own figures"),
        LeftOut("*.data.result.detailedContent", _SHOWN),
        LeftOut("*.data.reasoningOpaque", "encrypted thoughts"),
        LeftOut("*.data.encryptedContent", "encrypted thoughts"),
        LeftOut("*.data.context", "the repository at the session's start"),
        LeftOut("*.data.toolRequests.function.intentionSummary", "a call as it is shown"),
        LeftOut("*.data.apiCallId", _IDS),
        LeftOut("*.data.clientRequestId", _IDS),
        LeftOut("*.data.shellToolInfo", "paths in a command, which is kept"),
        LeftOut("*.data.agentDescription", "what a subagent is for, by its file"),
        LeftOut("*.data.checkpointPath", "the program's own copy of a summary"),
        LeftOut("*.data.source", "what inserted a text"),
    )

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the session's id, else the name of its directory or file, and the directory of its
        start, or of the window of VS Code that it is of."""
        started = object_field(first_object(head, _is_start), "data")
        named = path.parent.name if path.name == _EVENTS else path.name.removesuffix(".jsonl")
        directory = text_field(object_field(started, "context"), "cwd")
        directory = directory or directory_of(path.parent.parent.parent / "workspace.json")
        return Identity(safe_id(started.get("sessionId")) or safe_id(named), directory=directory)

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the sessions below `~/.copilot`, or a directory of sessions."""
        home = walk.root(root)
        folders = (
            [home / name for name in _FOLDERS if walk.is_there(home / name, S_ISDIR)]
            if home
            else []
        )
        for folder in folders or filter(None, [home]):
            files = sorted(walk.transcripts(folder, 1), key=lambda entry: entry[0].name != _EVENTS)
            for file in files:
                path = Path(file[0].path)
                if path.name == _EVENTS or path.parent == folder:
                    yield file


def _is_start(event: JsonObject) -> bool:
    return event.get("type") == "session.start"


def _title_beside(path: Path) -> str:
    """Return the title in the file beside a session's events, "" if there is none."""
    if path.name != _EVENTS:
        return ""
    match = _TITLE.search(text_beside(path.with_name("workspace.yaml")))
    return match.group(1).strip("\"'") if match else ""
