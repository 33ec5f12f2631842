"""Goose: `~/.local/share/goose/sessions/sessions.db`; before September 2025 a file of lines for
each session beside it, which later versions copy and leave there.

A session renders to lines of the same shape as those files': its facts, then its messages, and its
name last. `role: user` stands on tools' answers, too, and on what the program inserted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from memory_assets.models import MACHINE_PROMPT, Record, Tokens
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.blocks import ANSWER, CallBlock, Shapes, TextBlock
from memory_assets.transcripts.databases import Database
from memory_assets.transcripts.discovery import Identity, Walk
from memory_assets.transcripts.fields import (
    count_field,
    object_field,
    objects_in,
    parsed,
    text_field,
)
from memory_assets.transcripts.ids import safe_id
from memory_assets.transcripts.lines import JsonObject, first_object
from memory_assets.transcripts.session import STATE, Frame, Outcome
from memory_assets.transcripts.stored import DatabaseReader, Said, Sessions, StoredParser
from memory_assets.transcripts.texts import IMAGE, content_text, render_value
from memory_assets.transcripts.times import nanoseconds, parse_time
from memory_assets.transcripts.unread import Columns

_DATABASE = "sessions.db"
_FOLDER = "sessions"
_PERSONS = frozenset({"user", "terminal", "acp", "gateway"})
"""Types of sessions that a person talks in."""
_COUNTS = (
    *("total_tokens", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens"),
)
_ACCUMULATED = "accumulated_"
_SETTING = "a setting of the session"
_CALL = CallBlock("id", "name", "arguments")


class GooseParser(StoredParser):
    """The state of reading one session."""

    shapes: ClassVar[Shapes] = {
        "text": ANSWER,
        "thinking": TextBlock("thinking", "thinking"),
        **dict.fromkeys(("toolRequest", "frontendToolRequest"), _CALL),
        **dict.fromkeys(("redactedThinking", "toolConfirmationRequest", "actionRequired")),
    }
    blocks_are = "block"

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._by_person = True

    def take(self, row: JsonObject) -> list[Record]:
        """Return the `Record`s that a line gives."""
        role = text_field(row, "role")
        if role:
            frame = self._frame(row, row.get("id"), row.get("created"))
            return self._resolve(self._said_in(role, row, frame))
        if "usage" in row and "session" not in row:
            model = text_field(row, "model")
            frame = self._frame(row, f"usage/{row.get('id')}", row.get("created"), model)
            return self._resolve(self._with_tokens([], frame, _tokens(row)))
        name = text_field(row, "name") or text_field(row, "description")
        frame = self._frame(row, f"{row.get('id') or row.get('session')}/title")
        if _is_header(row):
            self._by_person = text_field(row, "session_type") in ("", *_PERSONS)
            header = self._begin(
                session=row.get("id"),
                cwd=text_field(row, "working_dir"),
                start=row.get("created_at"),
                model=text_field(row, "model"),
            )
            if not name:
                return self._resolve(header)
        records = self._records(frame, "title", name, "ai-title")
        frame.timestamp = parse_time(row.get("created"))
        return self._resolve(self._with_tokens(records, frame, _tokens(row)))

    def _said_in(self, role: str, row: JsonObject, frame: Frame) -> Outcome:
        if role not in ("user", "assistant"):
            return self._unknown("message", role)
        records: list[Record] = []
        texts: list[str] = []
        for block in objects_in(row.get("content")):
            if role == "user" and block.get("type") in ("text", "image"):
                texts.append(text_field(block, "text") or IMAGE)
            else:
                records += self._block(block, frame)
        if not texts:
            return records
        hidden = object_field(row, "metadata").get("userVisible") is False
        origin = Origin("machine", "injected") if hidden else UNKNOWN
        if not self._by_person:
            origin = Origin("machine", MACHINE_PROMPT)
        return records + self._user_text(frame, "\n".join(texts), origin)

    def _block(self, block: JsonObject, frame: Frame) -> list[Record]:
        if block.get("type") == "toolResponse":
            return [self._response(block, frame)]
        if block.get("type") == "systemNotification":
            return self._records(frame, "system", text_field(block, "msg"), "notice")
        asked = object_field(object_field(block, "toolCall"), "value")
        return super()._block({**asked, **block}, frame)

    def _response(self, block: JsonObject, frame: Frame) -> Record:
        result = object_field(block, "toolResult")
        value = result.get("value")
        content = value.get("content") if isinstance(value, dict) else value
        flagged = isinstance(value, dict) and value.get("isError") is True
        failed = result.get("status") == "error" or flagged
        text = render_value(result["error"]) if "error" in result else content_text(content)
        return self._answered(frame, safe_id(block.get("id")), text, is_error=failed)


class GooseReader(DatabaseReader):
    """Reads the sessions of Goose."""

    agent = "goose"
    once = True
    version = "4"
    session = GooseParser
    left_out = (
        LeftOut("*.content.thinking.signature", "signature of a thought"),
        LeftOut("*.content.redactedThinking", "encrypted thoughts"),
        LeftOut("*.content.image.data", "an image"),
        LeftOut("*.content.actionRequired", "a question whether a tool may run"),
        LeftOut("*.content.toolConfirmationRequest", "a question whether a tool may run"),
    )
    sessions = Sessions(
        "sessions",
        "id name description session_type working_dir model_config_json parent_session_id "
        f"created_at updated_at {' '.join(f'{_ACCUMULATED}{name}' for name in _COUNTS)}",
        *("updated_at", "parent_session_id", "working_dir"),
    )
    said = (Said("messages", "role content_json", "created_timestamp"),)
    known = (
        Columns("sessions", "id name description session_type working_dir model_config_json"),
        Columns("sessions", "parent_session_id created_at updated_at archived_at"),
        Columns("sessions", " ".join(f"{_ACCUMULATED}{name}" for name in _COUNTS)),
        Columns("sessions", " ".join((*_COUNTS, "accumulated_cost")), "figures"),
        Columns("sessions", "user_set_name schedule_id provider_name goose_mode", _SETTING),
        Columns("sessions", "project_id extension_data", _SETTING),
        Columns("sessions", "recipe_json user_recipe_values_json", "its prompt is a message"),
        Columns("messages", "id message_id session_id role content_json metadata_json"),
        Columns("messages", "created_timestamp"),
        Columns("messages", "timestamp tokens", "figures"),
        Columns("usage_ledger", "*"),
        Columns("schema_version", "*", "the version of the program's tables"),
    )

    def containers(self, walk: Walk, root: Path) -> Iterable[Path]:
        """Return the database in a directory or the `sessions` in it."""
        return (root / _DATABASE, root / _FOLDER / _DATABASE)

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a session."""
        model = parsed(facts["model_config_json"])
        names = "id working_dir session_type created_at parent_session_id"
        named = text_field(model, "model_name") if isinstance(model, dict) else ""
        yield {name: facts[name] for name in names.split()} | {"model": named}
        names = "id message_id role content_json metadata_json created_timestamp"
        order = "WHERE session_id = ? ORDER BY id"
        requests = _requests(database, source.member)
        usage = {} if requests else _usage(facts, _ACCUMULATED) | {"created": facts["updated_at"]}
        for row in database.select("messages", names, order, source.member):
            at = row["created_timestamp"]
            while requests and nanoseconds(requests[0]["created"]) < nanoseconds(at):
                yield requests.popleft()
            content, metadata = parsed(row["content_json"]), parsed(row["metadata_json"])
            facts_of_row = {"id": row["message_id"] or row["id"], "role": row["role"]}
            yield {**facts_of_row, "created": at, "metadata": metadata, "content": content}
        yield from requests
        yield {
            "type": STATE,
            "session": facts["id"],
            "name": facts["name"] or facts["description"],
            **usage,
        }

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions of the database, then those of files, of which it may have some."""
        yield from super().discover(root, known, note)
        walk = Walk(self.agent, note)
        files = walk.transcripts(walk.root(root / _FOLDER, root), 0)
        yield from walk.sources(files, known, self.identified)

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the file's name, and the directory that its header names."""
        directory = text_field(first_object(head, _is_header), "working_dir")
        return Identity(safe_id(path.stem), directory=directory)

    def renders(self, source: Source) -> bool:
        """Return whether a source is a session of the database."""
        return bool(source.member)


def _requests(database: Database, member: str) -> deque[JsonObject]:
    """Return what each request of a session took, which versions since schema 14 keep."""
    order = "WHERE session_id = ? ORDER BY created_timestamp, id"
    if not database.columns("usage_ledger").issuperset(("session_id", "created_timestamp", "id")):
        return deque()
    names = f"id created_timestamp model {' '.join(_COUNTS)}"
    requests = database.select("usage_ledger", names, order, member)
    return deque(
        {"id": row["id"], "created": row["created_timestamp"], "model": row["model"], **_usage(row)}
        for row in requests
    )


def _usage(row: JsonObject, prefix: str = "") -> JsonObject:
    return {"usage": {name: row[f"{prefix}{name}"] for name in _COUNTS}}


def _is_header(line: JsonObject) -> bool:
    return "working_dir" in line and "role" not in line


def _tokens(row: JsonObject) -> Tokens:
    """Return the tokens in a row. What was cached is among the input, unless the total says that
    it is not."""
    counts = object_field(row, "usage")
    total, given, output, read, written = (count_field(counts, name) for name in _COUNTS)
    is_beside = total >= given + output + read + written
    fresh = given if is_beside else max(given - read - written, 0)
    return Tokens(fresh, output, read, written)
