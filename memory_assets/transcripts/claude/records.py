"""Claude Code's records, one JSON object at a time, turned into `Record`s.

One API message is several lines with equal `message.id`, each with one block and a uuid
of its own: each becomes a `Record` with that `message_id`. Text is taken from `message`;
from `toolUseResult` only the id of a spawned agent, never the file contents it repeats.

`record_uuid` is the record's uuid. Records without one get an id derived from what a
copy repeats: a queued prompt from its timestamp and text, a summary from its leaf and
text; session metadata (titles, links) also from the session, since equal titles of two
sessions are two titles.

Types, subtypes and attachments are handled by tables. New types appear monthly; a type in no table
is counted as unknown and skipped.

An answer is written as several lines, one a block, each of which repeats the answer's usage as far
as it is known then. As ccusage does (its adapter for Claude, version 20), lines of one message and
one request are counted once, by the largest count; a side chain may repeat a message of its session
under another request, which counts once, too.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from memory_assets.models import ATTACHED, NOT_TYPED, PLAN, PROGRAM, Kind, Record, Tokens
from memory_assets.transcripts.authorship import (
    BY_PROGRAM,
    UNKNOWN,
    UNKNOWN_TAG,
    ClassifiedText,
    Origin,
    planning_transcript,
    unknown_command,
)
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.blocks import BlockParser
from memory_assets.transcripts.claude.prompts import (
    classify_queued,
    classify_record,
    record_origin,
    session_origin,
)
from memory_assets.transcripts.claude.queue import (
    DUPLICATE,
    WITHDRAWN,
    PromptQueue,
    ResolvedEntry,
    queued_text,
)
from memory_assets.transcripts.fields import count_field, object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id, safe_name, text_hash, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import REPEATED_ID, Frame, Outcome
from memory_assets.transcripts.texts import DOCUMENT, content_text, document_text, render_value
from memory_assets.transcripts.times import parse_time
from memory_assets.word_lists import word_set

NOISE = {
    name: reason
    for reason, dropped in (
        ("progress", "progress"),
        ("file-history", "file-history-snapshot file-history-delta"),
        (
            "session-state",
            "permission-mode mode last-prompt agent-name agent-color agent-setting bridge-session "
            "frame-link tag worktree-state attribution-snapshot content-replacement "
            "marble-origami-commit marble-origami-snapshot",
        ),
    )
    for name in dropped.split()
}
"""Record types without a word of the conversation, and the reason they are dropped for."""

SYSTEM_NOISE = word_set(
    "stop_hook_summary turn_duration api_error microcompact_boundary bridge_status informational "
    "model_refusal_fallback memory_saved agents_killed api_metrics scheduled_task_fire "
    "permission_retry file_snapshot"
)
ATTACHMENT_NOISE = word_set(
    "task_reminder todo_reminder hook_success hook_additional_context hook_system_message "
    "hook_non_blocking_error hook_blocking_error hook_cancelled hook_stopped_continuation "
    "hook_error_during_execution hook_permission_decision edited_text_file edited_image_file "
    "skill_listing dynamic_skill deferred_tools_delta mcp_instructions_delta agent_listing_delta "
    "nested_memory relevant_memories diagnostics command_permissions auto_mode auto_mode_exit "
    "opened_file_in_ide date_change goal_status plan_mode plan_mode_exit plan_mode_reentry "
    "plan_file_reference directory already_read_file compact_file_reference invoked_skills "
    "task_status output_style ultra_effort ultra_effort_enter total_tokens_reminder token_usage "
    "budget_usd "
    "async_hook_response mcp_resource agent_mention critical_system_reminder compaction_reminder "
    "context_efficiency companion_intro verify_plan_reminder structured_output max_turns_reached"
)

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
SPOKEN = frozenset({"assistant", "user", "system", "attachment"})
"""The types whose records have a uuid, a place in the tree, and an envelope."""


_PARTS_WITH_TEXT = ("message", "attachment", "content")
_UNTYPED_ARGUMENTS = re.compile(r"Args from unknown [a-z ]+: *(.*\S)\s*", re.DOTALL)
"""How the CLI says what was typed behind a command that does not exist."""
_WARM_UP = "warmup"
"""What versions from 2.0.60 to 2.1.1x sent to agents to have them ready: no work."""


class ClaudeParser(BlockParser):
    """The state of reading one file: open calls and the prompt queue."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._queue = PromptQueue()
        self._latest: dict[str, int] = {}
        self._message_id = ""
        self._forked = False
        self._origin = UNKNOWN
        self._unknown_command = ""
        self._warming_up = False
        self._is_told = False
        self._prompts_below: dict[str, str] = {}
        self._own_files: dict[str, bool] = {}
        self._tokens = AnswerTokens()

    def take(self, record: JsonObject) -> list[Record]:
        """Return the `Record`s that this object gives, and those it releases from the queue."""
        name = type_name(record.get("type"))
        embedded = self._told_of_subagent(record) if name == "progress" else None
        self._is_told = embedded is not None
        if embedded is not None:
            name, record = type_name(embedded.get("type")), embedded
        if name in NOISE:
            return self._resolve(NOISE[name])
        frame = self._envelope(record)
        if name in SPOKEN:
            return self._spoken(name, record, frame)
        if name == "queue-operation":
            return self._queue_operation(record, frame)
        if name in TITLES:
            text = text_field(record, TITLES[name])
            return self._resolve(self._repeated(frame, "title", name, text))
        if name == "pr-link":
            text = text_field(record, "prUrl")
            return self._resolve(self._repeated(frame, "attachment", name, text))
        if name == "summary":
            return self._resolve(self._leaf_summary(record, frame))
        return self._resolve(self._unknown(name))

    def end(self) -> list[Record]:
        """Return the prompts still in the queue, and whether it is a fork."""
        report = self._report
        if not self._forked and self._source.session_id not in report.own_session_ids:
            # No record is the file's own: it was renamed, not forked.
            report.parent_session = None
        return self._release(self._queue.end())

    def _envelope(self, record: JsonObject) -> Frame:
        """Return the fields that all blocks of a record share, and note them in the report."""
        report = self._report
        timestamp = parse_time(record.get("timestamp"))
        report.see_time(timestamp)
        cwd = text_field(record, "cwd")
        report.see_cwd(cwd)
        version = safe_name(text_field(record, "version"))
        report.see_version(version)
        report.see_session(safe_id(record.get("sessionId")))
        return Frame(
            byte_start=self._byte_start,
            byte_end=self._byte_end,
            record_uuid=safe_id(record.get("uuid")),
            timestamp=timestamp,
            parent_uuid=safe_id(record.get("parentUuid")) or None,
            cwd=cwd,
            git_branch=text_field(record, "gitBranch"),
            agent_version=version,
            is_sidechain=self._source.agent_id is not None or record.get("isSidechain") is True,
        )

    def _told_of_subagent(self, record: JsonObject) -> JsonObject | None:
        """Return a subagent's message, which Claude Code 2.1.9 to 2.1.79 repeated as progress, as a
        record of a side chain; None where the subagent's own file has it, or it is none."""
        data = object_field(record, "data")
        message = object_field(data, "message")
        agent = safe_id(data.get("agentId"))
        if text_field(data, "type") != "agent_progress" or message.get("type") not in SPOKEN:
            return None
        path, name = self._source.path, f"agent-{agent}.jsonl"
        if agent not in self._own_files:
            places = (path.with_suffix("") / "subagents" / name, path.with_name(name))
            self._own_files[agent] = any(map(os.path.isfile, places))
        if self._own_files[agent]:
            return None
        return {**record, "parentUuid": None, **message, "isSidechain": True}

    def _note_origin(self, record: JsonObject) -> None:
        """Note whether a record was copied from another session: by a fork or an old resume."""
        if self._source.agent_id is not None:
            return
        forked_from = safe_id(object_field(record, "forkedFrom").get("sessionId"))
        origin = forked_from or safe_id(record.get("sessionId"))
        if forked_from or (origin and origin != self._source.session_id):
            self._report.see_parent(origin)
            self._forked = self._forked or bool(forked_from)

    def _spoken(self, name: str, record: JsonObject, frame: Frame) -> list[Record]:
        if not frame.record_uuid:
            frame.record_uuid = derived_id(
                name, text_field(record, "timestamp"), render_value(record.get("message", record))
            )
        frame.content = [record.get(part) for part in _PARTS_WITH_TEXT]
        if self._met(frame.record_uuid):
            return self._resolve(REPEATED_ID)
        self._note_origin(record)
        self._origin = session_origin(record)
        uuid = frame.record_uuid
        if frame.is_sidechain and self._is_warm_up(name, record):
            records = self._resolve("warm-up")
        else:
            records = self._by_type(name, record, frame)
        if not any(block.record_uuid == uuid for block in records):
            self._report.pass_over(uuid, frame.content)
        return records

    def _is_warm_up(self, name: str, record: JsonObject) -> bool:
        """Whether an agent was only asked to be ready, until it is asked for work."""
        if name == "user":
            content = object_field(record, "message").get("content")
            self._warming_up = content_text(content).strip(" .!\n").lower() == _WARM_UP
        return self._warming_up

    def _by_type(self, name: str, record: JsonObject, frame: Frame) -> list[Record]:
        if name == "assistant":
            released = self._agent_spoke(record, frame)
            records = self._assistant(record, frame)
            if not self._is_told:
                tokens = self._tokens.new(record, is_sidechain=frame.is_sidechain)
                records = self._with_tokens(records, frame, tokens)
            return released + self._resolve(records)
        if name == "user":
            return self._user(record, frame)
        if name == "system":
            return self._resolve(self._system(record, frame))
        attachment = object_field(record, "attachment")
        kind = text_field(attachment, "type")
        if kind == "queued_command":
            return self._queued_command(attachment, frame)
        return self._resolve(self._attachment(kind, attachment, frame))

    # --- assistant ---------------------------------------------------------------------

    def _agent_spoke(self, record: JsonObject, frame: Frame) -> list[Record]:
        """Emit the prompts that went into the running turn, once a new API message begins."""
        frame.message_id = safe_id(object_field(record, "message").get("id"))
        if frame.is_sidechain:
            return []
        if frame.message_id and frame.message_id == self._message_id:
            return []
        self._message_id = frame.message_id
        return self._release(self._queue.agent_spoke())

    def _assistant(self, record: JsonObject, frame: Frame) -> Outcome:
        message = object_field(record, "message")
        model = text_field(message, "model")
        frame.model = safe_name(model)
        content = message.get("content")
        failed = record.get("isApiErrorMessage") is True
        if model == "<synthetic>" or failed:
            text, subtype = content_text(content).strip(), "api-error" if failed else "synthetic"
            return self._records(frame, "system", text, subtype, is_error=failed)
        return self._from_assistant(content, frame)

    # --- user --------------------------------------------------------------------------

    def _user(self, record: JsonObject, frame: Frame) -> list[Record]:
        content = object_field(record, "message").get("content")
        if isinstance(content, list):
            results = [block for block in content if _is_tool_result(block)]
            if results:
                return self._tool_results(record, frame, results, content)
        typed, documents = _typed(content)
        classified = classify_record(record, typed, self._origin_of(record))
        self._unknown_command = unknown_command(classified.text)
        released, is_repeated = self._sent(classified, frame)
        if is_repeated:
            return released + self._resolve(DUPLICATE)
        records = self._rewound(frame) if classified.kind == "prompt" else []
        records += self._text_record(frame, classified) + self._documents(frame, documents)
        return released + self._resolve(records)

    def _rewound(self, frame: Frame) -> list[Record]:
        """Return a note before a prompt that stands in the place of an earlier one: the human went
        back to before that, and its turn was no part of the conversation from then on."""
        if frame.is_sidechain or frame.parent_uuid is None:
            return []
        before = self._prompts_below.get(frame.parent_uuid)
        self._prompts_below[frame.parent_uuid] = frame.record_uuid
        text = f"rewound to before the prompt {before}" if before else ""
        return self._records(frame, "system", text, "rollback")

    def _origin_of(self, record: JsonObject) -> Origin:
        return record_origin(record, self._origin, self._report.see_unknown)

    def _sent(self, classified: ClassifiedText, frame: Frame) -> tuple[list[Record], bool]:
        """Return what a user record releases from the queue, and whether that has told it."""
        if frame.is_sidechain:
            return [], False
        if classified.kind == "prompt":
            return self._release(self._queue.prompt_sent(classified)), False
        if classified.subtype == "local-command":
            return self._release(self._queue.prompt_sent(classified._replace(text=""))), False
        resolved, is_repeated = self._queue.delivered(classified)
        return self._release(resolved), is_repeated

    def _text_record(self, frame: Frame, classified: ClassifiedText) -> list[Record]:
        if classified.subtype == PLAN and (planned := planning_transcript(classified.text)):
            return self._records(frame, classified.kind, classified.text, PLAN, paths=(planned,))
        if (
            frame.is_sidechain and classified.subtype == UNKNOWN_TAG
        ):  # an agent framed it for another
            classified = ClassifiedText("prompt", "", classified.text)
        return super()._text_record(frame, classified)

    def _documents(self, frame: Frame, documents: list[str]) -> list[Record]:
        """Return the documents that the human attached to a prompt, titles and texts."""
        return [
            record
            for text in documents
            for record in self._records(frame, "attachment", text, ATTACHED)
        ]

    def _tool_results(
        self, record: JsonObject, frame: Frame, results: list[JsonObject], content: list[Any]
    ) -> list[Record]:
        """Return the tool results and the texts in the same record: some 2.0.x and 2.1.x
        versions put a prompt typed while the tool ran there, and nowhere else."""
        spawned = safe_id(object_field(record, "toolUseResult").get("agentId"))
        records = [record for block in results for record in self._block(block, frame)]
        if spawned:
            records = [replace(record, spawned_agent_id=spawned) for record in records]
        typed, documents = _typed([block for block in content if not _is_tool_result(block)])
        classified = classify_record(record, typed, self._origin_of(record))
        released: list[Record] = []
        if classified.kind == "prompt" and not frame.is_sidechain:
            resolved, emitted = self._queue.delivered(classified)
            released = self._release(resolved)
            classified = ClassifiedText("system", "", "") if emitted else _queued(classified)
        records += self._text_record(frame, classified) + self._documents(frame, documents)
        return released + self._resolve(records)

    # --- everything else ---------------------------------------------------------------

    def _system(self, record: JsonObject, frame: Frame) -> Outcome:
        subtype = text_field(record, "subtype")
        text = text_field(record, "content")
        if subtype == "away_summary":
            return self._records(frame, "summary", text, "away-summary")
        if subtype == "compact_boundary":
            return self._records(frame, "system", text, "compact-boundary")
        if subtype == "informational" and (typed := _UNTYPED_ARGUMENTS.fullmatch(text)):
            return self._typed_behind(frame, typed.group(1))
        if subtype == "local_command":
            classified = classify_record(record, text, UNKNOWN)
            if classified.kind == "prompt" and (
                classified.subtype != "command" or frame.is_sidechain
            ):
                classified = ClassifiedText("system", "local-command", classified.text)
            return self._text_record(frame, classified)
        if subtype in SYSTEM_NOISE:
            return "system-notice"
        return self._unknown("system", subtype)

    def _typed_behind(self, frame: Frame, arguments: str) -> list[Record]:
        """Return what was typed behind a command that does not exist, with its name."""
        name = f"/{self._unknown_command.removeprefix('/')} " if self._unknown_command else ""
        subtype = PROGRAM if self._origin == BY_PROGRAM else "command"
        return self._text_record(frame, ClassifiedText("prompt", subtype, f"{name}{arguments}"))

    def _queued_command(self, attachment: JsonObject, frame: Frame) -> list[Record]:
        typed, documents = _typed(attachment.get("prompt"))
        of_prompts = attachment.get("commandMode", "prompt") == "prompt"
        origin = self._origin_of(attachment)
        if not of_prompts and origin.by != "machine":
            origin = Origin("machine", "task-notification")
        classified = classify_queued(typed, origin)
        if frame.is_sidechain:
            return self._resolve(self._text_record(frame, classified))
        resolved, emitted = self._queue.delivered(classified)
        released = self._release(resolved)
        if emitted:
            return released + self._resolve(DUPLICATE)
        classified = _queued(classified) if classified.kind == "prompt" else classified
        return released + self._resolve(
            self._text_record(frame, classified) + self._documents(frame, documents)
        )

    def _attachment(self, kind: str, attachment: JsonObject, frame: Frame) -> Outcome:
        path = text_field(attachment, "filename") or text_field(attachment, "planFilePath")
        paths = (path,) if path else ()
        if kind == "file":
            return self._records(frame, "attachment", path, "file", paths=paths)
        if kind == "selected_lines_in_ide":
            text = text_field(attachment, "content")
            return self._records(frame, "attachment", text, "selection", paths=paths)
        if kind.startswith("plan"):
            plan = text_field(attachment, "planContent") or text_field(attachment, "plan")
            if plan:
                return self._records(frame, "attachment", plan, "plan", paths=paths, role="system")
        if kind in ATTACHMENT_NOISE:
            return "attachment-notice"
        return self._unknown("attachment", kind)

    def _leaf_summary(self, record: JsonObject, frame: Frame) -> Outcome:
        """A title that describes the session of its leaf, seldom this one."""
        text = text_field(record, "summary")
        frame.parent_uuid = safe_id(record.get("leafUuid")) or None
        frame.record_uuid = derived_id("summary", frame.parent_uuid or "", text)
        if self._met(frame.record_uuid):
            return "repeated"
        records = self._records(frame, "summary", text, "leaf-summary")
        if not records:
            self._report.pass_over(frame.record_uuid)
        return records

    def _repeated(self, frame: Frame, kind: Kind, subtype: str, text: str) -> Outcome:
        """Session metadata, written again and again: only its changes are kept."""
        if self._latest.get(subtype) == text_hash(text):
            return "repeated"
        self._latest[subtype] = text_hash(text)
        frame.record_uuid = derived_id(subtype, self._source.session_id, text)
        return self._records(frame, kind, text, subtype, role="system")

    def _queue_operation(self, record: JsonObject, frame: Frame) -> list[Record]:
        operation = record.get("operation")
        if operation == "enqueue":
            return self._release(self._queue.enqueue(queued_text(record, frame)))
        resolved: list[ResolvedEntry] = []
        dropped = "queue-operation"
        if operation in ("remove", "dequeue"):
            take = self._queue.remove if operation == "remove" else self._queue.dequeue
            if take(queued_text(record, frame)):
                return []
        elif operation == "popAll":
            taken = classify_queued(content_text(record.get("content"))).text
            resolved = self._queue.pop_all(taken)
            dropped = WITHDRAWN if resolved else dropped
        else:
            self._report.see_unknown(f"queue-operation/{type_name(operation)}")
        return self._resolve(dropped) + self._release(resolved)

    def _release(self, resolved: list[ResolvedEntry]) -> list[Record]:
        records: list[Record] = []
        for queued, reason in resolved:
            classified = queued.content
            if classified.kind == "prompt" and classified.subtype not in NOT_TYPED:
                classified = classified._replace(
                    subtype=PROGRAM if self._origin == BY_PROGRAM else "queued"
                )
            # Nobody types a text twice in one millisecond: a record with its time is a copy.
            if not reason and self._met(queued.frame.record_uuid):
                reason = DUPLICATE
            records += self._resolve(reason or self._text_record(queued.frame, classified))
        return records


def _queued(classified: ClassifiedText) -> ClassifiedText:
    return classified if classified.subtype in NOT_TYPED else classified._replace(subtype="queued")


def _typed(content: Any) -> tuple[str, list[str]]:
    """Return what a message's content says, and the texts of the documents attached to it."""
    if not isinstance(content, list):
        return content_text(content), []
    documents = {at: text for at, block in enumerate(content) if (text := document_text(block))}
    rest = content_text([block for at, block in enumerate(content) if at not in documents])
    return rest or (DOCUMENT if documents else ""), list(documents.values())


def _is_tool_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


class AnswerTokens:
    """What the answers of one file took so far."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str], Tokens] = {}
        self._messages: dict[str, bool] = {}

    def new(self, record: JsonObject, *, is_sidechain: bool) -> Tokens:
        """Return by how much a line raises what its answer took."""
        message = object_field(record, "message")
        tokens = _tokens(object_field(message, "usage"))
        name = text_field(message, "id")
        if not name or not any(tokens):
            return tokens
        key = (name, text_field(record, "requestId"))
        before = self._counted.get(key)
        if before is None and name in self._messages and (is_sidechain or self._messages[name]):
            return Tokens()
        self._messages.setdefault(name, is_sidechain)
        before = before or Tokens()
        if sum(tokens[:4]) <= sum(before[:4]):
            return Tokens()
        self._counted[key] = tokens
        return Tokens(*(now - then for now, then in zip(tokens, before, strict=True)))


def _tokens(usage: JsonObject) -> Tokens:
    return Tokens(
        count_field(usage, "input_tokens"),
        count_field(usage, "output_tokens"),
        count_field(usage, "cache_read_input_tokens"),
        count_field(usage, "cache_creation_input_tokens"),
        count_field(object_field(usage, "cache_creation"), "ephemeral_1h_input_tokens"),
    )
