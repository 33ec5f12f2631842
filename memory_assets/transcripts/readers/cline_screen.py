"""What a task of Cline, Roo Code or classic Kilo showed on the screen: `ui_messages.json`.

A row is `{ts, type: say|ask, say|ask, text}`; for calls of tools its text is JSON. It is never
condensed, unlike the model's own history, which repeats it. The kinds of rows are those of
`ClineSay` and `ClineAsk` in the extensions' sources of 2026.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from memory_assets.models import Record
from memory_assets.transcripts.authorship import PERSON, authored
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.fields import (
    IMAGE,
    from_json,
    object_field,
    parse_time,
    render_value,
    text_field,
    type_name,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import UNKNOWN_TYPE, Call, Frame, Outcome, tokens_in
from memory_assets.transcripts.stored_session import StoredSession

USAGE, NOTICE, SUPERSEDED = "usage", "session-state", "superseded"
PARTIAL = "partial"
"""Subtype of an answer that was broken off."""
_TYPED = frozenset({"task", "user_feedback"})
_SAID = frozenset({"text", "completion_result", "plan_completion_result"})
_CALLS = frozenset({"tool", "command", "use_mcp_server", "browser_action", "browser_action_launch"})
_RESULTS = frozenset(
    {
        *("command_output", "mcp_server_response", "browser_action_result"),
        *("codebase_search_result", "subtask_result"),
    }
)
_ERRORS = frozenset(
    {
        *("error", "diff_error", "clineignore_error", "rooignore_error"),
        *("command_permission_denied", "api_req_failed", "condense_context_error"),
        *("mistake_limit_reached", "auto_approval_max_req_reached"),
    }
)
_USAGE = frozenset({"api_req_started", "api_req_finished", "deleted_api_reqs"})
_COUNTS = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
_NOTICES = frozenset(
    {
        *("checkpoint_created", "checkpoint_saved", "mcp_server_request_started"),
        *("mcp_notification", "load_mcp_docs", "load_mcp_documentation", "resume_task"),
        *("resume_completed_task", "shell_integration_warning"),
        *("shell_integration_warning_with_suggestion", "api_req_retried", "api_req_retry_delayed"),
        *("error_retry", "new_task", "new_task_started", "condense", "compaction"),
        *("summarize_task", "report_bug", "task_progress", "user_edit_todos", "hook_status"),
        *("hook_output_stream", "generate_explanation", "info", "subagent", "use_subagents"),
        *("subagent_usage", "conditional_rules_applied"),
    }
)
_QUESTIONS = frozenset({"followup", "plan_mode_respond", "act_mode_respond"})


class ScreenSession(StoredSession):
    """The state of reading the screen's rows."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._ids: Counter[str] = Counter()
        self._is_first = True
        self._open: tuple[str, Call] = ("", Call(""))

    def _on_screen(self, row: JsonObject, start: int, end: int) -> list[Record]:
        """Return the `Record`s that a row of the screen gives."""
        message = object_field(row, "row")
        kind = text_field(message, "say") or text_field(message, "ask")
        name = f"{type_name(message.get('type'))}/{type_name(kind)}"
        self._report.see_type(name)
        key = f"{message.get('ts')}/{kind}"
        self._ids[key] += 1
        own = f"{key}/{self._ids[key]}"
        frame = self._frame(message, start, end, own, parse_time(message.get("ts")))
        if row.get(SUPERSEDED):
            return self._resolve(SUPERSEDED)
        return self._resolve(self._row(kind, message, frame))

    def _row(self, kind: str, message: JsonObject, frame: Frame) -> Outcome:
        text, asks = text_field(message, "text"), message.get("type") == "ask"
        if kind in _TYPED or (kind == "text" and self._is_first and not asks):
            self._is_first = False
            images = message.get("images")
            shown = [IMAGE] * len(images) if isinstance(images, list) else []
            return self._said(frame, authored("\n".join([text, *shown]), PERSON))
        if kind in _SAID:
            subtype = PARTIAL if message.get("partial") else ""
            thought = text_field(message, "reasoning")
            records = self._one(frame, "thinking", thought)
            return records + self._one(frame, "assistant_text", text, subtype)
        if kind == "reasoning":
            text = text or text_field(message, "reasoning")
            return self._one(frame, "thinking", text)
        if kind in _QUESTIONS:
            return self._question(text, frame)
        if kind in _CALLS:
            return self._called_on_screen(kind, text, frame)
        if kind in _RESULTS:
            return [self._result(text, frame)]
        if kind in _ERRORS:
            return self._one(frame, "system", text, "api-error", is_error=True)
        if kind == "condense_context":
            text = text_field(object_field(message, "contextCondense"), "summary") or text
            return self._one(frame, "summary", text, "compact-summary")
        if kind == "user_feedback_diff":
            changed: Any = from_json(text)
            paths = (text_field(changed, "path"),) if isinstance(changed, dict) else ()
            return self._one(frame, "attachment", text, "edit", paths=paths)
        if kind in _USAGE:
            usage: Any = from_json(text)
            counts = usage if isinstance(usage, dict) else {}
            return self._with_tokens(USAGE, frame, tokens_in(counts, _COUNTS))
        if kind in _NOTICES:
            return self._one(frame, "system", text, "notice") or NOTICE
        self._report.see_unknown(f"row/{type_name(kind)}")
        return self._one(frame, "system", text, "notice") or UNKNOWN_TYPE

    def _question(self, text: str, frame: Frame) -> list[Record]:
        asked: Any = from_json(text)
        if isinstance(asked, dict):
            options = asked.get("options") or asked.get("suggest") or []
            parts = [text_field(asked, "question") or text_field(asked, "response")]
            if isinstance(options, list):
                parts += [
                    text_field(option, "answer")
                    if isinstance(option, dict)
                    else render_value(option)
                    for option in options
                ]
            text = "\n".join(filter(None, parts)) or text
        return self._one(frame, "assistant_text", text, "question")

    def _called_on_screen(self, kind: str, text: str, frame: Frame) -> list[Record]:
        """Return a call. What a command printed follows in rows of its own; of other tools only
        what they changed is shown."""
        given: Any = from_json(text)
        if kind == "command":
            name, arguments = "execute_command", {"command": text}
        elif not isinstance(given, dict):
            name, arguments = kind, {"text": text}
        elif kind == "use_mcp_server":
            server, tool = text_field(given, "serverName"), text_field(given, "toolName")
            name = "__".join(filter(None, (server, tool or text_field(given, "uri"))))
            inner = from_json(given.get("arguments"))
            arguments = inner if isinstance(inner, dict) else given
        else:
            name = text_field(given, "tool") or kind
            arguments = {key: value for key, value in given.items() if key != "tool"}
        record = self._call(frame, frame.record_uuid, name, arguments)
        self._open = frame.record_uuid, Call(record.tool_name, record.paths, record.command)
        if kind in ("tool", "browser_action", "browser_action_launch"):
            return [record, self._answered(frame, frame.record_uuid, "")]
        return [record]

    def _result(self, text: str, frame: Frame) -> Record:
        call_id, call = self._open
        return self._answered(frame, call_id, text, call)
