"""A session as a conversation: its turns in windows, each call with its result, subagents within
the turn that started them, observations and commits beside their turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from memory_assets.chunking.digest import error_head
from memory_assets.errors import NotFound
from memory_assets.models import PLAN, RedactedRecord, Turn
from memory_assets.recall.names import ResolvedId, resolve_id, row_of_id
from memory_assets.recall.rows import answering_models, iso_time, one_line, rows_of, with_iso_times
from memory_assets.recall.sessions.records import as_diff, session_turns
from memory_assets.recall.sessions.session import Item, session_items
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES
from memory_assets.stores.stores import Stores

_MOST_CACHED = 2
"""Sessions whose turns are kept in memory: one who scrolls asks for the same again and again."""
_HIDDEN_KINDS = ("title",)
_HEAD = 60
"""Characters of a turn's prompt in an outline."""
_CALL_KINDS = ("tool_use", "tool_result")
_INPUT_FIELDS = ("description:", "pattern:", "query:", "prompt:", "url:", "path:")


@dataclass
class Entry:
    """One thing of a turn: what was said (`kind` is the record's), a `call` with its result, or a
    `subagent` with its own `entries`. `subject` is a call's command, file or other argument, or
    the session in which a handed-over plan was made; `error` the line of a failed one's result
    that says most; `seconds` how long its last answer came after it, None if that is not known."""

    kind: str
    seq: int
    agent_id: str | None
    time: str | None
    text: str
    subtype: str = ""
    tool: str = ""
    subject: str = ""
    diff: str | None = None
    result: str | None = None
    result_seq: int | None = None
    failed: bool = False
    error: str = ""
    seconds: float | None = None
    entries: list[Entry] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """The calls of a subagent, and of those that it started."""
        return sum(entry.calls + (entry.kind == "call") for entry in self.entries)


@dataclass(frozen=True)
class TurnShown:
    """One turn: its entries in order, and the observations and commits that belong to it."""

    id: str
    index: int
    time: str | None
    entries: list[Entry]
    beside: list[Item]


@dataclass(frozen=True)
class Conversation:
    """A session, and those of its turns from `first` to before `end` (places among `count` turns).
    `wanted` is the index of the turn that was asked for; `summary` is empty if there is none yet;
    `fork_of` has project and id of the sessions whose first `copied_prompts` prompts it repeats."""

    project: str
    session_id: str
    agent: str
    summary: Mapping[str, Any]
    fork_of: Sequence[Sequence[str]]
    copied_prompts: int
    turns: list[TurnShown]
    first: int
    end: int
    count: int
    wanted: int | None

    @property
    def entries(self) -> int:
        """How many entries its turns here have, those of subagents included."""
        return sum(1 + len(entry.entries) for turn in self.turns for entry in turn.entries)


class Conversations:
    """The conversations of one memory."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._cached: dict[tuple[str, str], tuple[str, list[Turn]]] = {}
        self._lock = Lock()

    def window(
        self, any_id: str, most: int, *, turn: int | None = None, first: int | None = None
    ) -> Conversation:
        """Return a session by its id or the id of any of its rows, with at most `most` turns: from
        the place `first` on, else around the turn of index `turn`, else around what the id names,
        else from the beginning.

        Raises:
            ConfigurationError: it looks like no id.
            NotFound: it is not in memory, or has no turns.
        """
        named = resolve_id(self._stores, any_id)
        project, session_id = named.project, named.parts.session_id
        turns = self.turns(project, session_id)
        wanted = turn if turn is not None else self._turn_of(named)
        if first is None:
            places = [at for at, exchange in enumerate(turns) if exchange.turn_index == wanted]
            first = max(0, places[0] - 3) if places else 0
        first = min(max(first, 0), len(turns) - 1)
        chosen = turns[first : first + most]
        lake = self._stores.lake
        summaries = rows_of(lake, SESSION_SUMMARIES, project, session_id)
        product = self._stores.catalog.products.of_session(project, session_id)
        facts = product[REDACTED_RECORDS.name].facts if REDACTED_RECORDS.name in product else {}
        beside: dict[int, list[Item]] = {}
        kinds = ("observations", "commits")
        for item in session_items(lake, project, session_id, kinds, full=False):
            beside.setdefault(item.turn_index, []).append(item)
        return Conversation(
            project,
            session_id,
            turns[0].records[0].agent,
            with_iso_times(summaries[0]) if summaries else {},
            facts.get("copied_from", ()),
            facts.get("copied_prompts", 0),
            [self._show_turn(exchange, beside.get(exchange.turn_index, [])) for exchange in chosen],
            first,
            first + len(chosen),
            len(turns),
            wanted,
        )

    def outline(self, conversation: Conversation, most: int) -> list[tuple[int, str]]:
        """Return the index of each turn of a session, and what was asked in it on one line; of a
        longer session `most` turns around those that are shown."""
        turns = self.turns(conversation.project, conversation.session_id)
        middle = (conversation.first + conversation.end) // 2
        first = max(0, min(middle - most // 2, len(turns) - most))
        return [
            (turn.turn_index, one_line(turn.prompt.text, _HEAD) if turn.prompt else "")
            for turn in turns[first : first + most]
        ]

    def with_text(self, conversation: Conversation, text: str) -> list[tuple[int, int, str]]:
        """Return the index of each turn of a session in which a text stands, in any case and over
        any blanks, how often it does, and what stands around it first, on one line."""
        words = text.split()
        pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
        places = []
        for turn in self.turns(conversation.project, conversation.session_id) if words else ():
            hits = [hit for record in turn.records for hit in pattern.finditer(record.text)]
            if hits:
                passage, start = hits[0].string, hits[0].start()
                blank = passage.rfind(" ", 0, max(start - _HEAD // 2, 0))
                around = passage[max(blank + 1, start - _HEAD, 0) : start + 3 * _HEAD]
                places.append((turn.turn_index, len(hits), one_line(around, 2 * _HEAD)))
        return places

    def models(self, conversation: Conversation) -> list[str]:
        """Return the models that answered in a session, the one that answered most first."""
        turns = self.turns(conversation.project, conversation.session_id)
        return answering_models(record.model for turn in turns for record in turn.records)

    def record(self, any_id: str, seq: int, agent_id: str | None) -> RedactedRecord:
        """Return one record of a session, by its place in its source file.

        Raises:
            NotFound: there is no such record.
        """
        named = resolve_id(self._stores, any_id)
        for turn in self.turns(named.project, named.parts.session_id):
            for record in turn.records:
                if (record.seq, record.agent_id) == (seq, agent_id):
                    return record
        raise NotFound(f"no record {seq} in session {named.parts.session_id}")

    def turns(self, project: str, session_id: str) -> list[Turn]:
        """Return the turns of a session, answers of this memory among them.

        Raises:
            NotFound: it has none.
        """
        products = self._stores.catalog.products.of_session(project, session_id)
        product = products.get(REDACTED_RECORDS.name)
        key, state = (project, session_id), product.output_hash if product is not None else ""
        with self._lock:
            cached = self._cached.get(key)
        if cached is None or cached[0] != state:
            cached = state, session_turns(self._stores, project, session_id, recalled=True)
        with self._lock:
            self._cached.pop(key, None)
            self._cached[key] = cached  # the last, of which the first is the first to go
            if len(self._cached) > _MOST_CACHED:
                del self._cached[next(iter(self._cached))]
        if not cached[1]:
            raise NotFound(f"session {session_id} has no turns: nobody says anything in it")
        return cached[1]

    def _show_turn(self, turn: Turn, beside: list[Item]) -> TurnShown:
        times = (record.timestamp for record in turn.records if record.timestamp is not None)
        entries = entries_of(turn.records)
        for entry in entries:
            planned = entry.subject if entry.kind == "prompt" else ""
            if planned and self._stores.catalog.products.project_of(planned) is None:
                entry.subject = ""
        return TurnShown(turn.id, turn.turn_index, iso_time(next(times, None)), entries, beside)

    def _turn_of(self, named: ResolvedId) -> int | None:
        if not named.has_row:
            return named.parts.turn_index
        row = row_of_id(self._stores.lake, named)
        if row is None:
            raise NotFound(f"no {named.parts.kind} {named.id} in memory")
        return row.get("turn_index")


def entries_of(records: Iterable[RedactedRecord]) -> list[Entry]:
    """Return the records of a turn as entries: results joined to their calls (which a file may have
    after them), the records of each subagent in one entry where they begin."""
    ordered = list(records)
    parents = {
        member.spawned_agent_id: member.agent_id for member in ordered if member.spawned_agent_id
    }
    by_agent: dict[str | None, list[Entry]] = {None: []}
    # A side question makes the turn of its agent's own.
    by_agent |= {member.agent_id: by_agent[None] for member in ordered if member.kind == "prompt"}
    calls: dict[str, Entry] = {}
    for record in ordered:
        if record.agent_id not in by_agent:
            entry = Entry("subagent", record.seq, record.agent_id, iso_time(record.timestamp), "")
            by_agent.get(parents.get(str(record.agent_id)), by_agent[None]).append(entry)
            by_agent[record.agent_id] = entry.entries
        call = calls.get(record.tool_use_id) if record.kind in _CALL_KINDS else None
        if call is not None and record.kind == "tool_result":
            _add_result(call, record)
        elif call is not None and not call.text:
            _set_call(call, record)
        elif record.kind not in _HIDDEN_KINDS:
            entry = _entry(record)
            by_agent[record.agent_id].append(entry)
            if record.kind in _CALL_KINDS and record.tool_use_id:
                calls[record.tool_use_id] = entry
    return by_agent[None]


def _entry(record: RedactedRecord) -> Entry:
    entry = Entry(
        record.kind, record.seq, record.agent_id, iso_time(record.timestamp), "", record.subtype
    )
    if record.kind == "tool_use":
        _set_call(entry, record)
    elif record.kind == "tool_result":
        entry.kind, entry.tool, entry.subject = "call", str(record.tool_name), _subject(record)
        _add_result(entry, record)
    else:
        entry.text = str(record.text)
    if record.kind == "prompt" and record.subtype == PLAN and record.paths:
        entry.subject = re.split(r"[/\\]", record.paths[0])[-1].removesuffix(".jsonl")
    return entry


def _set_call(entry: Entry, record: RedactedRecord) -> None:
    entry.kind, entry.tool, entry.subject = "call", str(record.tool_name), _subject(record)
    entry.text, entry.seq = str(record.text), record.seq
    entry.diff = as_diff(entry.text)


def _add_result(entry: Entry, record: RedactedRecord) -> None:
    more = str(record.text)
    entry.result = more if entry.result is None else f"{entry.result}\n{more}"
    entry.result_seq = record.seq
    if record.seq != entry.seq and entry.time is not None and record.timestamp is not None:
        after = (record.timestamp - datetime.fromisoformat(entry.time)).total_seconds()
        entry.seconds = after if after >= 0 else None
    if record.is_error:
        entry.failed, entry.error = True, str(error_head(record.text))


def _subject(record: RedactedRecord) -> str:
    """Return what a call is about, on one line: its command, its files, or its first argument."""
    if record.command:
        return one_line(str(record.command))
    if record.paths:
        return one_line(", ".join(record.paths))
    for line in str(record.text).splitlines():
        if line.startswith(_INPUT_FIELDS):
            return one_line(line.partition(":")[2])
    return ""
