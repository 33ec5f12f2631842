"""What the readers' sessions share: the state of reading one file, from objects to `Record`s."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from memory_assets.models import Kind, Record, Role, Tokens
from memory_assets.transcripts.authorship import (
    UNKNOWN,
    UNKNOWN_TAG,
    ClassifiedText,
    Origin,
    classify_text,
)
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.fields import count_field, from_json, text_field
from memory_assets.transcripts.ids import record_id, safe_id, safe_name, text_hash, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.texts import patch_paths, paths_in, render_input
from memory_assets.transcripts.times import parse_time

MAX_OPEN_CALLS = 2_000
EMPTY = "empty"
UNKNOWN_TYPE = "unknown-type"
REPEATED_ID = "duplicate-uuid"
SIDE_QUESTION = "side-question"
"""Subtype of a prompt that a human sent to a subagent; all others there are an agent's."""
HEADER = "session-header"
"""Reason why facts of the session give no record."""
STATE = "session-state"
"""Reason why facts of the program give none."""
COPIED = "copied-history"
"""Reason why what another session has gives none."""
SUPERSEDED = "superseded"
"""Reason why what came again later gives none."""
USAGE = "usage"
"""Subtype of a record that only carries tokens."""
_COMMANDS = ("command", "cmd", "commandLine")
_PATCHES = ("patchText", "patch", "input")
_TAG = re.compile(r"<([\w-]+)")
_ROLES: dict[Kind, Role] = {
    "prompt": "user",
    "attachment": "user",
    "assistant_text": "assistant",
    "thinking": "assistant",
    "tool_use": "assistant",
    "tool_result": "tool",
}
"""Who a record of a kind is from, unless a reader says otherwise; all others are the system's."""
_ON_BRANCHES = frozenset({"prompt", "assistant_text", "thinking"})
"""Kinds of what was said on a branch; what tools did there was done."""

Outcome = list[Record] | str
"""What became of one object: its records, or the reason why there are none."""


@dataclass
class Frame:
    """The fields of `Record` that all blocks of one JSON object have in common."""

    byte_start: int
    byte_end: int
    record_uuid: str
    timestamp: datetime | None = None
    parent_uuid: str | None = None
    cwd: str = ""
    git_branch: str = ""
    model: str = ""
    agent_version: str = ""
    is_sidechain: bool = False
    message_id: str = ""
    content: Any = None
    """The object, or the part of it, that has the texts; see `texts.content_bytes`."""


class HeldText(NamedTuple):
    """A text that is kept back: a later object may double, deliver or withdraw it."""

    content: ClassifiedText
    frame: Frame

    @property
    def is_human(self) -> bool:
        """True if the human typed it as a prompt."""
        return self.content.kind == "prompt"


def tokens_in(counts: JsonObject, names: Sequence[str]) -> Tokens:
    """Return the tokens in these fields of an object, in the order of `Tokens`."""
    return Tokens(*(count_field(counts, name) for name in names))


def tokens_with_cached(prompt_tokens: int, output: int, cached_tokens: int) -> Tokens:
    """Return the tokens of an answer whose prompt was `prompt_tokens`, what was cached included."""
    return Tokens(max(prompt_tokens - cached_tokens, 0), output, min(cached_tokens, prompt_tokens))


def tokens_of_prompt(counts: JsonObject, names: Sequence[str]) -> Tokens:
    """Return the tokens in the fields for a prompt, what was cached included, for what was made of
    it, and for what was cached."""
    return tokens_with_cached(*(count_field(counts, name) for name in names))


@dataclass(frozen=True, slots=True)
class Call:
    """The part of a tool call that its result carries too."""

    tool_name: str
    paths: tuple[str, ...] = ()
    command: str = ""


def call_of(name: str, arguments: Any) -> Call:
    """Return a call of a tool by its arguments: the files that they or a patch in them name, else
    the command of a shell. An editor's `command` is what it does with its file."""
    fields = arguments if isinstance(arguments, dict) else {}
    patch = next((text for key in _PATCHES if "*** " in (text := text_field(fields, key))), "")
    command = next((text for key in _COMMANDS if (text := text_field(fields, key))), "")
    listed = fields.get("commands")
    if not command and isinstance(listed, list):
        command = "\n".join(line for line in listed if isinstance(line, str))
    elements = (item for value in fields.values() if isinstance(value, list) for item in value)
    paths = paths_in(fields) or patch_paths(patch)
    paths = paths or tuple(dict.fromkeys(path for item in elements for path in paths_in(item)))
    return Call(name, paths, "" if paths else command)


class SessionParser(ABC):
    """The state of reading one file: makes and numbers its records, and keeps the report's
    counts."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        self._source = source
        self._report = report
        self._seen: set[int] = set()
        self._objects: set[int] = set()
        self._calls: OrderedDict[str, Call] = OrderedDict()
        """Calls by id, each until it is answered; the oldest go when there are too many."""
        self._cwd = self._git_branch = self._model = self._version = ""
        self._start: datetime | None = None
        self._byte_start = self._byte_end = 0
        """Where the present object is."""
        self._branch = ""
        """The subtype of what the present object says: `ABANDONED` on an abandoned branch."""

    def take_at(self, start: int, end: int, record: JsonObject) -> list[Record]:
        """Return what `take` does of the object at these bytes."""
        self._byte_start, self._byte_end = start, end
        return self.take(record)

    @abstractmethod
    def take(self, record: JsonObject, /) -> list[Record]:
        """Return the `Record`s that this object gives, and those it releases."""

    def end(self) -> list[Record]:
        """Return the records that were held until the end of the file."""
        return []

    def has_met(self, record: JsonObject, *, repeats: bool) -> bool:
        """Return whether the very object was met in an earlier file (`repeats`: this file is not
        the first); it is from now on."""
        whole = text_hash(json.dumps(record, sort_keys=True))
        if repeats and whole in self._objects:
            return True
        self._objects.add(whole)
        return False

    def repeated(self) -> list[Record]:
        """Count an object that an earlier file has, too."""
        return self._resolve(REPEATED_ID)

    def _met(self, record_uuid: str) -> bool:
        """Return whether a record with this id was met before; it is from now on."""
        id_hash = text_hash(record_uuid)
        if id_hash in self._seen:
            return True
        self._seen.add(id_hash)
        return False

    def _resolve(self, outcome: Outcome) -> list[Record]:
        """Count one object in the report as kept or dropped, and return its records."""
        if not outcome:
            outcome = EMPTY
        if isinstance(outcome, str):
            self._report.dropped[outcome] += 1
            self._report.reason = outcome
            return []
        self._report.kept += 1
        return outcome

    def _begin(
        self,
        *,
        session: object,
        cwd: str,
        version: str = "",
        start: object = None,
        model: str = "",
    ) -> str:
        """Note the session's facts, which are those of the records that follow; return the reason
        why the object that has them gives no record."""
        report = self._report
        report.see_session(safe_id(session))
        self._cwd = cwd or self._cwd
        self._version = safe_name(version) or self._version
        self._model = model or self._model
        report.see_cwd(self._cwd)
        report.see_version(self._version)
        self._start = parse_time(start)
        report.see_time(self._start)
        return HEADER

    def _frame(
        self,
        row: Any,
        own: object = None,
        at: object = None,
        model: str = "",
        parent: object = None,
    ) -> Frame:
        """Return the frame of the present object with the agent's `own` id and its time, in
        whatever form, else that of the session's beginning."""
        time = parse_time(at)
        self._report.see_time(time)
        source, start = self._source, self._byte_start
        return Frame(
            byte_start=start,
            byte_end=self._byte_end,
            record_uuid=record_id(source.agent, source.session_id, own, start),
            timestamp=time or self._start,
            parent_uuid=safe_id(parent) or None,
            cwd=self._cwd,
            git_branch=self._git_branch,
            model=safe_name(model) or self._model,
            agent_version=self._version,
            is_sidechain=source.agent_id is not None,
            content=row,
        )

    def _unknown(self, name: str, *kind: object) -> str:
        """Count a type that the reader does not know, or a kind of one; return the reason that it
        gives no record."""
        self._report.see_unknown("/".join((name, *map(type_name, kind))))
        return UNKNOWN_TYPE

    def _records(
        self, frame: Frame, kind: Kind, text: str, subtype: str = "", **details: Any
    ) -> list[Record]:
        """Return one record, or none if it has no text."""
        if not text.strip():
            return []
        return [self._record(frame, kind, text, subtype=subtype, **details)]

    def _with_tokens(self, outcome: Outcome, frame: Frame, tokens: Tokens) -> Outcome:
        """Return what one object gave with the tokens of an answer at the first record; one
        without text carries them where there is none."""
        if not any(tokens):
            return outcome
        if isinstance(outcome, str) or not outcome:
            outcome = [self._record(frame, "system", "", subtype=USAGE)]
        return [replace(outcome[0], tokens=tuple(tokens)), *outcome[1:]]

    def _user_text(self, frame: Frame, text: str, origin: Origin = UNKNOWN) -> list[Record]:
        """Return the record of a text under the user's name, which may be a machine's."""
        return self._text_record(frame, classify_text(text, origin))

    def _text_record(self, frame: Frame, classified: ClassifiedText) -> list[Record]:
        """Return the record of a text; a prompt is the user's. An unknown tag is counted."""
        if classified.subtype == UNKNOWN_TAG and (tag := _TAG.match(classified.text)):
            self._report.see_unknown(f"tag/{type_name(tag.group(1))}")
        return self._records(frame, classified.kind, classified.text, classified.subtype)

    def _attached(self, frame: Frame, path: str) -> list[Record]:
        """Return the record of a file that a person attached; none without a path."""
        return self._records(frame, "attachment", path, "file", paths=(path,))

    def _call(
        self, frame: Frame, call_id: str, name: str, arguments: Any, **details: Any
    ) -> Record:
        """Return the record of a tool call, which is open from now on; its input may be a text of
        JSON."""
        if (parsed := from_json(arguments)) is not None:
            arguments = parsed
        call = call_of(name, arguments)
        return self._called(frame, call_id, call, render_input(arguments), **details)

    def _called(self, frame: Frame, call_id: str, call: Call, text: str, **details: Any) -> Record:
        """Return the record of a tool call, which is open from now on."""
        if call_id:
            self._calls[call_id] = call
        if len(self._calls) > MAX_OPEN_CALLS:
            self._calls.popitem(last=False)
        return self._of_call(frame, "tool_use", text, call_id, call, **details)

    def _answered(
        self, frame: Frame, call_id: str, text: str, unknown: Call | None = None, **details: Any
    ) -> Record:
        """Return the record of a call's result; `unknown` replaces a call that was not read."""
        call = self._calls.pop(call_id, None) or unknown or Call("")
        return self._of_call(frame, "tool_result", text, call_id, call, **details)

    def _of_call(
        self, frame: Frame, kind: Kind, text: str, call_id: str, call: Call, **details: Any
    ) -> Record:
        details |= {"tool_name": call.tool_name, "paths": call.paths, "command": call.command}
        return self._record(frame, kind, text, tool_use_id=call_id, **details)

    def _record(
        self, frame: Frame, kind: Kind, text: str, role: Role | None = None, **details: Any
    ) -> Record:
        """Return the next record; `details` are further fields of `Record`.

        In a sidechain nobody is human, but for side questions: what would be a prompt there is an
        agent's.
        """
        report, source = self._report, self._source
        if kind == "prompt" and frame.is_sidechain and details.get("subtype") != SIDE_QUESTION:
            role, kind, details["subtype"] = "system", "system", "agent-prompt"
        if self._branch and kind in _ON_BRANCHES:
            details["subtype"] = details.get("subtype") or self._branch
        record = Record(
            agent=source.agent,
            session_id=source.session_id,
            agent_id=source.agent_id,
            seq=report.blocks,
            role=role or _ROLES.get(kind, "system"),
            kind=kind,
            text=text,
            **vars(frame),
            **details,
        )
        report.blocks += 1
        report.prompts += kind == "prompt"
        return record
