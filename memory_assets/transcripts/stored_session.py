"""What the sessions of readers of stores share: frames of rows, times, and calls of tools."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Any

from memory_assets.models import Record, Tokens
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.fields import (
    from_json,
    object_field,
    patch_paths,
    paths_in,
    render_input,
    safe_name,
    text_field,
    type_name,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import STATE, Call, Frame, Outcome, Session

_COMMANDS = ("command", "cmd", "commandLine")
_PATCHES = ("patchText", "patch", "input")
_UNNAMED = re.compile(
    r"(?:new|child|untitled) (?:session|chat|thread|conversation|composer|agent|task)"
    r"(?: - \d{4}-\d\d-\d\d\S*)?",
    re.IGNORECASE,
)
"""What OpenCode ("New session - 2026-07-30T14:04:55.689Z"), Crush, Cursor, Goose, VS Code and Zed
call a session that has no title yet."""


def call_of(name: str, arguments: Any) -> Call:
    """Return a call of a tool by its arguments: the files that they or a patch in them name, else
    the command of a shell. An editor's `command` is what it does with its file."""
    given = arguments if isinstance(arguments, dict) else {}
    patch = next((text for key in _PATCHES if "*** " in (text := text_field(given, key))), "")
    command = next((text for key in _COMMANDS if (text := text_field(given, key))), "")
    listed = given.get("commands")
    if not command and isinstance(listed, list):
        command = "\n".join(line for line in listed if isinstance(line, str))
    elements = (item for value in given.values() if isinstance(value, list) for item in value)
    paths = paths_in(given) or patch_paths(patch)
    paths = paths or tuple(dict.fromkeys(path for item in elements for path in paths_in(item)))
    return Call(name, paths, "" if paths else command)


class StoredSession(Session):
    """The state of reading one rendered session: a row of type "session" has its facts, one of type
    "session-state" its title, and all others what was said."""

    header_type = "session"
    """The type of the row that has the session's facts."""
    title_subtype = "ai-title"
    """How the title came about."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._ids: Counter[str] = Counter()

    def take(self, row: JsonObject, start: int, end: int) -> list[Record]:
        """Return the `Record`s that a row gives."""
        name = type_name(row.get("type"))
        role = text_field(row, "role") or text_field(object_field(row, "info"), "role")
        self._report.see_type(f"{name}/{type_name(role)}" if role else name)
        if name == self.header_type:
            return self._resolve(self._opened(row))
        if name == STATE:
            return self._titled(row, start, end)
        return self._resolve(self._message(name, role, row, start, end))

    def _opened(self, row: JsonObject) -> str:
        """Note the session's facts; return why their row gives no record."""
        raise NotImplementedError

    def _message(self, name: str, role: str, row: JsonObject, start: int, end: int) -> Outcome:
        """Return what a row of another type gives."""
        raise NotImplementedError

    def _frame(
        self,
        row: Any,
        start: int,
        end: int,
        own: object,
        at: datetime | None,
        model: str = "",
        parent: object = None,
    ) -> Frame:
        """Return the frame of a row; its model is that of the rows after it, too. An id that rows
        share, as where a program blanked ids, is numbered."""
        if isinstance(own, str):
            self._ids[own] += 1
            own = own if self._ids[own] == 1 else f"{own}/{self._ids[own]}"
        self._model = safe_name(model) or self._model
        return super()._frame(row, start, end, own, at, parent=parent)

    def _tokens_of_all(self, row: JsonObject) -> Tokens:
        """Return the tokens of all answers, from the row of the session's changing facts, where the
        store counts them by session only."""
        return Tokens()

    def _titled(self, row: JsonObject, start: int, end: int) -> list[Record]:
        """Return the record of the session's title, from the row of its changing facts. What a
        program calls a session that nobody named is no title."""
        frame = self._frame(row, start, end, f"{row.get('id')}/title", None)
        title = text_field(row, "title")
        if _UNNAMED.fullmatch(title):
            records = self._one(frame, "system", title, "unnamed")
        else:
            records = self._one(frame, "title", title, self.title_subtype)
        return self._resolve(self._with_tokens(records, frame, self._tokens_of_all(row)))

    def _call(self, frame: Frame, call_id: str, name: str, given: Any, **more: Any) -> Record:
        """Return the record of a call, which is open until it is answered. `given` are its
        arguments, or a text of JSON with them."""
        arguments = given if (parsed := from_json(given)) is None else parsed
        call = call_of(name, arguments)
        return self._called(frame, call_id, call, render_input(arguments), **more)
