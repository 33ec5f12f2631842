"""Claude Code, 1.0.x to 2.1.x: `<project>/<session>.jsonl` and its subagents' files.

Where: `projects/<slug>/<sessionId>.jsonl`; subagents in
`<slug>/<sessionId>/subagents/**/agent-<id>.jsonl`, up to 2.0.x flat in
`<slug>/agent-<id>.jsonl`. Everything else is left out: `journal.jsonl` of workflows,
`history.jsonl`, `*.meta.json`, `tool-results/`, and the files of agents that did no work
of their own (`agent-aprompt_suggestion-*`: speculative next prompts,
`agent-acompact-*`: compaction). `agent-aside_question-*` are read: files of agents that answer
one `/btw` question. They begin with a copy of the main conversation, under the same uuids. The
question is the user text behind a reminder that says so, else the last one; it is the human's, the
answer the agent's.

Records are parsed in `records.py`, `prompts.py` and `queue.py`.

Claude desktop's sessions ("Cowork") have the same format:
`<organisation>/<workspace>/local_<id>/.claude/projects/<directory>/<session id>.jsonl` in
`local-agent-mode-sessions`. Title and folder of the user's stand in `local_<id>.json`; the
directory that the records name is one of a virtual machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from memory_assets.agents import CLAUDE_CODE, HISTORY_FILE
from memory_assets.errors import TranscriptError
from memory_assets.models import Record
from memory_assets.paths import project_slug
from memory_assets.project_names import directory_of_folder
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import ClassifiedText, without_reminders
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.claude.history import HistoryParser, lost_sessions
from memory_assets.transcripts.claude.queue import WITHDRAWN
from memory_assets.transcripts.claude.records import ClaudeParser
from memory_assets.transcripts.discovery import SUFFIX, File, Identity, Walk
from memory_assets.transcripts.fields import clean_text, object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id
from memory_assets.transcripts.json_documents import object_beside
from memory_assets.transcripts.lines import JsonObject, Located, head_objects, read_head
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import COPIED, SIDE_QUESTION, Frame, SessionParser
from memory_assets.transcripts.texts import content_text
from memory_assets.transcripts.times import parse_time

_PIXELS = "pixels of an image, or pages of a document that is no text"
_HARNESS = "lists of tools, skills and agents, and reminders, by the program for the model"
_IDS = "ids of records and requests"
_HOOKS = "what hooks, which are the user's own programs, said to the model"
_COPIES = "the tool's own form of what its call or its result has"
_FILES = "content of a file that is on disk; its path is kept"
_EDITOR = "notices of the editor: what is open, what its checkers say"
_NAMES = "the name of a command, whose arguments are kept"
_NOTICE = "notices of the program to the model"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("", "a prompt of another session of the same history", dropped="other-session"),
    LeftOut("", "the program's own warming up, without a task", dropped="warm-up"),
    LeftOut("", "the talk that a side question was asked in", dropped=COPIED),
    LeftOut("*.uuid", _IDS),
    LeftOut("*.parentUuid", _IDS),
    LeftOut("system.*.uuid", _IDS),
    LeftOut("system.*.parentUuid", _IDS),
    LeftOut("user.sourceToolAssistantUUID", _IDS),
    LeftOut("summary.leafUuid", _IDS),
    LeftOut(
        "assistant.message.message.assistant.content.thinking.signature", "signature of a thought"
    ),
    LeftOut("user.message.user.content.tool_result.content.image.source", _PIXELS),
    LeftOut("user.message.user.content.image.source", _PIXELS),
    LeftOut("user.message.user.content.document.source.base64", _PIXELS),
    LeftOut("user.toolUseResult.image.source", _PIXELS),
    LeftOut("user.toolUseResult.image.file.*.base64", _PIXELS),
    LeftOut("user.toolUseResult.pdf.file.base64", _PIXELS),
    LeftOut("user.toolUseResult.originalFile", "a file before an edit that is kept"),
    LeftOut("user.toolUseResult.originalFileContents", "a file before an edit that is kept"),
    LeftOut("user.toolUseResult.original_file", "a file before an edit that is kept"),
    LeftOut("user.toolUseResult.updated_file", "a file after an edit that is kept"),
    LeftOut("user.toolUseResult.notebook_path", _COPIES),
    LeftOut("user.toolUseResult.*.originalFile", "a file before an edit that is kept"),
    LeftOut("user.toolUseResult.structuredPatch", _COPIES),
    LeftOut("user.toolUseResult.*.structuredPatch", _COPIES),
    LeftOut("user.toolUseResult.stdout", "the rest of an output that the model did not see"),
    LeftOut("user.toolUseResult.text.file.content", _FILES),
    LeftOut("user.toolUseResult.content", "the rest of an output that the model did not see"),
    LeftOut("user.message.user.content.<system-reminder>", _HARNESS),
    LeftOut("user.message.user.content.text.text.<system-reminder>", _HARNESS),
    LeftOut("attachment.attachment.skill_listing", _HARNESS),
    LeftOut("attachment.attachment.agent_listing_delta", _HARNESS),
    LeftOut("attachment.attachment.deferred_tools_delta", _HARNESS),
    LeftOut("attachment.attachment.mcp_instructions_delta", _HARNESS),
    LeftOut("attachment.attachment.hook_success", _HOOKS),
    LeftOut("attachment.attachment.hook_additional_context", _HOOKS),
    LeftOut("attachment.attachment.hook_system_message", _HOOKS),
    LeftOut("attachment.attachment.hook_non_blocking_error", _HOOKS),
    LeftOut("attachment.attachment.hook_cancelled", _HOOKS),
    LeftOut("attachment.attachment.async_hook_response", _HOOKS),
    LeftOut("system.stop_hook_summary", _HOOKS),
    LeftOut("system.microcompact_boundary", _NOTICE),
    LeftOut("system.informational", _NOTICE),
    LeftOut("system.api_error", _NOTICE),
    LeftOut("system.bridge_status", _NOTICE),
    LeftOut("user.toolUseResult", _COPIES, "InputValidationError:"),
    LeftOut(
        "progress.data.agent_progress.message.user.toolUseResult", _COPIES, "InputValidationError:"
    ),
    LeftOut("user.toolUseResult.filePath", _COPIES),
    LeftOut("user.toolUseResult.update", _COPIES),
    LeftOut("user.mcpMeta.structuredContent", _COPIES),
    LeftOut("assistant.requestId", _IDS),
    LeftOut("last-prompt.lastPrompt", "the beginning of a prompt that is kept"),
    LeftOut("user.toolUseResult.url", _COPIES),
    LeftOut("user.toolUseResult.create", _COPIES),
    LeftOut("user.toolUseResult.gitOperation", _COPIES),
    LeftOut("user.message.user.content.<command-message>", _NAMES),
    LeftOut("user.message.user.content.<command-name>", _NAMES),
    *(
        LeftOut(f"user.message.user.content.{place}<{tag}>", _EDITOR)
        for place in ("", "text.text.")
        for tag in ("ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics")
    ),
    LeftOut("attachment.attachment.opened_file_in_ide", _EDITOR),
    LeftOut("attachment.attachment.plan_mode_exit", _HARNESS),
    LeftOut("progress.data.hook_progress", _HOOKS),
    LeftOut("progress.data.agent_progress.normalizedMessages", _COPIES),
    LeftOut("attachment.attachment.edited_text_file", _FILES),
    LeftOut("attachment.attachment.file.content", _FILES),
    LeftOut("attachment.attachment.nested_memory", _FILES),
    LeftOut("attachment.attachment.diagnostics", _EDITOR),
    LeftOut("attachment.attachment.plan_mode", _HARNESS),
    LeftOut("progress.data.bash_progress", "an output as it grew; all of it is the result"),
    LeftOut("", "a queued text that its writer took back", dropped=WITHDRAWN),
    LeftOut("frame-link.frameUrl", _COPIES),
    LeftOut("queue-operation.content", "a bare command to the program itself", "/"),
    LeftOut("queue-operation.content", _NOTICE, "<task-notification>"),
    LeftOut("queue-operation.content", _NOTICE, '{"task_id"'),
)
"""By path of keys."""

OF_SUBAGENTS: tuple[LeftOut, ...] = (
    LeftOut("progress.data.agent_progress", "a subagent's messages, which its own file has"),
)
"""What is left out of a session whose subagents' files are there."""


_AGENT = "agent-"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SUBAGENT_DEPTH = 4
"""subagents/workflows/<workflow>/agent-*.jsonl is 2; room for more."""

_CWD = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)+")')


class ClaudeCodeReader(Reader):
    """Reads Claude Code's transcripts."""

    left_out = LEFT_OUT
    agent = "claude-code"
    version = "9"

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the ids from the file's name; inside are the id of a file that somebody named, and
        the parent of a flat subagent file."""
        return Identity(*_identify(path, lambda: head))

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield sessions and subagents of each project, from `~/.claude` or its `projects`,
        then sessions of which only `history.jsonl` is left. The history is skipped while a
        directory cannot be listed, because transcripts of its sessions may be in there."""
        walk = Walk(self.agent, note)
        base = walk.root(root / "projects", root)
        if base is None:
            return

        present: set[str] = set()
        for project, has_usable_name in walk.projects(base):
            identify = partial(_identified, project.name)
            for source in walk.sources(_files(walk, project.path), known, identify):
                if source.agent_id is None:
                    present.add(source.session_id)
                if has_usable_name:
                    yield source
        if base.name == "projects" and walk.complete:
            history = base.parent / HISTORY_FILE
            try:
                yield from lost_sessions(history, present, self.agent)
            except (OSError, TranscriptError) as error:
                walk.note(history, error)

    def left_out_of(self, source: Source) -> tuple[LeftOut, ...]:
        """Return the places whose text is left out; a subagent's messages where its file is."""
        folder = source.path.with_suffix("") / "subagents"
        is_there = os.path.isdir(folder)  # noqa: PTH112 - no error where it is not allowed
        return self.left_out + (OF_SUBAGENTS if is_there else ())

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> SessionParser:
        """Return the state of reading a transcript, or one session of the history."""
        if source.path.name == HISTORY_FILE:
            return HistoryParser(source, report)
        if source.agent_id is not None and source.agent_id.startswith(PREFIX):
            return SideQuestion(source, report)
        return ClaudeParser(source, report)


def _files(walk: Walk, project: str) -> Iterator[File]:
    """Yield each transcript in a project's directory, with its size and mtime_ns."""
    for entry in walk.entries(project):
        name = entry.name
        if name.endswith(SUFFIX):
            if not CLAUDE_CODE.is_other(name) and (facts := walk.file_facts(entry)):
                yield entry, *facts
        elif walk.is_directory(entry):
            for file in walk.transcripts(Path(entry.path, "subagents"), _SUBAGENT_DEPTH):
                name = file[0].name
                if name.startswith(_AGENT) and not CLAUDE_CODE.is_other(name):
                    yield file


def _identified(folder: str, path: Path) -> Identity:
    try:
        head = read_head(path)
    except TranscriptError:  # its reading says why, and is tried again
        return Identity(*_identify(path, partial(read_head, path)), project=folder)
    return Identity(*_identify(path, lambda: head), _directory(folder, head), folder)


def _directory(folder: str, head: bytes) -> str:
    """Return the directory of a session, which its folder is called after, unless it was moved."""
    directories = []
    for cwd in _CWD.findall(head):
        with suppress(ValueError):  # of an escape that is none
            directories.append(clean_text(str(json.loads(cwd))))
    return directory_of_folder(folder, directories)


def _identify(path: Path, head: Callable[[], bytes]) -> tuple[str, str | None]:
    """Return (session_id, agent_id); asks for the head only where the path is not enough."""
    stem = path.name.removesuffix(SUFFIX)
    if not stem.startswith(_AGENT):
        named = safe_id(stem)
        if _UUID.search(named):
            return named, None  # as the program calls its files
        return next(filter(_UUID.search, map(_session_of, head_objects(head()))), named), None
    agent_id = safe_id(stem.removeprefix(_AGENT)) or safe_id(stem)
    for folder in path.parents:
        if folder.name == "subagents":
            return safe_id(folder.parent.name), agent_id
    parents = filter(None, map(_session_of, head_objects(head())))
    return next(parents, safe_id(stem)), agent_id


def _session_of(record: JsonObject) -> str:
    return safe_id(record.get("sessionId"))


PREFIX = "aside_question"
_SAYS_SO = "side question"


class SideQuestion(ClaudeParser):
    """The state of reading one such file: all of it is held until its question is known."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._held: list[Located] = []

    def take(self, record: JsonObject) -> list[Record]:
        """Hold an object, and return nothing."""
        self._held.append((self._byte_start, self._byte_end, record))
        return []

    def end(self) -> list[Record]:
        """Return the records of the question and of what follows it."""
        texts = [_user_text(record) for _, _, record in self._held]
        prompt_places = [place for place, text in enumerate(texts) if without_reminders(text)]
        declared_places = [
            place
            for place in prompt_places
            if _SAYS_SO in texts[place].partition("</system-reminder>")[0]
        ]
        question = (declared_places or prompt_places[-1:] or [0])[0]
        records: list[Record] = []
        for place, located in enumerate(self._held):
            if place < question:
                records += self._resolve(COPIED)
                if self._report.account is not None:
                    self._report.account.drop(located[2], COPIED)
            else:
                self._byte_start, self._byte_end, record = located
                records += super().take(record)
        self._held.clear()
        return records + super().end()

    def _text_record(self, frame: Frame, classified: ClassifiedText) -> list[Record]:
        if classified.kind == "prompt":
            classified = classified._replace(subtype=SIDE_QUESTION)
        return super()._text_record(frame, classified)


def _user_text(record: JsonObject) -> str:
    if record.get("type") != "user":
        return ""
    content = object_field(record, "message").get("content")
    if isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    ):
        return ""
    return content_text(content)


_HOME = "local_"
_DEPTH = 2


class CoworkReader(ClaudeCodeReader):
    """Reads the sessions of Claude desktop."""

    agent = "cowork"

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions below `local-agent-mode-sessions`, each with the project of the folder
        that the user chose."""
        walk = Walk(self.agent, note)
        base = walk.root(root)
        for home in _homes(walk, base, _DEPTH) if base else ():
            folder = _folder(_about(home))
            for source in super().discover(home / ".claude", known, note):
                yield replace(source, project=project_slug(folder)) if folder else source

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> SessionParser:
        """Return the state of reading a transcript."""
        home = next(
            (parent for parent in source.path.parents if parent.name.startswith(_HOME)), None
        )
        about = _about(home) if home else {}
        report.see_cwd(_folder(about))
        report.see_time(parse_time(about.get("createdAt")))
        return CoworkParser(source, report, "" if source.agent_id else text_field(about, "title"))


class CoworkParser(ClaudeParser):
    """The state of reading one file: its title comes with its first record."""

    def __init__(self, source: Source, report: ReadReport, title: str) -> None:
        super().__init__(source, report)
        self._title_beside = title

    def take(self, record: JsonObject) -> list[Record]:
        """Return the `Record`s that this object gives."""
        records = super().take(record)
        title, self._title_beside = self._title_beside, ""
        if not title or not records:
            self._title_beside = title
            return records
        uuid = derived_id(self._source.agent, self._source.session_id, title)
        frame = Frame(self._byte_start, self._byte_end, uuid, records[0].timestamp, content=title)
        return records + self._records(frame, "title", title, "session-name")


def _homes(walk: Walk, folder: Path, depth: int) -> Iterator[Path]:
    for entry in walk.entries(folder):
        if walk.is_directory(entry, follow_symlinks=False):
            if entry.name.startswith(_HOME):
                yield Path(entry.path)
            elif depth:
                yield from _homes(walk, Path(entry.path), depth - 1)


def _about(home: Path) -> JsonObject:
    """Return the facts that stand beside a session's directory."""
    return object_beside(home.with_name(f"{home.name}.json"))


def _folder(about: JsonObject) -> str:
    folders = about.get("userSelectedFolders")
    first = folders[0] if isinstance(folders, list) and folders else ""
    return first if isinstance(first, str) else ""
