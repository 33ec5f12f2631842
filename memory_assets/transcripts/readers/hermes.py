"""Hermes: `~/.hermes/state.db`, and `profiles/<name>/state.db` of its profiles.

After a compaction a session goes on in a new one, which begins with what the old one had.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.models import Tokens
from memory_assets.transcripts.authorship import UNKNOWN, Origin, classify_text
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.databases import LENGTH, Database
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import (
    from_json,
    nanoseconds,
    object_field,
    objects_in,
    parse_time,
    safe_id,
    text_field,
    type_name,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import COPIED, HEADER, STATE, Call, Outcome, tokens_in
from memory_assets.transcripts.stored import DatabaseReader, Member, StoredSession
from memory_assets.transcripts.unread import Columns

_DATABASE = "state.db"
_MEMBERS = f"""
SELECT sessions.id AS id, started_at, ended_at, count(*) AS number, max(messages.id) AS last,
    sum(coalesce({LENGTH}(content), 0) + coalesce({LENGTH}(tool_calls), 0)) AS bytes,
    max(timestamp) AS newest
FROM sessions JOIN messages ON messages.session_id = sessions.id
GROUP BY sessions.id ORDER BY sessions.id
"""
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
"""What a whole session took, in the order of `Tokens`."""
_INSTRUCTIONS = "the program's instructions to the model"


class HermesSession(StoredSession):
    """The state of reading one session."""

    def _opened(self, row: JsonObject) -> str:
        self._report.see_parent(safe_id(row.get("parent_session_id")) or None)
        model, began = text_field(row, "model"), row.get("started_at")
        return self._begin(session=row.get("id"), cwd="", start=began, model=model)

    def _tokens_of_all(self, row: JsonObject) -> Tokens:
        return tokens_in(object_field(row, "usage"), _COUNTS)

    def _message(self, name: str, role: str, row: JsonObject, start: int, end: int) -> Outcome:
        if row.get("copied"):
            return COPIED
        frame = self._frame(row, start, end, str(row.get("id")), parse_time(row.get("timestamp")))
        text = text_field(row, "content")
        if role == "user":
            by_program = text.startswith("[SYSTEM:")
            return self._text_record(
                frame, classify_text(text, Origin("machine", "injected") if by_program else UNKNOWN)
            )
        if role == "assistant":
            thought = text_field(row, "reasoning")
            records = self._records(frame, "thinking", thought)
            records += self._records(frame, "assistant_text", text)
            for call in objects_in(row.get("tool_calls")):
                function = object_field(call, "function")
                name, call_id = text_field(function, "name"), safe_id(call.get("id"))
                records.append(self._call(frame, call_id, name, function.get("arguments")))
            return records
        if role == "tool":
            unknown, call_id = Call(text_field(row, "tool_name")), safe_id(row.get("tool_call_id"))
            return [self._answered(frame, call_id, text, unknown)]
        if role == "session_meta":
            return HEADER
        return self._unknown(f"message/{type_name(role)}")


class HermesReader(DatabaseReader):
    """Reads the sessions of Hermes."""

    agent = "hermes"
    version = "3"
    session = HermesSession
    known = (
        Columns("sessions", "id model parent_session_id started_at ended_at title"),
        Columns("sessions", " ".join(_COUNTS)),
        Columns("sessions", "source user_id model_config end_reason", "settings of the session"),
        Columns("sessions", "message_count tool_call_count", "figures"),
        Columns("sessions", "system_prompt system_prompt_hash", _INSTRUCTIONS),
        Columns("system_prompts", "*", _INSTRUCTIONS),
        Columns("messages", "id session_id role content tool_call_id tool_calls tool_name"),
        Columns("messages", "timestamp reasoning"),
        Columns("messages", "token_count finish_reason", "figures"),
        Columns("messages_fts*", "*", "an index of the messages"),
        Columns("schema_version", "*", "the version of the program's tables"),
    )

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the database in a directory, and those of its profiles."""
        yield root / _DATABASE
        for profile in walk.entries(root / "profiles"):
            yield Path(profile.path, _DATABASE)

    def members(self, database: Database, path: Path) -> Iterator[Member]:
        """Yield the sessions with messages."""
        database.require("sessions", "id model parent_session_id started_at ended_at title")
        database.require("messages", "id session_id role content tool_calls timestamp")
        for row in database.rows(_MEMBERS):
            newest = max(nanoseconds(row["newest"]), nanoseconds(row["ended_at"]))
            yield Member(str(row["id"]), "", row["bytes"] + row["number"] + row["last"], newest)

    def member_rows(self, database: Database, source: Source) -> Iterator[JsonObject | None]:
        """Yield a session; messages that repeat those of the session before it are marked."""
        counts = [name for name in _COUNTS if name in database.columns("sessions")]
        facts = ", ".join(("id", "model", "parent_session_id", "started_at", "title", *counts))
        sql = f"SELECT {facts} FROM sessions WHERE id = ?"
        session = next(database.rows(sql, source.member), None)
        if session is None:
            return
        title, parent = session.pop("title"), session["parent_session_id"]
        usage = {name: session.pop(name) for name in counts}
        yield {"type": "session", **session}
        wanted = "id role content tool_call_id tool_calls tool_name timestamp reasoning"
        columns = database.columns("messages")
        names = [name for name in wanted.split() if name in columns]
        sql = f"SELECT {', '.join(names)} FROM messages WHERE session_id = ? ORDER BY id"
        before = {(row["role"], row["content"]) for row in database.rows(sql, parent)}
        is_copy = bool(before)
        for row in database.rows(sql, source.member):
            is_copy = is_copy and (row["role"], row["content"]) in before
            calls = from_json(row.get("tool_calls"))
            marked = {"copied": True} if is_copy else {}
            yield {"type": "message", **row, "tool_calls": calls, **marked}
        yield None
        yield {"type": STATE, "id": session["id"], "title": title, "usage": usage}
