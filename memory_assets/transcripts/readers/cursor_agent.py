"""Cursor's agent, in the editor and at the command line: its transcripts, and the CLI's chats.

Transcripts: `~/.cursor/projects/<directory>/agent-transcripts/<id>.jsonl` or `<id>/<id>.jsonl`;
those of subagents in `<id>/subagents/<subagent>.jsonl`. Before February 2026: `<id>.txt`, a text in
blocks (`legacy_rows`), of which a line of this form is made. A line is `{role,
message{content[]}}`, without times, ids, results of tools or a model: records are known by their
place in the file, and the session's time is that of the file.

Chats: a database for each, `~/.cursor/chats/<hash>/<id>/store.db`. `<hash>` is the MD5 of the
directory. The table `meta` has one row of JSON in hexadecimal, with the id of the root; `blobs` has
messages (JSON) and nodes (the ids of others, in the binary form of Protocol Buffers) by the SHA-256
of what they hold. What the root leads to, in order, is the chat; other blobs were superseded.
Messages have no times: a chat has that of its beginning, and its files' time.

A chat renders to its facts, a line for each message, and its name last.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from memory_assets.models import Record
from memory_assets.paths import project_slug
from memory_assets.transcripts.authorship import PERSON, split_frames
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.blocks import (
    ANSWER,
    BlockParser,
    CallBlock,
    ResultBlock,
    Shapes,
    TextBlock,
    blocks_of,
)
from memory_assets.transcripts.databases import LENGTH, Database, wal_of
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.fields import from_json, object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id, type_name
from memory_assets.transcripts.json_documents import text_of
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import STATE, Frame, Outcome
from memory_assets.transcripts.stored import DatabaseReader, Member, StoredParser, session_rows
from memory_assets.transcripts.texts import content_text, render_value
from memory_assets.transcripts.times import parse_time
from memory_assets.transcripts.unread import Columns

_FOLDER = "agent-transcripts"
_SUBAGENTS = "subagents"
_DEPTH = 3
_TEXT = ".txt"
_TURN = re.compile(r"^(user|assistant):\n", re.MULTILINE)
_MARK = re.compile(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")


class CursorParser(BlockParser):
    """The state of reading one file."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._place = 0

    def take(self, line: JsonObject) -> list[Record]:
        """Return the `Record`s that this line gives."""
        role = text_field(line, "role")
        name = type_name(role or line.get("type"))
        self._place += 1
        content = object_field(line, "message").get("content")
        session = (self._source.session_id, self._source.agent_id or "")
        frame = self._frame(line)
        frame.record_uuid = derived_id(self._source.agent, *session, str(self._place))
        outcome: Outcome
        if role == "user":
            outcome = self._from_user_frame(content, frame)
        elif role == "assistant":
            outcome = self._from_assistant(content, frame)
        elif name == "turn_ended":
            outcome = STATE
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
        typed, around = split_frames(content_text(content), "user_query")
        records += self._records(frame, "system", around, "injected")
        return records + self._user_text(frame, typed, PERSON)


class CursorAgentReader(Reader):
    """Reads the transcripts of Cursor's agent."""

    agent = "cursor"
    version = "2"
    session = CursorParser

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the name of the file; of a subagent's the session above it, and its own. The
        project is named after the folder."""
        own = safe_id(path.stem)
        folder = path.parent
        is_subagent = folder.name == _SUBAGENTS
        session = safe_id(folder.parent.name) if is_subagent else own
        return Identity(session, own if is_subagent else None, "", _project(path))

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the transcripts of each project below `~/.cursor` or its `projects`."""
        for folder in walk.in_projects(walk.root(root / "projects", root), _FOLDER):
            yield from walk.transcripts(folder, _DEPTH, (".jsonl", _TEXT))

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
    answer_lines: list[str] = []
    marked: JsonObject = {}
    for line in body.splitlines():
        mark = _MARK.match(line)
        if mark is None and marked.get("type") == "tool_use" and line.startswith("  "):
            key, _, value = line.strip().partition(": ")
            marked["input"][key] = value
        elif mark is None and not (marked.get("type") == "tool_result" and line[:2] == "  "):
            answer_lines.append(line)
        elif mark is None:
            marked["content"] += f"{line.strip()}\n"
        else:
            if text := "\n".join(answer_lines).strip():
                yield {"type": "text", "text": text}
            answer_lines.clear()
            kind, rest = mark.groups()
            marked = _BEGUN[kind](rest)
            yield marked
    if text := "\n".join(answer_lines).strip():
        yield {"type": "text", "text": text}


_BEGUN: dict[str, Callable[[str], JsonObject]] = {
    "Thinking": lambda rest: {"type": "thinking", "thinking": rest},
    "Tool call": lambda rest: {"type": "tool_use", "name": rest, "input": {}},
    "Tool result": lambda rest: {"type": "tool_result", "name": rest, "content": ""},
}


def _project(path: Path) -> str:
    """Return the project of a transcript: its folder is named after the directory as projects are,
    but without the first dash, and is never decoded."""
    folders = [folder.name for folder in path.parents]
    at = folders.index(_FOLDER) if _FOLDER in folders else -1
    return project_slug(f"/{folders[at + 1]}") if 0 <= at < len(folders) - 1 else project_slug("")


_CHATS, _DATABASE = "chats", "store.db"
_HASH = 32
"""Bytes of a blob's id."""
_SHORT = 32
"""Characters of a blob's id that are kept."""
_LOOKED_AT = 8
"""So many messages of a chat are searched for its directory."""
_DIRECTORY = re.compile(r"^(?:Workspace Path|Workspace|Working directory): *(\S.*)$", re.M)


class CursorCliParser(StoredParser):
    """The state of reading one chat."""

    shapes: ClassVar[Shapes] = {
        "text": ANSWER,
        "reasoning": TextBlock("thinking", "text"),
        "tool-call": CallBlock("toolCallId", "toolName", "args"),
        "tool-result": ResultBlock("toolCallId", "result", "isError"),
        "redacted-reasoning": None,
    }
    blocks_are = "part"

    def end(self) -> list[Record]:
        """Note when the chat was written."""
        self._report.see_time(parse_time(self._source.mtime_ns))
        return []

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        content, frame = row.get("content"), self._frame(row)
        place = (self._source.session_id, text_field(row, "blob"), str(row.get("again")))
        frame.record_uuid = derived_id(self._source.agent, *place)
        if role == "system":
            return self._records(frame, "system", content_text(content), "instructions")
        if role == "user":
            typed, around = split_frames(content_text(content), "user_query")
            records = self._records(frame, "system", around, "injected")
            return records + self._user_text(frame, typed, PERSON)
        if role not in ("assistant", "tool"):
            return self._unknown("message", role)
        return [record for block in blocks_of(content) for record in self._block(block, frame)]

    def _result_text(self, content: Any) -> str:
        """Return a result as it is, or as JSON."""
        return "" if content is None else render_value(content)


class CursorCliReader(DatabaseReader):
    """Reads the chats of Cursor's command line."""

    agent = "cursor"
    version = "3"
    session = CursorCliParser
    known = (Columns("meta", "key value"), Columns("blobs", "id data"))

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the databases of all directories below `~/.cursor` or its `chats`."""
        for folder in walk.entries(root if root.name == _CHATS else root / _CHATS):
            for chat in walk.entries(folder.path):
                yield Path(chat.path, _DATABASE)

    def members(self, database: Database, path: Path) -> Iterator[Member]:
        """Yield the chat of a database, if anything was said in it."""
        database.require("meta", "key value")
        database.require("blobs", "id data")
        facts = _facts(database)
        messages = _messages(database, facts)
        opening = [message for _, message in zip(range(_LOOKED_AT), messages, strict=False)]
        if not any(message.get("role") == "user" for message in opening):
            return
        own = text_field(facts, "agentId") or path.parent.name
        sizes = database.rows(f"SELECT count(*) + sum({LENGTH}(data)) AS size FROM blobs")
        size = int(next(sizes)["size"] or 0)
        cwd, folder = _directory(opening, path), path.parent.parent.name
        yield Member(own, cwd, size, _written(path), stand_in=folder)

    def facts(self, database: Database, source: Source) -> JsonObject | None:
        """Return the facts of the chat."""
        facts = _facts(database)
        own = text_field(facts, "agentId") or source.path.parent.name
        return facts if own == source.member else None

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a chat."""
        known = {"id": source.member, "cwd": source.directory, "start": facts.get("createdAt")}
        known["model"] = facts.get("lastUsedModel")
        messages = ({**message, "type": "message"} for message in _messages(database, facts))
        yield from session_rows(known, {"title": facts.get("name")}, messages)

    def holds(self, source: Source) -> bool:
        """Return whether a source is a chat, by its file's name."""
        return source.path.name == _DATABASE


def _facts(database: Database) -> JsonObject:
    """Return the facts of the chat, which the first row has."""
    row = next(database.rows("SELECT value FROM meta WHERE key = '0'"), None)
    try:
        facts = from_json(bytes.fromhex(row["value"])) if row else None
    except (TypeError, ValueError):
        facts = None
    return facts if isinstance(facts, dict) else {}


def _messages(database: Database, facts: JsonObject) -> Iterator[JsonObject]:
    """Yield the messages that the root leads to, in order, each with its blob's id and how often it
    came before. A node is entered once."""
    entered: set[str] = set()
    met: dict[str, int] = {}
    ahead = [text_field(facts, "latestRootBlobId")]
    while ahead:
        own = ahead.pop()
        row = next(database.rows("SELECT data FROM blobs WHERE id = ?", own), None)
        data = row["data"] if row else b""
        data = data.encode() if isinstance(data, str) else data
        if not isinstance(data, bytes) or own in entered:
            continue
        if data[:1] != b"{":
            entered.add(own)
            ahead += reversed(list(_children(data)))
        elif isinstance(message := from_json(data), dict):
            yield {**message, "blob": own[:_SHORT], "again": met.get(own, 0)}
            met[own] = met.get(own, 0) + 1


def _children(node: bytes) -> Iterator[str]:
    """Yield the ids in a node: its fields 1 and 2 of 32 bytes. Other fields are passed over."""
    at = 0
    while at < len(node):
        tag, at = _number(node, at)
        if tag & 7 != 2:
            if tag & 7:
                return
            _, at = _number(node, at)
            continue
        length, at = _number(node, at)
        if tag >> 3 in (1, 2) and length == _HASH and at + length <= len(node):
            yield node[at : at + length].hex()
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift > 63:
            break
    return value, at


def _directory(opening: list[JsonObject], path: Path) -> str:
    """Return the directory of a chat: the one that its opening names and whose hash its folder is
    named after; "" if there is none."""
    texts = (content_text(message.get("content")) for message in opening)
    named = (directory.rstrip() for text in texts for directory in _DIRECTORY.findall(text))
    return next(
        (directory for directory in named if _digest(directory) == path.parent.parent.name), ""
    )


def _digest(directory: str) -> str:
    return hashlib.md5(directory.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def _written(path: Path) -> int:
    """Return when a database or its log was written last."""
    times = []
    for file in (path, wal_of(path)):
        try:
            times.append(os.stat(file).st_mtime_ns)  # noqa: PTH116 - may have vanished
        except OSError:
            continue
    return max(times, default=0)
