"""Where the turns of a session begin in its tables, so that a session that has grown is cut
again from the turn that was open, and no earlier one is read.

A record that is added belongs to the last turn, but for those of subagents: they belong to
the turn that spawned them, whenever they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_assets.models import RedactedRecord, Turn
from memory_assets.stores.catalog.facts import Places, ProductFacts

_REMEMBERED = 50
"""Turns that can be gone back to; what belongs to an earlier one redoes the session."""


class TurnPlace(NamedTuple):
    """Where a turn begins: the first row of redacted_records that belongs to it or a later
    one, the row and the seq of its prompt, and its first row in the table made of turns."""

    turn: int
    first_row: int
    prompt_row: int
    prompt_seq: int
    first_made: int


@dataclass(frozen=True)
class TurnPlaces:
    """The last turns of a session, and the turn of each subagent that has records or was
    spawned."""

    recent: tuple[TurnPlace, ...] = ()
    agents: Mapping[str, int] | None = None

    @classmethod
    def of(
        cls,
        turns: Sequence[Turn],
        made: Sequence[int],
        row_of: Mapping[int, int],
        before: TurnPlaces,
        first_made: int,
    ) -> TurnPlaces:
        """Return the places of turns behind those of `before`; `made` counts the rows made
        of each, and `row_of` gives the row of a record by its `id()`."""
        agents = dict(before.agents or {})
        starts: list[TurnPlace] = []
        at = first_made
        for turn, count in zip(turns, made, strict=True):
            for record in turn.records:
                for name in (record.agent_id, record.spawned_agent_id):
                    if name:
                        agents.setdefault(name, turn.turn_index)
            if turn.prompt is not None:
                first = min(row_of[id(record)] for record in turn.records)
                row = row_of[id(turn.prompt)]
                starts.append(TurnPlace(turn.turn_index, first, row, turn.prompt.seq, at))
            at += count
        for number in range(len(starts) - 2, -1, -1):
            first = min(starts[number].first_row, starts[number + 1].first_row)
            starts[number] = starts[number]._replace(first_row=first)
        return cls((*before.recent, *starts)[-_REMEMBERED:], agents)

    @classmethod
    def from_facts(cls, facts: ProductFacts) -> TurnPlaces:
        """Return what `fact` gave."""
        recent, agents = facts.get("places") or ([], {})
        return cls(tuple(TurnPlace(*place) for place in recent), agents)

    def fact(self) -> Places:
        """Return it as it stands in a product's facts."""
        return self.recent, dict(self.agents or {})

    def before(self, turn: int) -> TurnPlaces:
        """Return the places of the turns before one."""
        agents = {name: at for name, at in (self.agents or {}).items() if at < turn}
        return TurnPlaces(tuple(place for place in self.recent if place.turn < turn), agents)

    def reached_by(self, kept: int, added: Iterable[RedactedRecord]) -> TurnPlace | None:
        """Return the first turn that records `added` behind the first `kept` may belong to;
        None if it is not remembered, or the session's first."""
        firm = [place for place in self.recent if place.prompt_row < kept]
        if not firm:
            return None
        turn, agents = firm[-1].turn, self.agents or {}
        for record in added:
            for name in (record.agent_id, record.spawned_agent_id):
                if name:
                    turn = min(turn, agents.get(name, turn))
        return next((place for place in firm[1:] if place.turn == turn), None)

    def from_place(
        self, place: TurnPlace, records: Iterable[RedactedRecord]
    ) -> list[RedactedRecord]:
        """Return those of the records behind `place.first_row` that belong to that turn or
        a later one."""
        agents = self.agents or {}
        return [
            record
            for record in records
            if (
                record.seq >= place.prompt_seq
                if record.agent_id is None
                else agents.get(record.agent_id, place.turn) >= place.turn
            )
        ]
