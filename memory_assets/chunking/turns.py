"""Split the records of one session into turns at the human's prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from memory_assets.chunking.recalled import is_recalled
from memory_assets.models import MEMORY_INPUT, RedactedRecord, Turn


def build_turns(
    records: Iterable[RedactedRecord], first_index: int = 0, *, recalled: bool = False
) -> Iterator[Turn]:
    """Yield the turns of one session, `turn_index` counting human prompts from `first_index`
    (a fork whose copied prompts were left out starts behind them).

    `records` are one session's: the main file in file order, and each subagent's in its
    own file order, before, after or between. A subagent's records are placed after the
    call that spawned it. Records before the first prompt belong to turn 0 if they have text
    of the assistant or a note of the human, else to no turn. A session without a prompt is one
    turn with `prompt` None if it has such text, else no turn; one that has only subagents is a turn
    for each of them. Answers of this memory are left out,
    unless `recalled` keeps them.
    """
    ordered = _with_subagents_in_place(
        record for record in records if recalled or not is_recalled(record)
    )
    starts = [place for place, record in enumerate(ordered) if record.kind == "prompt"]
    if ordered and not starts and all(record.agent_id is not None for record in ordered):
        yield from _turns_of_agents(ordered, first_index)
        return
    if not starts:
        if _says_something(ordered):
            yield Turn(ordered[0].session_id, first_index, None, tuple(ordered))
        return
    begins = list(starts)
    if _says_something(ordered[: starts[0]]):
        begins[0] = 0
    ends = [*starts[1:], len(ordered)]
    for index, (begin, start, end) in enumerate(
        zip(begins, starts, ends, strict=True), first_index
    ):
        prompt = ordered[start]
        yield Turn(prompt.session_id, index, prompt, tuple(ordered[begin:end]))


def _turns_of_agents(records: Sequence[RedactedRecord], first_index: int) -> Iterator[Turn]:
    """Yield a turn for each subagent with text, together with those that it spawned, by their start
    times. Used if the records of the main session are missing."""
    spawner = {r.spawned_agent_id: r.agent_id for r in records if r.spawned_agent_id}
    of_agent: dict[str | None, list[RedactedRecord]] = {}
    for record in records:
        top, passed = record.agent_id, {record.agent_id}
        while top is not None and (above := spawner.get(top)) not in (None, *passed):
            passed.add(top := above)
        of_agent.setdefault(top, []).append(record)
    never = datetime.max.replace(tzinfo=UTC)
    began = sorted(
        of_agent.values(), key=lambda own: next(filter(None, (r.timestamp for r in own)), never)
    )
    for index, own in enumerate(began, first_index):
        if _says_something(own):
            yield Turn(own[0].session_id, index, None, tuple(own))


def _says_something(records: Iterable[RedactedRecord]) -> bool:
    return any(
        (record.kind == "assistant_text" or record.subtype == MEMORY_INPUT) and record.text.strip()
        for record in records
    )


def _with_subagents_in_place(records: Iterable[RedactedRecord]) -> list[RedactedRecord]:
    """Merge subagents' records: after the spawning result, else by time, else at the end."""
    main: list[RedactedRecord] = []
    waiting: dict[str, list[RedactedRecord]] = {}
    spawned: set[str] = set()
    for record in records:
        own = main if record.agent_id is None else waiting.setdefault(record.agent_id, [])
        own.append(record)
        spawned.add(record.spawned_agent_id)
    if not waiting:
        return main
    by_time: dict[int, list[str]] = {}
    for agent_id, own in waiting.items():
        if agent_id not in spawned:
            by_time.setdefault(_place_by_time(main, own), []).append(agent_id)
    ordered: list[RedactedRecord] = []

    def follow(records: Iterable[RedactedRecord]) -> None:
        for record in records:
            ordered.append(record)
            follow(waiting.pop(record.spawned_agent_id, ()))

    for place in range(len(main) + 1):
        for agent_id in by_time.get(place, ()):
            follow(waiting.pop(agent_id, ()))
        follow(main[place : place + 1])
    for agent_id in list(waiting):  # spawned by each other, or by an agent that is not here
        follow(waiting.pop(agent_id, ()))
    return ordered


def _place_by_time(main: list[RedactedRecord], own: list[RedactedRecord]) -> int:
    """Return the index in `main` before which a subagent belongs by its start time.

    As timestamps sometimes step back, that is after the last record that is not later. A subagent
    with a human's prompt begins a turn of its own, so it follows the whole turn.
    """
    start: datetime | None = next((r.timestamp for r in own if r.timestamp is not None), None)
    if start is None:
        return len(main)
    place = 0
    for index, record in enumerate(main):
        if record.timestamp is not None and record.timestamp <= start:
            place = index + 1
    if any(record.kind == "prompt" for record in own):
        while place < len(main) and main[place].kind != "prompt":
            place += 1
    return place
