"""`SessionTurns`: one redacted session, the input of all analysis of whole sessions; and `Calls`,
which finds the command of each tool result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, cast

from memory_assets.models import ABANDONED, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import EMPTY

T = TypeVar("T")
_POLLS = re.compile(r"\b(?:session_id|cell_id)\"?: ?[\"']?([\w-]+)")
POLLING = frozenset({"write_stdin", "wait"})
"""Tools of Codex that wait for a command that runs."""
_STILL_RUNNING = re.compile(
    r"(?:Process running with session|Script running with cell) ID ([\w-]+)"
    r"|Command running in background|running in the background"
)
_HEAD = 600


@dataclass(frozen=True)
class SessionTurns:
    """One redacted session: its records in the lake's order, and its turns.

    `records` includes those of subagents, those of abandoned branches, and those that belong to no
    turn: titles before the first prompt, and `leaf-summary` records of other sessions' files that
    name a record of this one (`parent_uuid` is the leaf).
    """

    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    records: tuple[RedactedRecord, ...]
    turns: tuple[Turn, ...]

    def once(self, make: Callable[[SessionTurns], T]) -> T:
        """Return `make(self)`, cached, because several stages need the same."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    @cached_property
    def _made(self) -> dict[Callable[[SessionTurns], object], object]:
        return {}

    @property
    def by_program(self) -> bool:
        """Whether programs wrote all prompts."""
        return bool(self.turns) and all(turn.by_program for turn in self.turns)

    @cached_property
    def failed_calls(self) -> frozenset[str]:
        """The ids of the tool calls whose results are errors, all of them."""
        results = [record for record in self.records if record.kind == "tool_result"]
        worked = {record.tool_use_id for record in results if not record.is_error}
        return frozenset({record.tool_use_id for record in results} - worked - {""})


def session_turns(records: Iterable[RedactedRecord], turns: Iterable[Turn]) -> SessionTurns:
    """Return one session from its records and the turns built from them.

    Raises:
        ValueError: there is no record, or they belong to several sessions.
    """
    kept = tuple(records)
    if not kept:
        raise ValueError("a session has at least one record")
    own = [record for record in kept if record.subtype != "leaf-summary"] or list(kept)
    first = own[0]
    others = {record.session_id for record in own} - {first.session_id}
    if others:
        raise ValueError(f"records of {len(others) + 1} sessions given as one")
    return SessionTurns(
        project=first.project,
        project_root=first.project_root,
        agent=first.agent,
        session_id=first.session_id,
        records=kept,
        turns=tuple(_results_after_calls(_without_abandoned(turn)) for turn in turns),
    )


def _without_abandoned(turn: Turn) -> Turn:
    """Return a turn without records of abandoned branches."""
    kept = tuple(record for record in turn.records if record.subtype != ABANDONED)
    if len(kept) == len(turn.records):
        return turn
    is_abandoned = turn.prompt is not None and turn.prompt.subtype == ABANDONED
    return replace(turn, prompt=None if is_abandoned else turn.prompt, records=kept)


def _results_after_calls(turn: Turn) -> Turn:
    """Return a turn in which each result follows its call, with its tool, command and paths.

    In Claude Code's files a result can stand before its call, and its reader knows no call then.
    """
    early: dict[str, RedactedRecord] = {}
    calls: set[str] = set()
    for record in turn.records:
        if record.kind == "tool_use":
            calls.add(record.tool_use_id)
        elif (
            record.kind == "tool_result" and record.tool_use_id and record.tool_use_id not in calls
        ):
            early[record.tool_use_id] = record
    moved = {call_id: early[call_id] for call_id in early.keys() & calls}
    if not moved:
        return turn
    elsewhere = {id(result) for result in moved.values()}
    records: list[RedactedRecord] = []
    for call in reversed(turn.records):
        if id(call) in elsewhere:
            continue
        if call.kind == "tool_use" and (result := moved.pop(call.tool_use_id, None)):
            records.append(
                replace(result, tool_name=call.tool_name, command=call.command, paths=call.paths)
            )
        records.append(call)
    return replace(turn, records=tuple(reversed(records)))


@dataclass(slots=True)
class Calls:
    """The open calls, and the commands that still ran when their call returned.

    Codex gives a slow command a session id and polls it by `write_stdin`, a slow script a cell id
    and polls it by `wait`. Must be passed every record of a session in order.
    """

    asked: dict[str, RedactedText] = field(default_factory=dict)
    _running: dict[str, RedactedText] = field(default_factory=dict)

    def ended(self, record: RedactedRecord) -> RedactedText:
        """Return the command that ended with this record; "" if none did."""
        if record.kind == "tool_use":
            self.asked[record.tool_use_id] = record.text
        if record.kind != "tool_result":
            return EMPTY
        command = record.command or self._polled(record)
        still = command and _STILL_RUNNING.search(record.text[:_HEAD])
        if still:
            self._running[still.group(1) or ""] = command
            return EMPTY
        return command

    def _polled(self, record: RedactedRecord) -> RedactedText:
        asked = self.asked.get(record.tool_use_id, EMPTY)
        polls = record.tool_name in POLLING or "tools.write_stdin(" in asked
        polled = _POLLS.search(asked) if polls else None
        return self._running.get(polled.group(1), EMPTY) if polled else EMPTY
