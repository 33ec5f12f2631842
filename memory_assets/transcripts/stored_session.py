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
    parse_time,
    patch_paths,
    paths_in,
    record_id,
    render_input,
    safe_id,
    safe_name,
    text_field,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Call, Frame, Session

_COMMANDS = ("command", "cmd", "commandLine")
_NO_TOKENS = Tokens()
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
        command = "\n".join(each for each in listed if isinstance(each, str))
    each = (item for value in given.values() if isinstance(value, list) for item in value)
    paths = paths_in(given) or patch_paths(patch)
    paths = paths or tuple(dict.fromkeys(path for item in each for path in paths_in(item)))
    return Call(name, paths, "" if paths else command)


class StoredSession(Session):
    """The state of reading one rendered session."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._cwd = self._version = self._model = self._branch = ""
        self._start: datetime | None = None
        self._ids: Counter[str] = Counter()

    def _begin(self, *, session: object, cwd: str, version: str = "", start: object = None) -> None:
        """Note a session's facts, which its first row has."""
        report = self._report
        report.see_session(safe_id(session))
        self._cwd = cwd or self._cwd
        self._version = safe_name(version) or self._version
        report.see_cwd(self._cwd)
        report.see_version(self._version)
        self._start = parse_time(start)
        report.see_time(self._start)

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
        """Return the frame of a row with the agent's `own` id and its time, else that of the
        session's beginning. An id that rows share, as where a program blanked ids, is numbered."""
        self._report.see_time(at)
        if isinstance(own, str):
            self._ids[own] += 1
            own = own if self._ids[own] == 1 else f"{own}/{self._ids[own]}"
        self._model = safe_name(model) or self._model
        return Frame(
            byte_start=start,
            byte_end=end,
            record_uuid=record_id(self._source.agent, self._source.session_id, own, start),
            timestamp=at or self._start,
            parent_uuid=safe_id(parent) or None,
            cwd=self._cwd,
            git_branch=self._branch,
            model=self._model,
            agent_version=self._version,
            is_sidechain=self._source.agent_id is not None,
            content=row,
        )

    def _titled(
        self,
        row: JsonObject,
        start: int,
        end: int,
        subtype: str = "ai-title",
        tokens: Tokens = _NO_TOKENS,
    ) -> list[Record]:
        """Return the record of the session's title, from the row of its changing facts; with the
        tokens of all answers, where the store counts them by session only. What a program calls a
        session that nobody named is no title."""
        frame = self._frame(row, start, end, f"{row.get('id')}/title", None)
        title = text_field(row, "title")
        if _UNNAMED.fullmatch(title):
            made = self._one(frame, "system", "system", title, "unnamed")
        else:
            made = self._one(frame, "system", "title", title, subtype)
        return self._resolve(self._with_tokens(made, frame, tokens))

    def _call(self, frame: Frame, call_id: str, name: str, given: Any, **more: Any) -> Record:
        """Return the record of a call, which is open until it is answered. `given` are its
        arguments, or a text of JSON with them."""
        arguments = given if (parsed := from_json(given)) is None else parsed
        call = call_of(name, arguments)
        return self._called(frame, call_id, call, render_input(arguments), **more)
