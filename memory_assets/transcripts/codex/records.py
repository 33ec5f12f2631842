"""Codex's rollout lines, one JSON object at a time, turned into `Record`s.

A line is `{timestamp, type, payload}`; the oldest files hold bare items. The first
`session_meta` wins: it repeats on resume, and in a fork or a spawned agent the parent's
follows, and then the parent's history, which is dropped as "copied-history". Thread, directory,
branch, model and version hold until a later line changes them.

No record has a uuid. `record_uuid` is derived: for a call and its output from the
call id, for a message from its own id where it has one; else from the thread, timestamp
and text, so that a copy that keeps them keeps the id. A prompt's is derived from the
thread, its text and its number among the thread's prompts.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from memory_assets.models import Record, Tokens
from memory_assets.transcripts.authorship import ClassifiedText
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.codex.code_mode import (
    PATCH,
    Script,
    changes_as_patch,
    changes_of,
    end_of,
    ends_by_command,
    patch_of_changes,
    script_effects,
    script_in,
)
from memory_assets.transcripts.codex.doubles import Doubles, RecentTexts
from memory_assets.transcripts.codex.lines import (
    CALLS,
    DOUBLED_EVENTS,
    NOISE_EVENTS,
    NOISE_ITEMS,
    NOISE_LINES,
    OUTPUTS,
    Output,
    answer_tokens,
    classify_submitted,
    command_line,
    describe_call,
    event_of,
    event_text,
    item_text,
    line_name,
    mentioned_files,
    parse_arguments,
    parse_output,
    plain_text,
    unwrap,
)
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id, safe_name, text_hash
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import (
    COPIED,
    MAX_OPEN_CALLS,
    STATE,
    UNKNOWN_TYPE,
    Call,
    Frame,
    HeldText,
    Outcome,
    SessionParser,
)
from memory_assets.transcripts.texts import content_text, patch_paths
from memory_assets.transcripts.times import parse_time

_NO_FILES: tuple[str, list[str]] = "", []
DOUBLED = "doubled-message"
PAUSE = timedelta(milliseconds=300)


class CopiedHistory:
    """Follows one file through its copied lines, if it begins with any.

    In a fork or a spawned agent the parent's `session_meta` is the second line, followed by the
    parent's history, with all timestamps rewritten to the moment of copying. It ends before the
    first turn whose id (a UUIDv7, ordered by time) is younger than the thread's own id. Where
    the copied turns have no such ids, it ends at the first pause in the timestamps, because a
    copy is written at once.
    """

    def __init__(self) -> None:
        self.goes_on = False
        self._has_turn_ids = False
        self._last: datetime | None = None

    def begin(self, timestamp: datetime | None) -> None:
        """The parent's `session_meta` was read."""
        self.goes_on = True
        self._last = timestamp

    def covers(self, payload: JsonObject, timestamp: datetime | None, thread: str) -> bool:
        """Return whether this line is still copied; `thread` is the file's own thread."""
        if not self.goes_on:
            return False
        last, self._last = self._last, timestamp or self._last
        turn = payload.get("turn_id")
        if isinstance(turn, str) and turn[14:15] == thread[14:15] == "7":
            self._has_turn_ids = True
            self.goes_on = turn < thread
        elif not self._has_turn_ids and last is not None and timestamp is not None:
            self.goes_on = timestamp - last < PAUSE
        return self.goes_on


class CodexParser(SessionParser):
    """The state of reading one rollout."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._thread = source.agent_id or source.session_id
        self._history = CopiedHistory()
        self._has_meta = False
        self._doubles = Doubles()
        self._thoughts = RecentTexts()
        self._title = text_hash("")
        self._total = Tokens()
        self._failed_calls: set[str] = set()
        self._known_calls: set[int] = set()
        self._scripts: dict[str, Script] = {}
        self._named = _NO_FILES
        """The files that were named above the next request, and their paths."""

    # --- lines -------------------------------------------------------------------------

    def take(self, line: JsonObject) -> list[Record]:
        """Return the `Record`s that this line gives, and those it releases."""
        kind, payload = unwrap(line)
        name = line_name(kind, payload)
        timestamp = parse_time(line.get("timestamp"))
        self._report.see_time(timestamp)
        if self._history.covers(payload, timestamp, self._thread):
            return self._resolve(COPIED)
        if kind == "event_msg" and payload.get("type") == "token_count":
            frame = self._frame_of(line)
            return self._resolve(self._counted(object_field(payload, "info"), frame))
        if reason := self._reason_to_drop(kind, payload):
            return self._resolve(reason)
        frame = self._frame_of(line)
        if kind == "session_meta":
            self._see_meta(payload, timestamp)
            return self._resolve("session-meta")
        if kind == "response_item":
            return self._item(text_field(payload, "type"), payload, frame, name)
        if kind == "event_msg":
            return self._event(payload, frame, name)
        released = self._release()
        if kind == "turn_context":
            self._see_context(payload)
            return released + self._resolve(STATE)
        if kind == "compacted":
            text = text_field(payload, "message")
            records = self._records(frame, "summary", text, "compact-summary")
            return released + self._resolve(records or "replacement-history")
        return released + self._resolve(self._unknown(name))

    def end(self) -> list[Record]:
        """Return the messages of which only one copy was written, and patches without an end."""
        left = [record for script in self._scripts.values() for record in self._patched(script)]
        return self._release(at_end=True) + left

    def _reason_to_drop(self, kind: str, payload: JsonObject) -> str:
        """Return why a line without words is dropped, or ""; a third of all lines."""
        if kind == "event_msg":
            event = text_field(payload, "type")
            if event in DOUBLED_EVENTS and not self._ends_in_script(event, payload):
                self._note_failure(payload)
                return "doubled-output"
            return STATE if event in NOISE_EVENTS else ""
        if payload.get("type") == "reasoning" and not payload.get("summary"):
            return "" if payload.get("content") else "empty"
        return STATE if kind in NOISE_LINES else ""

    def _counted(self, info: JsonObject, frame: Frame) -> Outcome:
        """Return a record of the tokens that were spent since the last count."""
        total = answer_tokens(object_field(info, "total_token_usage"))
        spent = answer_tokens(object_field(info, "last_token_usage"))
        if any(total):
            if total == self._total:  # only the rate limits changed
                return STATE
            self._total = total
        return self._with_tokens(STATE, frame, spent)

    def _frame_of(self, line: JsonObject) -> Frame:
        """Return the fields that the blocks of a line share."""
        kind, payload = unwrap(line)
        name = line_name(kind, payload)
        own_id = safe_id(payload.get("call_id")) or safe_id(payload.get("id"))
        kind = text_field(payload, "type")
        stamp = text_field(line, "timestamp") or str(self._byte_start)
        text = own_id or f"{stamp}\x1f{plain_text(payload)}"
        frame = self._frame(payload, at=line.get("timestamp"))
        thread = "" if own_id else self._thread
        frame.record_uuid = derived_id("codex", thread, name, kind, text)
        frame.message_id = safe_id(payload.get("id")) if kind == "message" else ""
        return frame

    def _see_meta(self, meta: JsonObject, timestamp: datetime | None) -> None:
        """Note the fields of a `session_meta`, if it is the first."""
        report = self._report
        own = safe_id(meta.get("id"))
        report.see_session(own)
        if self._has_meta:
            if own and own != self._thread and not report.kept:
                self._history.begin(timestamp)
                report.see_parent(own)
            return
        self._has_meta = True
        if own and self._source.agent_id is None:
            self._thread = own
        self._see_context(meta)
        self._git_branch = text_field(object_field(meta, "git"), "branch")
        self._version = safe_name(text_field(meta, "cli_version"))
        report.see_version(self._version)
        report.see_parent(safe_id(meta.get("forked_from_id")))

    def _see_context(self, context: JsonObject) -> None:
        """Note the directory and the model of a turn."""
        self._cwd = text_field(context, "cwd") or self._cwd
        self._report.see_cwd(self._cwd)
        self._model = safe_name(text_field(context, "model")) or self._model

    # --- items: what the model saw -----------------------------------------------------

    def _item(self, kind: str, item: JsonObject, frame: Frame, name: str) -> list[Record]:
        if kind == "message":
            return self._message(item, frame, name)
        if kind == "reasoning":
            return self._answering() + self._resolve(self._reasoning(item, frame))
        released = self._release()
        outcome: Outcome
        if kind in CALLS:
            outcome = self._call_item(item, frame)
        elif kind in OUTPUTS:
            outcome = self._output(item, frame)
        elif kind == "agent_message":
            text = content_text(item.get("content"))
            outcome = self._records(frame, "system", text, "agent-prompt")
        else:
            outcome = NOISE_ITEMS.get(kind, UNKNOWN_TYPE)
            if outcome == UNKNOWN_TYPE:
                self._report.see_unknown(name)
        return released + self._resolve(outcome)

    def _message(self, item: JsonObject, frame: Frame, name: str) -> list[Record]:
        role = item.get("role")
        if role == "assistant":
            text = item_text(item.get("content"))
            released = self._answering()
            keep, doubled = self._doubles.agent_item(text)
            self._report.dropped[DOUBLED] += doubled
            if not keep:
                return released + self._resolve(DOUBLED)
            records = self._records(frame, "assistant_text", text)
            return released + self._resolve(records)
        released = self._release()
        if role == "user":
            text = item_text(item.get("content"))
            classified, self._named = classify_submitted(text), mentioned_files(text)
            if not classified.text:
                return released + self._resolve([])
            if self._doubles.user_item(HeldText(classified, frame)):
                return released
            return released + self._resolve(DOUBLED)
        if role in ("developer", "system"):
            return released + self._resolve("instructions")
        return released + self._resolve(self._unknown(f"{name}/role"))

    def _reasoning(self, item: JsonObject, frame: Frame) -> Outcome:
        parts = [content_text(item.get("summary")), content_text(item.get("content"))]
        text = "\n".join(part for part in parts if part.strip())
        if text and self._thoughts.match(text):
            return DOUBLED
        return self._records(frame, "thinking", text)

    def _call_item(self, item: JsonObject, frame: Frame) -> Outcome:
        self._doubles.agent_acted()
        call_id = safe_id(item.get("call_id")) or safe_id(item.get("id"))
        self._known_calls.add(text_hash(call_id))
        if code := script_in(item):
            script = script_effects(code, call_id, frame)
            self._scripts[call_id] = script
            if len(self._scripts) > MAX_OPEN_CALLS:
                self._scripts.pop(next(iter(self._scripts)))
            return [self._called(frame, call_id, script.call, code)]
        call, text = describe_call(item)
        return [self._called(frame, call_id, call, text)]

    def _output(self, item: JsonObject, frame: Frame) -> Outcome:
        call_id = safe_id(item.get("call_id"))
        output = parse_output(item.get("output"))
        if script := self._scripts.pop(call_id, None):
            return self._script_ended(script, output, frame)
        failed_outside = call_id in self._failed_calls
        self._failed_calls.discard(call_id)
        failed = output.failed or (output.exit_code is None and failed_outside)
        record = self._answered(frame, call_id, output.text, is_error=failed)
        if record.tool_name == "spawn_agent":
            given = parse_arguments(output.text)
            given = given if isinstance(given, dict) else {}
            spawned = safe_id(given.get("agent_id")) or safe_id(given.get("agent_thread_id"))
            record = replace(record, spawned_agent_id=spawned)
        return [record]

    # --- scripts -----------------------------------------------------------------------

    def _script_ended(self, script: Script, output: Output, frame: Frame) -> list[Record]:
        """Return the results of a script's patches and commands."""
        records = self._patched(script, output)
        unknown = self._calls.pop(script.call_id, None) or script.call
        for command, text, failed in ends_by_command(script, output):
            call = replace(unknown, command=command)
            records.append(self._answered(frame, script.call_id, text, call, is_error=failed))
        return records

    def _patched(self, script: Script, output: Output | None = None) -> list[Record]:
        """Return the calls of a script's patches whose end no event told, and their results if the
        script has ended: it stops at a patch that fails."""
        records: list[Record] = []
        for patch in script.patches:
            uuid = derived_id("codex", "", "script", script.call_id, patch)
            frame = replace(script.frame, record_uuid=uuid, content={"input": patch})
            records.append(self._called(frame, uuid, Call(PATCH, patch_paths(patch)), patch))
            if output is not None:
                failed = output.text.startswith("Script failed")
                records.append(self._answered(frame, uuid, "", is_error=failed))
        script.patches.clear()
        return records

    def _ends_in_script(self, event: str, payload: JsonObject) -> bool:
        """Return whether an event tells the end of a call that only a script's text may have."""
        if text_hash(safe_id(payload.get("call_id"))) in self._known_calls:
            return False
        if event == "exec_command_end":
            command = command_line(payload)
            written = (code for script in self._scripts.values() for code in script.commands)
            return bool(self._scripts and command) and command not in written
        return event == "patch_apply_end" and bool(changes_of(payload))

    def _ended(self, kind: str, event: JsonObject, frame: Frame) -> list[Record]:
        """Return the call and the result that an event tells of."""
        call_id = safe_id(event.get("call_id"))
        self._known_calls.add(text_hash(call_id))
        if kind == "exec_command_end":
            call = Call("exec_command", (), command_line(event))
            given, text = f"cmd: {call.command}", text_field(event, "aggregated_output")
            failed = bool(event.get("exit_code"))
        else:
            changes = changes_of(event)
            given = changes_as_patch(changes)
            for script in self._scripts.values():
                if patch := patch_of_changes(script.patches, changes):
                    script.patches.remove(patch)
                    given = patch
                    break
            call = Call(PATCH, tuple(changes))
            text, failed = end_of(event)
        uuid = derived_id("codex", "", kind, call_id)
        frame = replace(frame, record_uuid=uuid, content={"input": given, "output": text})
        return [
            self._called(frame, call_id, call, given),
            self._answered(frame, call_id, text, is_error=failed),
        ]

    # --- events: what the UI showed ----------------------------------------------------

    def _event(self, payload: JsonObject, frame: Frame, name: str) -> list[Record]:
        kind, event = event_of(payload)
        if kind == "user_message":
            return self._submitted(event_text(event), frame)
        if kind == "agent_message":
            return self._agent_event(text_field(event, "message"), frame)
        if kind == "agent_reasoning":
            text = text_field(event, "text")
            self._thoughts.add(text)
            return self._answering() + self._resolve(self._records(frame, "thinking", text))
        if kind == "item_completed":
            return self._resolve(DOUBLED)
        if kind in DOUBLED_EVENTS:
            if not self._ends_in_script(kind, event):
                self._note_failure(event)
                return self._resolve("doubled-output")
            return self._release() + self._resolve(self._ended(kind, event, frame))
        released = self._release()
        notice = self._notice(kind, event, frame)
        if notice is None:
            self._report.see_unknown(name)
            notice = UNKNOWN_TYPE
        return released + self._resolve(notice)

    def _submitted(self, text: str, frame: Frame) -> list[Record]:
        classified = classify_submitted(text)
        keep, doubled = self._doubles.user_event(classified.text)
        self._report.dropped[DOUBLED] += doubled
        if not keep:
            return self._resolve(DOUBLED)
        self._named = mentioned_files(text)
        records = self._text_record(frame, classified)
        return self._release() + self._resolve(records)

    def _agent_event(self, text: str, frame: Frame) -> list[Record]:
        if not text.strip():
            return self._resolve([])
        released = self._answering()
        if self._doubles.agent_event(HeldText(ClassifiedText("assistant_text", "", text), frame)):
            return released
        return released + self._resolve(DOUBLED)

    def _note_failure(self, event: JsonObject) -> None:
        """Remember that a call failed, for outputs that do not say so."""
        code = event.get("exit_code")
        failed = (isinstance(code, int) and code != 0) or event.get("success") is False
        if failed and len(self._failed_calls) < 1_000:
            self._failed_calls.add(safe_id(event.get("call_id")))

    def _notice(self, kind: str, event: JsonObject, frame: Frame) -> Outcome | None:
        if kind == "thread_name_updated":
            title = text_field(event, "thread_name")
            if text_hash(title) == self._title:
                return "repeated"
            self._title = text_hash(title)
            return self._records(frame, "title", title, "thread-name")
        if kind == "thread_rolled_back":
            turns = event.get("num_turns")
            text = f"{turns} turns rolled back" if isinstance(turns, int) else "turns rolled back"
            return self._records(frame, "system", text, "rollback")
        if kind == "exited_review_mode":
            text = text_field(object_field(event, "review_output"), "overall_explanation")
            return self._records(frame, "summary", text, "review")
        if kind == "error":
            text = text_field(event, "message")
            return self._records(frame, "system", text, "api-error", is_error=True)
        return None

    # --- putting together --------------------------------------------------------------

    def _release(self, *, at_end: bool = False) -> list[Record]:
        return self._emit_held(self._doubles.release(at_end=at_end))

    def _answering(self) -> list[Record]:
        """The agent speaks: a user's item that is still held has no event."""
        return self._emit_held(self._doubles.release_user())

    def _emit_held(self, released: list[HeldText]) -> list[Record]:
        records: list[Record] = []
        for classified, frame in released:
            records += self._resolve(self._text_record(frame, classified))
        return records

    def _text_record(self, frame: Frame, classified: ClassifiedText) -> list[Record]:
        if classified.kind == "assistant_text":
            return super()._text_record(frame, classified)
        if classified.kind == "prompt" and not frame.is_sidechain:
            number = str(self._report.prompts)
            frame.record_uuid = derived_id("codex", self._thread, number, classified.text)
        records = super()._text_record(frame, classified)
        (listed, paths), self._named = self._named, _NO_FILES
        if listed and classified.kind == "prompt":
            uuid = derived_id("codex", "", "files", frame.record_uuid)
            beside = replace(frame, record_uuid=uuid, content={"files": listed})
            records += self._records(beside, "attachment", listed, "file", paths=tuple(paths))
        return records
