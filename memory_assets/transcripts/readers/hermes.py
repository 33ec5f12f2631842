"""Hermes: `~/.hermes/state.db`, and `profiles/<name>/state.db` of its profiles.

After a compaction a session goes on in a new one, which begins with what the old one had.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.models import Tokens
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.databases import Database
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import object_field, objects_in, parsed, text_field
from memory_assets.transcripts.ids import safe_id
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import COPIED, HEADER, Call, Outcome, tokens_in
from memory_assets.transcripts.stored import (
    DatabaseReader,
    Said,
    Sessions,
    StoredParser,
    session_rows,
)
from memory_assets.transcripts.unread import Columns

_DATABASE = "state.db"
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
"""What a whole session took, in the order of `Tokens`."""
_INSTRUCTIONS = "the program's instructions to the model"


class HermesParser(StoredParser):
    """The state of reading one session."""

    def _tokens_of_all(self, row: JsonObject) -> Tokens:
        return tokens_in(object_field(row, "usage"), _COUNTS)

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        if row.get("copied"):
            return COPIED
        frame = self._frame(row, str(row.get("id")), row.get("timestamp"))
        text = text_field(row, "content")
        if role == "user":
            by_program = text.startswith("[SYSTEM:")
            origin = Origin("machine", "injected") if by_program else UNKNOWN
            return self._user_text(frame, text, origin)
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
        return self._unknown("message", role)


class HermesReader(DatabaseReader):
    """Reads the sessions of Hermes."""

    agent = "hermes"
    version = "4"
    session = HermesParser
    sessions = Sessions(
        *("sessions", f"id model parent_session_id started_at title {' '.join(_COUNTS)}"),
        updated="ended_at",
    )
    said = (Said("messages", "role content tool_calls", "timestamp"),)
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

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a session."""
        names = "id role content tool_call_id tool_calls tool_name timestamp reasoning"
        order = "WHERE session_id = ? ORDER BY id"
        parent = facts["parent_session_id"]
        before = [
            (row["role"], row["content"])
            for row in database.select("messages", "role content", order, parent)
        ]
        known = {"id": facts["id"], "start": facts["started_at"], "model": facts["model"]}
        title = {"title": facts["title"], "usage": {name: facts[name] for name in _COUNTS}}
        messages = database.select("messages", names, order, source.member)
        rows = _with_copies_marked(messages, set(before))
        yield from session_rows(known | {"parent": parent}, title, rows)


def _with_copies_marked(
    messages: Iterator[JsonObject], before: set[tuple[object, object]]
) -> Iterator[JsonObject]:
    """Yield messages, those marked that repeat what the session before this one has."""
    is_copy = True
    for row in messages:
        is_copy = is_copy and (row["role"], row["content"]) in before
        marked = {"copied": True} if is_copy else {}
        yield {"type": "message", **row, "tool_calls": parsed(row["tool_calls"]), **marked}
