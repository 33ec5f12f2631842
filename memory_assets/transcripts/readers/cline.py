"""Cline, and what came of it: Roo Code, and Kilo until April 2026.

Where: a directory for each task in an extension's storage,
`<user data>/globalStorage/<extension>/tasks/<task>/`, with `ui_messages.json`, what the screen
showed, and `api_conversation_history.json`, what the model got, which is condensed and repeats it:
it is read only where the other is missing. Cline's own program (CLI 3, extension 4) keeps
`~/.cline/data/sessions/<session>/<session>.messages.json` with a manifest beside it.

A task renders to its facts, a line for each row or message, and its title last.

A row of the screen is `{ts, type: say|ask, say|ask, text}`; for calls of tools its text is JSON. It
is never condensed, unlike the model's own history, which repeats it. The kinds of rows are those of
`ClineSay` and `ClineAsk` in the extensions' sources of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from typing import Any, ClassVar

from memory_assets.errors import DamagedTranscript, printable
from memory_assets.models import Record
from memory_assets.paths import project_slug
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import PERSON, Origin
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.blocks import ANSWER, CallBlock, ResultBlock, Shapes, blocks_of
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import (
    from_json,
    object_field,
    objects_in,
    rows_of,
    text_field,
)
from memory_assets.transcripts.ids import safe_id, type_name
from memory_assets.transcripts.json_documents import bytes_of, json_beside, object_beside
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.reader import RenderingReader
from memory_assets.transcripts.session import (
    STATE,
    SUPERSEDED,
    UNKNOWN_TYPE,
    USAGE,
    Call,
    Frame,
    Outcome,
    tokens_in,
)
from memory_assets.transcripts.stored import StoredParser, session_rows
from memory_assets.transcripts.tags import find_enclosed, replace_enclosed
from memory_assets.transcripts.texts import IMAGE, render_value
from memory_assets.word_lists import word_set

_FOLDERS = ("tasks", "sessions")
_SCREEN = ("ui_messages.json", "claude_messages.json")
_HISTORY = "api_conversation_history.json"
_ITEM = "history_item.json"
_MESSAGES = ".messages.json"
_HEAD = 1 << 18
_DIRECTORY = re.compile(
    rb"# Current (?:Workspace|Working) Directory \(((?:[^()\\\n]|\\\\)+)\) Files"
)
_METRICS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
_NO_TASK = "it is no list of messages"
_RESTORE = (
    "if another agent wrote it, move it to its directory; else restore it, or delete the task in "
    "the editor; it is read again when it changes"
)
_TYPED = re.compile(
    r"[^<]{0,400}<(task|feedback|answer|user_message|user_input)\b[^<>]*>\s*(.*?)\s*</\1>\s*",
    re.DOTALL,
)
_INSERTED = re.compile(
    r"<(environment_details|explicit_instructions|file_content|folder_content|mode_notice"
    r"|custom_instructions|SYSTEM_NOTICE)\b[^<>]*>"
)
_RESULT = re.compile(r"\[[^\n]{1,400}\] Result:")
_MACHINE = ("[TASK RESUMPTION]", "[ERROR]", "# task_progress")
_BY_PERSON = re.compile(r"provided (?:the following context|feedback)|New instructions|denied")
PARTIAL = "partial"
"""Subtype of an answer that was broken off."""
_TYPED_ROWS = word_set("task user_feedback")
_SAID = word_set("text completion_result plan_completion_result")
_CALLS = word_set("tool command use_mcp_server browser_action browser_action_launch")
_RESULTS = word_set(
    "command_output mcp_server_response browser_action_result codebase_search_result subtask_result"
)
_ERRORS = word_set(
    "error diff_error clineignore_error rooignore_error command_permission_denied "
    "api_req_failed condense_context_error mistake_limit_reached auto_approval_max_req_reached"
)
_USAGE = word_set("api_req_started api_req_finished deleted_api_reqs")
_COUNTS = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
_NOTICES = word_set(
    "checkpoint_created checkpoint_saved mcp_server_request_started mcp_notification "
    "load_mcp_docs load_mcp_documentation resume_task resume_completed_task "
    "shell_integration_warning shell_integration_warning_with_suggestion api_req_retried "
    "api_req_retry_delayed error_retry new_task new_task_started condense compaction "
    "summarize_task report_bug task_progress user_edit_todos hook_status hook_output_stream "
    "generate_explanation info subagent use_subagents subagent_usage conditional_rules_applied"
)
_QUESTIONS = word_set("followup plan_mode_respond act_mode_respond")


class TaskParser(StoredParser):
    """The state of reading a task: rows of the screen, or messages of the model's history."""

    title_subtype = "first-prompt"
    shapes: ClassVar[Shapes] = {
        "text": ANSWER,
        "tool_use": CallBlock("id", "name", "input"),
        "tool_result": ResultBlock("tool_use_id", "content", "is_error"),
        "redacted_thinking": None,
    }
    blocks_are = "block"

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._is_first = True
        self._open: tuple[str, Call] = ("", Call(""))

    def take(self, row: JsonObject) -> list[Record]:
        """Return the `Record`s that a line gives."""
        if row.get("type") == "row":
            return self._on_screen(row)
        return super().take(row)

    # --- the screen --------------------------------------------------------------------

    def _on_screen(self, row: JsonObject) -> list[Record]:
        """Return the `Record`s that a row of the screen gives."""
        message = object_field(row, "row")
        kind = text_field(message, "say") or text_field(message, "ask")
        key = f"{message.get('ts')}/{kind}"
        self._ids[key] += 1
        own = f"{key}/{self._ids[key]}"
        frame = self._frame(message, own, message.get("ts"))
        if row.get(SUPERSEDED):
            return self._resolve(SUPERSEDED)
        return self._resolve(self._row(kind, message, frame))

    def _row(self, kind: str, message: JsonObject, frame: Frame) -> Outcome:
        text, asks = text_field(message, "text"), message.get("type") == "ask"
        if kind in _TYPED_ROWS or (kind == "text" and self._is_first and not asks):
            self._is_first = False
            images = message.get("images")
            shown = [IMAGE] * len(images) if isinstance(images, list) else []
            return self._user_text(frame, "\n".join([text, *shown]), PERSON)
        if kind in _SAID:
            subtype = PARTIAL if message.get("partial") else ""
            thought = text_field(message, "reasoning")
            records = self._records(frame, "thinking", thought)
            return records + self._records(frame, "assistant_text", text, subtype)
        if kind == "reasoning":
            text = text or text_field(message, "reasoning")
            return self._records(frame, "thinking", text)
        if kind in _QUESTIONS:
            return self._question(text, frame)
        if kind in _CALLS:
            return self._called_on_screen(kind, text, frame)
        if kind in _RESULTS:
            return [self._result(text, frame)]
        if kind in _ERRORS:
            return self._records(frame, "system", text, "api-error", is_error=True)
        if kind == "condense_context":
            text = text_field(object_field(message, "contextCondense"), "summary") or text
            return self._records(frame, "summary", text, "compact-summary")
        if kind == "user_feedback_diff":
            changed: Any = from_json(text)
            paths = (text_field(changed, "path"),) if isinstance(changed, dict) else ()
            return self._records(frame, "attachment", text, "edit", paths=paths)
        if kind in _USAGE:
            usage: Any = from_json(text)
            counts = usage if isinstance(usage, dict) else {}
            return self._with_tokens(USAGE, frame, tokens_in(counts, _COUNTS))
        if kind in _NOTICES:
            return self._records(frame, "system", text, "notice") or STATE
        self._report.see_unknown(f"row/{type_name(kind)}")
        return self._records(frame, "system", text, "notice") or UNKNOWN_TYPE

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
        return self._records(frame, "assistant_text", text, "question")

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

    # --- the model's history -----------------------------------------------------------

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        own = row.get("id") or f"{row.get('ts')}/{role}/{self._report.records}"
        model = text_field(object_field(row, "modelInfo"), "id")
        frame = self._frame(row, own, row.get("ts"), model)
        blocks = blocks_of(row.get("content"))
        is_summary = row.get("isSummary") is True
        if role == "user" and not is_summary:
            return self._from_user(blocks, frame)
        outcome = [record for block in blocks for record in self._part(block, frame, is_summary)]
        return self._with_tokens(outcome, frame, tokens_in(object_field(row, "metrics"), _METRICS))

    def _from_user(self, blocks: Sequence[JsonObject], frame: Frame) -> list[Record]:
        texts: list[str] = []
        records: list[Record] = []
        for block in blocks:
            if block.get("type") == "text":
                texts.append(text_field(block, "text"))
            else:
                records += self._part(block, frame, False)
        typed, inserted = typed_in(texts, is_first=self._is_first or self._is_of_program)
        self._is_first = False
        records += self._user_text(frame, "\n".join(typed))
        for text in inserted:
            records += self._user_text(frame, text, Origin("machine", "injected"))
        return records

    @property
    def _is_of_program(self) -> bool:
        """Whether the session is one of Cline's own program, which wraps no text of a person."""
        return self._source.path.name.endswith(_MESSAGES)

    def _part(self, block: JsonObject, frame: Frame, is_summary: bool) -> list[Record]:
        kind, text = block.get("type"), text_field(block, "text")
        if kind == "text" and is_summary:
            return self._records(frame, "summary", text, "compact-summary")
        if kind in ("thinking", "reasoning"):
            return self._records(frame, "thinking", text_field(block, "thinking") or text)
        if kind == "file":
            return self._attached(frame, text_field(block, "path"))
        if kind == "image":
            return self._records(frame, "attachment", IMAGE, "image")
        return self._block(block, frame)

    def _result_text(self, content: Any) -> str:
        """Return the text of a tool's result: blocks, or what each of several questions gave."""
        if not isinstance(content, list):
            return render_value(content or "")
        texts = []
        for block in content:
            if isinstance(block, dict) and "query" in block and "result" in block:
                texts.append(f"{render_value(block['query'])}\n{render_value(block['result'])}")
            elif isinstance(block, dict):
                image = IMAGE if block.get("type") == "image" else ""
                texts.append(text_field(block, "text") or image or render_value(block))
            else:
                texts.append(render_value(block))
        return "\n".join(texts)


class ClineReader(RenderingReader):
    """Reads the tasks of Cline."""

    agent = "cline"
    version = "5"
    session = TaskParser
    left_out = (
        LeftOut("", "a request to the model, which repeats the talk", dropped=USAGE),
        LeftOut("", "a row as it came in, before it was whole", dropped=SUPERSEDED),
        LeftOut("message.*.content.file", "a file that was attached; its name is kept"),
        LeftOut("message.*.content.thinking.signature", "signature of a thought"),
        LeftOut("message.*.content.image", "an image"),
        LeftOut("message.*.id", "ids of the program's interface to the model"),
        LeftOut("message.*.content.tool_result.tool_use_id", "ids of calls"),
        LeftOut("row.row.say.text", "a request, which repeats the talk", opens='{"request"'),
        LeftOut("row.row.say.images", "an image"),
        LeftOut("row.row.*.conversationHistoryIndex", "where the model's history has it"),
        LeftOut("row.row.*.lastCheckpointHash", "the commit of a checkpoint"),
    )

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the tasks in an extension's storage, and the sessions of Cline's own program."""
        walk = Walk(self.agent, note)
        base = walk.root(root)
        if base is None:
            return
        inside = [base / name for name in _FOLDERS if walk.is_there(base / name, S_ISDIR)]
        for folder in inside or ([base] if base.name in _FOLDERS else []):
            for entry in walk.entries(folder):
                if walk.is_directory(entry):
                    yield from self._of_folder(walk, Path(entry.path), known)

    def _of_folder(self, walk: Walk, folder: Path, known: Known) -> Iterator[Source]:
        paths = [folder / name for name in (*_SCREEN, _HISTORY) if walk.is_there(folder / name)]
        if paths:
            kept = [paths[0], *(path for path in (folder / _ITEM,) if walk.is_there(path))]
            yield from self._found(kept, safe_id(folder.name), None, known)
            return
        for path in sorted(folder.glob(f"*{_MESSAGES}")):
            own = path.name.removesuffix(_MESSAGES)
            agent = safe_id(own) if own != folder.name else None
            manifest = path.with_name(f"{own}.json")
            kept = [path, *([manifest] if walk.is_there(manifest) else [])]
            yield from self._found(kept, safe_id(folder.name), agent, known)

    def _found(
        self, paths: Sequence[Path], session_id: str, agent_id: str | None, known: Known
    ) -> Iterator[Source]:
        source = Source(self.agent, "", session_id, agent_id, paths[0], 0, 0, tuple(paths[1:]))
        state = self.state(source)
        if state is None:
            return
        seen = known(paths[0], *state)
        directory = seen.directory if seen else _facts(paths[0])[0]
        project = seen.project if seen else project_slug(directory)
        yield replace(
            source, project=project, directory=directory, size=state[0], mtime_ns=state[1]
        )

    def holds(self, source: Source) -> bool:
        """Return whether a source is a task, by the name of its file."""
        name = source.path.name
        return name in (*_SCREEN, _HISTORY) or name.endswith(_MESSAGES)

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the rows of a task."""
        cwd, title, more = _facts(source.path)
        facts = {"id": source.agent_id or source.session_id, "cwd": cwd, **more}
        messages = _messages(source.path)
        if source.path.name in _SCREEN:
            rows = _screen_rows(messages)
        else:
            rows = ({"type": "message", **message} for message in messages)
        yield from session_rows(facts, {"title": title}, rows)


class RooReader(ClineReader):
    """Reads the tasks of Roo Code."""

    agent = "roo"


class KiloTaskReader(ClineReader):
    """Reads the tasks of Kilo until April 2026."""

    agent = "kilo"


def _screen_rows(messages: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Yield the rows of the screen; those that a later one replaced are marked."""
    for place, message in enumerate(messages):
        row: JsonObject = {"type": "row", "row": message}
        if message.get("partial") and message.get("say") != "reasoning":
            opening = text_field(message, "text").strip()
            later = (text_field(message, "text").strip() for message in messages[place + 1 :])
            calls = message.get("say") == "tool" or message.get("ask") in ("tool", "command")
            if calls or any(text.startswith(opening) for text in later):
                row[SUPERSEDED] = True
        yield row


def _messages(path: Path) -> list[JsonObject]:
    document = from_json(bytes_of(path))
    if isinstance(document, dict):
        document = document.get("messages")
    if not isinstance(document, list):
        raise DamagedTranscript(f"{printable(path)}: {_NO_TASK}", _NO_TASK, _RESTORE)
    return rows_of(document)


def _facts(path: Path) -> tuple[str, str, JsonObject]:
    """Return directory and title of a task, and what else is known of it, from what stands beside
    its messages."""
    if path.name.endswith(_MESSAGES):
        about = object_beside(path.with_name(f"{path.name.removesuffix(_MESSAGES)}.json"))
        metadata = object_field(about, "metadata")
        more = {"start": about.get("started_at") or about.get("created_at")}
        more |= {"model": about.get("model")}
        more["parent"] = object_field(metadata, "fork").get("forkedFromSessionId")
        return text_field(about, "cwd"), text_field(metadata, "title"), more
    folder = path.parent
    about = object_beside(folder / _ITEM)
    listing = (
        json_beside(folder.parent.parent / "state" / "taskHistory.json") if not about else None
    )
    about = about or next((x for x in objects_in(listing) if x.get("id") == folder.name), {})
    cwd = text_field(about, "workspace") or text_field(about, "cwdOnTaskInitialization")
    more = {"model": about.get("modelId")}
    return cwd or _directory_in(folder / _HISTORY), text_field(about, "task"), more


def _directory_in(path: Path) -> str:
    """Return the directory that the first requests to the model name."""
    try:
        with path.open("rb") as file:
            match = _DIRECTORY.search(file.read(_HEAD))
    except OSError:
        return ""
    return match.group(1).decode("utf-8", "replace").replace("\\\\", "\\") if match else ""


def typed_in(texts: Sequence[str], *, is_first: bool) -> tuple[list[str], list[str]]:
    """Return what a person typed in a message to the model, and what was inserted. What was typed
    is in tags; the text after a bare `[tool] Result:` is a tool's, whatever tags it holds."""
    typed: list[str] = []
    inserted: list[str] = []
    of_tool = False
    for text in texts:
        if _RESULT.match(text):
            of_tool = not text.partition("Result:")[2].strip()
            inserted.append(text)
            continue
        own = replace_enclosed(text, _INSERTED, lambda _: "").strip()
        if own != text.strip():
            inserted += [
                text[begin.start() : after] for begin, _, after in find_enclosed(text, _INSERTED)
            ]
        tagged = _TYPED.fullmatch(own)
        if tagged and not (of_tool and "\n" in own and not _BY_PERSON.search(own[:200])):
            typed.append(tagged.group(2))
        elif own and is_first and not of_tool and not own.startswith(_MACHINE):
            typed.append(own)
        elif own:
            inserted.append(own)
        of_tool = False
    return [text for text in typed if text.strip()], inserted
