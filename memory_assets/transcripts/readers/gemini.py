"""Gemini CLI since April 2026: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, a log that is
replayed; those of subagents in `chats/<session id>/<subagent id>.jsonl`.

The first line is the session's header. A message is appended again, under its id, as results come
in: the last one counts. `{"$set": {...}}` changes fields of the header, `{"$set": {"messages":
[...]}}` puts other messages in place of all before, `{"$rewindTo": id}` takes back that message
and all after it. What was taken back is kept with the subtype `ABANDONED`; what the program
compressed was said, and stays. Before, a session was one document (`session-*.json`), which gives
the same lines; a log of its name goes on from it, and has it all.

`<project>` is a name from `projects.json`, before February 2026 the SHA-256 of the directory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memory_assets.models import ABANDONED, Record, Tokens
from memory_assets.paths import project_slug
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.blocks import PartsParser, answer_text, parts_of, text_of_parts
from memory_assets.transcripts.discovery import Identity, Walk
from memory_assets.transcripts.fields import count_field, object_field, objects_in, text_field
from memory_assets.transcripts.ids import safe_id, text_hash, type_name
from memory_assets.transcripts.json_documents import (
    field_in_head,
    object_beside,
    rows_of_document,
    text_beside,
)
from memory_assets.transcripts.lines import JsonObject, Located, first_object, read_objects
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import (
    STATE,
    SUPERSEDED,
    Frame,
    Outcome,
    call_of,
    tokens_with_cached,
)
from memory_assets.transcripts.texts import render_value
from memory_assets.transcripts.times import parse_time

_CHATS = "chats"
_DOCUMENT = ".json"
_SET, _REWIND = "$set", "$rewindTo"
_NOTICES = frozenset({"info", "warning", "error"})
_RUNNING = frozenset({"executing", "scheduled", "validating", "awaiting_approval"})
_SNAPSHOT = "<state_snapshot>"
_COMMANDS = ("/", "?")
"""How a prompt begins that is the program's own to answer."""


@dataclass
class Replay:
    """What a log comes to: where the version of each message stands that counts (byte offset of its
    line, by the mark of its id), and the marks of those that were taken back."""

    counts: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)


class GeminiReader(Reader):
    """Reads Gemini CLI's sessions."""

    agent = "gemini"
    version = "5"
    left_out = (
        LeftOut("", "a message as it grew; its last version is kept", dropped=SUPERSEDED),
        LeftOut("*.toolCalls.resultDisplay", "a result as it is shown"),
        LeftOut("*.toolCalls.description", "a call as it is shown"),
        LeftOut("*.toolCalls.*.result.*.response.error", "a result as it is shown"),
        LeftOut("projectHash", "the directory's hash"),
    )

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the header's id, else the file's name; of a subagent's file the id of its session,
        which its directory is named after, and its own."""
        header = first_object(head, _is_header)
        if path.suffix == _DOCUMENT:
            header = {name: field_in_head(head, name) for name in ("sessionId", "kind")}
        own = safe_id(header.get("sessionId")) or safe_id(path.stem)
        above = path.parent
        if above.parent.name == _CHATS:
            return Identity(safe_id(above.name), own)
        return Identity(own, own if header.get("kind") == "subagent" else None)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the chats of each project, from `~/.gemini` or its `tmp`. A project is named after
        its directory as soon as that is known."""
        walk = Walk(self.agent, note)
        for folder in walk.in_projects(walk.root(root / "tmp", root), _CHATS):
            directory = directory_of(folder.parent)
            named = project_slug(directory or folder.parent.name)
            files = list(walk.transcripts(folder, 1, (".jsonl", _DOCUMENT)))
            logs = {file[0].path for file in files}
            own = (file for file in files if _is_session(file[0].path, logs))
            for source in walk.sources(own, known, self.identified):
                yield replace(source, project=named, directory=directory)

    def renders(self, source: Source) -> bool:
        """Return whether the session is a document."""
        return source.path.suffix == _DOCUMENT

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the document without its messages, and each message."""
        return rows_of_document(source.path, "messages")

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> GeminiParser:
        """Return the state of reading a session, its log replayed."""
        if self.renders(source):
            return GeminiParser(source, report, Replay())
        lines = read_objects(source.path, ReadReport(), end=end)
        return GeminiParser(source, report, replayed(lines))


class GeminiParser(PartsParser):
    """The state of reading one file."""

    def __init__(self, source: Source, report: ReadReport, replay: Replay) -> None:
        super().__init__(source, report)
        self._replay = replay
        self._title = ""
        chats = next((parent for parent in source.path.parents if parent.name == _CHATS), None)
        self._cwd = directory_of(chats.parent) if chats else ""
        report.see_cwd(self._cwd)

    def take(self, line: JsonObject) -> list[Record]:
        """Return the `Record`s that this line gives."""
        if _SET in line:
            return self._resolve(self._changed(object_field(line, _SET)))
        if _REWIND in line:
            return self._resolve(STATE)
        if "type" not in line and _is_header(line):
            return self._resolve(self._header(line))
        return self._resolve(self._message(line))

    def _changed(self, fields: JsonObject) -> Outcome:
        records = self._titled(fields)
        messages, reasons = fields.get("messages"), {STATE}
        for message in messages if isinstance(messages, list) else []:
            outcome = self._message(message) if isinstance(message, dict) else []
            if isinstance(outcome, str):
                reasons.add(outcome)
            else:
                records += outcome
        return records or (SUPERSEDED if SUPERSEDED in reasons else STATE)

    def _header(self, header: JsonObject) -> Outcome:
        reason = self._begin(session=header.get("sessionId"), cwd=self._cwd)
        self._report.see_time(parse_time(header.get("startTime")))
        return self._titled(header) or reason

    def _titled(self, fields: JsonObject) -> list[Record]:
        title = text_field(fields, "summary")
        if not title or title == self._title:
            return []
        self._title = title
        frame = self._frame_of({"summary": title})
        return self._records(frame, "title", title, "ai-title")

    def _frame_of(self, message: JsonObject) -> Frame:
        own, model = message.get("id") or f"{self._byte_start}", text_field(message, "model")
        return self._frame(message, own, message.get("timestamp"), model)

    def _message(self, message: JsonObject) -> Outcome:
        name = type_name(message.get("type"))
        own = text_hash(text_field(message, "id"))
        place = self._byte_start
        if self._replay.counts.get(own, place) != place:
            return SUPERSEDED
        self._branch = ABANDONED if own in self._replay.gone else ""
        frame = self._frame_of(message)
        if self._met(f"{frame.record_uuid} {place}"):
            return SUPERSEDED
        if name == "user":
            return self._from_user(message.get("content"), frame)
        if name == "gemini":
            records = self._from_model(message, frame)
            return self._with_tokens(records, frame, _tokens(object_field(message, "tokens")))
        if name in _NOTICES:
            text = text_of_parts(message.get("content"))
            return self._records(frame, "system", text, "notice", is_error=name == "error")
        return self._unknown(name)

    def _from_user(self, content: Any, frame: Frame) -> Outcome:
        text = text_of_parts(content).strip()
        is_command = text.startswith(_COMMANDS)
        origin = Origin("machine", "local-command") if is_command else UNKNOWN
        asked = self._user_text(frame, text, origin)
        return asked + self._answers(content, frame)

    def _from_model(self, message: JsonObject, frame: Frame) -> list[Record]:
        records: list[Record] = []
        for thought in objects_in(message.get("thoughts")):
            parts = (text_field(thought, "subject"), text_field(thought, "description"))
            records += self._records(frame, "thinking", "\n".join(filter(None, parts)))
        said = text_of_parts(message.get("content"))
        records += self._records(frame, "assistant_text", said)
        for call in objects_in(message.get("toolCalls")):
            records += self._call_with_result(call, frame)
        return records

    def _call_with_result(self, call: JsonObject, frame: Frame) -> Iterator[Record]:
        call_id, status = safe_id(call.get("id")), text_field(call, "status")
        name = text_field(call, "name")
        yield self._call(frame, call_id, name, call.get("args"))
        if status in _RUNNING:
            return
        answers = [answer_text(part) for part in parts_of(call.get("result"))]
        text = "\n".join(filter(None, (text for text, _ in answers)))
        display = call.get("resultDisplay")
        if not text and display is not None:
            text = render_value(display)
        failed = status not in ("", "success") or any(failed for _, failed in answers)
        agent = safe_id(call.get("agentId"))
        unknown = call_of(name, call.get("args"))  # a call without an id
        yield self._answered(frame, call_id, text, unknown, is_error=failed, spawned_agent_id=agent)


def _tokens(usage: JsonObject) -> Tokens:
    """Return what an answer took; what was cached is among the input."""
    given, cached = count_field(usage, "input"), count_field(usage, "cached")
    thoughts, output = count_field(usage, "thoughts"), count_field(usage, "output")
    return tokens_with_cached(given, output + thoughts, cached)


def replayed(lines: Iterator[Located]) -> Replay:
    """Return what a log comes to."""
    replay, order = Replay(), dict[int, None]()
    texts: dict[int, int] = {}

    def see(message: Any, start: int) -> int:
        named = text_field(message, "id") if isinstance(message, dict) else ""
        own = text_hash(named) if named else 0
        text = hash(render_value(message))
        if own and texts.get(own) != text:
            texts[own], replay.counts[own] = text, start
        return own

    for start, _, line in lines:
        messages = object_field(line, _SET).get("messages")
        if isinstance(messages, list):
            now = [own for message in messages if (own := see(message, start))]
            if not any(_is_snapshot(message) for message in messages):
                replay.gone |= order.keys() - now
            order = dict.fromkeys(now)
        elif _REWIND in line:
            to = text_hash(text_field(line, _REWIND))
            first = to if to in order else next(iter(order), 0)
            while first in order:
                replay.gone.add(order.popitem()[0])
        elif _SET not in line and (own := see(line, start)):
            order[own] = None
    replay.gone -= order.keys()
    return replay


def directory_of(folder: Path) -> str:
    """Return the directory that a folder of chats is of, "" while nothing says it: by the marker in
    the folder, or because its name or hash is that of a directory that the program lists."""
    if marked := text_beside(folder / ".project_root").strip():
        return marked
    home = folder.parent.parent
    named = object_beside(home / "projects.json").get("projects")
    projects = named if isinstance(named, dict) else {}
    if known := next((path for path, slug in projects.items() if slug == folder.name), ""):
        return str(known)
    for path in (*projects, *object_beside(home / "trustedFolders.json")):
        if hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest() == folder.name:
            return str(path)
    return ""


def _is_session(path: str, logs: Set[str]) -> bool:
    """Return whether a file is a log, or a document that no log goes on from."""
    name = os.path.basename(path)  # noqa: PTH119
    is_document = name.endswith(_DOCUMENT)
    return not is_document or (name.startswith("session-") and f"{path}l" not in logs)


def _is_header(line: JsonObject) -> bool:
    return "sessionId" in line and "startTime" in line and "lastUpdated" in line


def _is_snapshot(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else ""
    return text_of_parts(content).lstrip().startswith(_SNAPSHOT)
