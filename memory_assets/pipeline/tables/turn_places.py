"""Where the last turns of a session begin in its tables, so that only these are read and cut
again when the session has grown.

An added record belongs to the last turn; one of a subagent, to the turn that spawned it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_assets.models import RedactedRecord, Turn
from memory_assets.stores.catalog.facts import Places, ProductFacts

_REMEMBERED = 50
"""Turns whose places are kept; a record of an earlier turn has the whole session cut again."""


class TurnPlace(NamedTuple):
    """Where a turn begins: the first row of redacted_records that belongs to it or a later
    turn, the row and the seq of its prompt, and its first row in the derived table."""

    turn: int
    first_row: int
    prompt_row: int
    prompt_seq: int
    first_derived_row: int


@dataclass(frozen=True)
class TurnPlaces:
    """The places of a session's last turns, and the turn number of each subagent."""

    recent: tuple[TurnPlace, ...] = ()
    agents: Mapping[str, int] | None = None

    @classmethod
    def of(
        cls,
        turns: Sequence[Turn],
        row_counts: Sequence[int],
        row_of: Mapping[int, int],
        before: TurnPlaces,
        first_derived_row: int,
    ) -> TurnPlaces:
        """Return the places of `before` followed by those of `turns`. `row_counts` has the rows
        of each turn in the derived table, from row `first_derived_row` on; `row_of`
        the row of each record in redacted_records, by `id(record)`."""
        agents = dict(before.agents or {})
        starts: list[TurnPlace] = []
        at = first_derived_row
        for turn, count in zip(turns, row_counts, strict=True):
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
        """Return the places from the facts of a product."""
        recent, agents = facts.get("places") or ([], {})
        return cls(tuple(TurnPlace(*place) for place in recent), agents)

    def fact(self) -> Places:
        """Return the places as facts of a product."""
        return self.recent, dict(self.agents or {})

    def before(self, turn: int) -> TurnPlaces:
        """Return the places of the turns before the given one."""
        agents = {name: at for name, at in (self.agents or {}).items() if at < turn}
        return TurnPlaces(tuple(place for place in self.recent if place.turn < turn), agents)

    def reached_by(self, kept: int, added: Iterable[RedactedRecord]) -> TurnPlace | None:
        """Return the place of the first turn that a record among `added`, which follow the first
        `kept` rows, may belong to; None if it is not known, or is the session's first turn."""
        before_growth = [place for place in self.recent if place.prompt_row < kept]
        if not before_growth:
            return None
        turn, agents = before_growth[-1].turn, self.agents or {}
        for record in added:
            for name in (record.agent_id, record.spawned_agent_id):
                if name:
                    turn = min(turn, agents.get(name, turn))
        return next((place for place in before_growth[1:] if place.turn == turn), None)

    def from_place(
        self, place: TurnPlace, records: Iterable[RedactedRecord]
    ) -> list[RedactedRecord]:
        """Return those of `records`, which follow `place.first_row`, that belong to that turn
        or a later one."""
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
