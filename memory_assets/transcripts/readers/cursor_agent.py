"""Cursor's agent transcripts, of the agent in the editor and of its CLI.

Where: `~/.cursor/projects/<directory>/agent-transcripts/<id>.jsonl` or `<id>/<id>.jsonl`; those of
subagents in `<id>/subagents/<subagent>.jsonl`. Before February 2026: `<id>.txt`, a text in blocks
(`legacy_rows`), of which a line of this form is made. A line is `{role, message{content[]}}`,
without times, ids, results of tools or a model: records are known by their place in the file, and
the session's time is that of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.models import Record
from memory_assets.paths import project_of
from memory_assets.transcripts.authorship import PERSON, authored, framed
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.blocks import BlockSession, blocks_of
from memory_assets.transcripts.discovery import File, Identified, Walk
from memory_assets.transcripts.fields import (
    content_text,
    derived_id,
    object_field,
    safe_id,
    text_field,
    type_name,
)
from memory_assets.transcripts.json_documents import text_of
from memory_assets.transcripts.lines import JsonObject, head_objects
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import Frame, Outcome

_FOLDER = "agent-transcripts"
_SUBAGENTS = "subagents"
_ROLES = ("user", "assistant")
_DEPTH = 3
_TEXT = ".txt"
_TURN = re.compile(r"^(user|assistant):\n", re.MULTILINE)
_MARK = re.compile(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")


class CursorSession(BlockSession):
    """The state of reading one file."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._place = 0

    def take(self, line: JsonObject, start: int, end: int) -> list[Record]:
        """Return the `Record`s that this line gives."""
        role = text_field(line, "role")
        name = type_name(role or line.get("type"))
        self._report.see_type(name)
        self._place += 1
        content = object_field(line, "message").get("content")
        session = (self._source.session_id, self._source.agent_id or "")
        frame = self._frame(line, start, end, None, None)
        frame.record_uuid = derived_id(self._source.agent, *session, str(self._place))
        outcome: Outcome
        if role == "user":
            outcome = self._from_user_frame(content, frame)
        elif role == "assistant":
            outcome = self._from_assistant(content, frame)
        elif name == "turn_ended":
            outcome = "session-state"
        else:
            outcome = self._unknown(name)
        return self._resolve(outcome)

    def end(self) -> list[Record]:
        """Note when the file was written, which is the only time there is."""
        if self._source.mtime_ns:
            self._report.see_time(datetime.fromtimestamp(self._source.mtime_ns / 1e9, UTC))
        return []

    def _from_user_frame(self, content: object, frame: Frame) -> list[Record]:
        """Return what was typed as a prompt, and what stands around it as the program's."""
        results = [block for block in blocks_of(content) if block.get("type") == "tool_result"]
        records = self._from_user(results, frame)
        typed, around = framed(content_text(content), "user_query")
        records += self._one(frame, "system", around, "injected")
        return records + (self._said(frame, authored(typed, PERSON)) if typed else [])


class CursorAgentReader(Reader):
    """Reads the transcripts of Cursor's agent."""

    agent = "cursor"
    version = "1"
    session = CursorSession

    def sniff(self, head: bytes) -> bool:
        """Return whether any line is a message and nothing else."""
        return any(_is_message(line) for line in head_objects(head))

    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return the name of the file; of a subagent's the session above it, and its own."""
        own = safe_id(path.stem)
        folder = path.parent
        is_subagent = folder.name == _SUBAGENTS
        return (safe_id(folder.parent.name), own) if is_subagent else (own, None)

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the transcripts of each project below `~/.cursor` or its `projects`."""
        base = walk.root(root / "projects", root)
        for project, has_usable_name in walk.projects(base) if base else ():
            folder = Path(project.path, _FOLDER)
            if has_usable_name and folder.is_dir():
                yield from walk.transcripts(folder, _DEPTH, (".jsonl", _TEXT))

    def identified(self, path: Path) -> Identified:
        """Return what is known of a transcript, whose project its folder is named after."""
        _, session_id, agent_id, directory = super().identified(path)
        return _project(path), session_id, agent_id, directory

    def holds(self, source: Source) -> bool:
        """Return whether a source is a transcript, by its file's name."""
        return source.path.suffix in (".jsonl", _TEXT)

    def renders(self, source: Source) -> bool:
        """Return whether the transcript is a text in blocks."""
        return source.path.suffix == _TEXT

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the lines that a text's blocks give."""
        return legacy_rows(text_of(source.path))


def legacy_rows(text: str) -> Iterator[JsonObject]:
    """Yield the messages of a text of blocks: `user:` and `assistant:` begin one, `[Thinking]`,
    `[Tool call] <name>` and `[Tool result] <name>` a part of it; a call's input is indented."""
    pieces = _TURN.split(text)[1:]
    for role, body in zip(pieces[::2], pieces[1::2], strict=True):
        yield {"role": role, "message": {"content": list(_legacy_blocks(role, body))}}


def _legacy_blocks(role: str, body: str) -> Iterator[JsonObject]:
    if role == "user":
        yield {"type": "text", "text": body.strip()}
        return
    said: list[str] = []
    marked: JsonObject = {}
    for line in body.splitlines():
        mark = _MARK.match(line)
        if mark is None and marked.get("type") == "tool_use" and line.startswith("  "):
            key, _, value = line.strip().partition(": ")
            marked["input"][key] = value
        elif mark is None and not (marked.get("type") == "tool_result" and line[:2] == "  "):
            said.append(line)
        elif mark is None:
            marked["content"] += f"{line.strip()}\n"
        else:
            if text := "\n".join(said).strip():
                yield {"type": "text", "text": text}
            said.clear()
            kind, rest = mark.groups()
            marked = _BEGUN[kind](rest)
            yield marked
    if text := "\n".join(said).strip():
        yield {"type": "text", "text": text}


_BEGUN: dict[str, Callable[[str], JsonObject]] = {
    "Thinking": lambda rest: {"type": "thinking", "thinking": rest},
    "Tool call": lambda rest: {"type": "tool_use", "name": rest, "input": {}},
    "Tool result": lambda rest: {"type": "tool_result", "name": rest, "content": ""},
}


def _is_message(line: JsonObject) -> bool:
    if line.get("role") not in _ROLES or "type" in line:
        return False
    return isinstance(object_field(line, "message").get("content"), list)


def _project(path: Path) -> str:
    """Return the project of a transcript: its folder is named after the directory as projects are,
    but without the first dash, and is never decoded."""
    folders = [folder.name for folder in path.parents]
    at = folders.index(_FOLDER) if _FOLDER in folders else -1
    return project_of(f"/{folders[at + 1]}") if 0 <= at < len(folders) - 1 else project_of("")
