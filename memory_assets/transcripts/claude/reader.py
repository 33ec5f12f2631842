"""Claude Code, 1.0.x to 2.1.x: `<project>/<session>.jsonl` and its subagents' files.

Where: `projects/<slug>/<sessionId>.jsonl`; subagents in
`<slug>/<sessionId>/subagents/**/agent-<id>.jsonl`, up to 2.0.x flat in
`<slug>/agent-<id>.jsonl`. Everything else is left out: `journal.jsonl` of workflows,
`history.jsonl`, `*.meta.json`, `tool-results/`, and the files of agents that did no work
of their own (`agent-aprompt_suggestion-*`: speculative next prompts,
`agent-acompact-*`: compaction). `agent-aside_question-*` are read (`side_question.py`).

Records are parsed in `records.py`, `prompts.py` and `queue.py`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.project_names import directory_of_folder
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.claude.history import HISTORY_FILE, HistorySession, lost_sessions
from memory_assets.transcripts.claude.left_out import LEFT_OUT, OF_SUBAGENTS
from memory_assets.transcripts.claude.records import ClaudeSession
from memory_assets.transcripts.claude.side_question import PREFIX, SideQuestion
from memory_assets.transcripts.discovery import SUFFIX, Identified, Walk
from memory_assets.transcripts.fields import safe_id
from memory_assets.transcripts.lines import JsonObject, clean_text, head_objects, read_head
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import Session

_NOT_TRANSCRIPTS = frozenset({"journal.jsonl", HISTORY_FILE})
_AGENT = "agent-"
_IDLE_AGENTS = ("agent-aprompt_suggestion-", "agent-acompact-")
_SUBAGENT_DEPTH = 4
"""subagents/workflows/<workflow>/agent-*.jsonl is 2; room for more."""

_CWD = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)+")')
_MARKERS = (b'"sessionId":', b'"leafUuid":', b'"parentUuid":')
_MARKED_FIELDS = ("sessionId", "leafUuid", "parentUuid", "snapshot")


class ClaudeCodeReader(Reader):
    """Reads Claude Code's transcripts."""

    left_out = LEFT_OUT
    agent = "claude-code"
    version = "6"

    def sniff(self, head: bytes) -> bool:
        """Return whether any line is a typed record that names its session, parent or leaf."""
        if any(_is_claude(record) for record in head_objects(head)):
            return True
        # One line longer than the head does not parse; its envelope stands in front.
        return b"\n" not in head and any(marker in head[:2000] for marker in _MARKERS)

    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return the ids from the file's name; a flat subagent file names its parent inside."""
        return _identify(path, lambda: head)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield sessions and subagents of each project, from `~/.claude` or its `projects`,
        then sessions of which only `history.jsonl` is left. The history is skipped while a
        directory cannot be listed, because transcripts of its sessions may be in there."""
        walk = Walk(self.agent, note)
        found = walk.root(root / "projects", root)
        if found is None:
            return

        present: set[str] = set()
        for project, has_usable_name in walk.projects(found):
            identify = partial(_identified, project.name)
            for source in walk.sources(_files(walk, project.path), known, identify):
                if source.agent_id is None:
                    present.add(source.session_id)
                if has_usable_name:
                    yield source
        if found.name == "projects" and walk.complete:
            history = found.parent / HISTORY_FILE
            try:
                yield from lost_sessions(history, present, self.agent)
            except (OSError, TranscriptError) as error:
                walk.note(history, error)

    def left_out_of(self, source: Source) -> tuple[LeftOut, ...]:
        """Return the places whose text is left out; a subagent's messages where its file is."""
        of_subagents = OF_SUBAGENTS if (source.path.with_suffix("") / "subagents").is_dir() else ()
        return self.left_out + of_subagents

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> Session:
        """Return the state of reading a transcript, or one session of the history."""
        if source.path.name == HISTORY_FILE:
            return HistorySession(source, report)
        if source.agent_id is not None and source.agent_id.startswith(PREFIX):
            return SideQuestion(source, report)
        return ClaudeSession(source, report)


def _files(walk: Walk, project: str) -> Iterator[tuple[os.DirEntry[str], int, int]]:
    """Yield each transcript in a project's directory, with its size and mtime_ns."""
    for entry in walk.entries(project):
        name = entry.name
        if name.endswith(SUFFIX):
            if _is_transcript(name) and (facts := walk.file_facts(entry)):
                yield entry, *facts
        elif walk.is_directory(entry):
            for file in walk.transcripts(Path(entry.path, "subagents"), _SUBAGENT_DEPTH):
                if file[0].name.startswith(_AGENT) and _is_transcript(file[0].name):
                    yield file


def _is_claude(record: JsonObject) -> bool:
    typed = isinstance(record.get("type"), str) and "payload" not in record
    message = record.get("message")
    if "systemPayload" in record or (isinstance(message, dict) and "parts" in message):
        return False  # of a relative, whose envelope is the same
    return typed and any(field in record for field in _MARKED_FIELDS)


def _is_transcript(name: str) -> bool:
    return name not in _NOT_TRANSCRIPTS and not name.startswith(_IDLE_AGENTS)


def _identified(folder: str, path: Path) -> Identified:
    try:
        head = read_head(path)
    except TranscriptError:  # its reading says why, and is tried again
        return folder, *_identify(path, partial(read_head, path)), ""
    return folder, *_identify(path, lambda: head), _directory(folder, head)


def _directory(folder: str, head: bytes) -> str:
    """Return the directory of a session, which its folder is called after, unless it was moved."""
    known = []
    for found in _CWD.findall(head):
        with suppress(ValueError):  # of an escape that is none
            known.append(clean_text(str(json.loads(found))))
    return directory_of_folder(folder, known)


def _identify(path: Path, head: Callable[[], bytes]) -> tuple[str, str | None]:
    """Return (session_id, agent_id); asks for the head only where the path is not enough."""
    stem = path.name.removesuffix(SUFFIX)
    if not stem.startswith(_AGENT):
        return safe_id(stem), None
    agent_id = safe_id(stem.removeprefix(_AGENT)) or safe_id(stem)
    for folder in path.parents:
        if folder.name == "subagents":
            return safe_id(folder.parent.name), agent_id
    for record in head_objects(head()):
        if session_id := safe_id(record.get("sessionId")):
            return session_id, agent_id
    return safe_id(stem), agent_id
