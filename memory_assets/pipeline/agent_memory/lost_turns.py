"""Giving a journal that was lost what the lake has of its conversations: their turns, and which
turns retention had cut; and which conversations stay in the lake alone."""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress

from memory_assets.agent_memory_models import HistorySummary
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, project_in
from memory_assets.stores.agents.rows import turn_of_row
from memory_assets.stores.lake.lake import Lake, rows_from_arrow
from memory_assets.stores.lake.schemas import AGENT_HISTORY, HISTORY_SUMMARIES

LAKE_ONLY = "0:0"
"""The state of a conversation that the lake alone has, in the form of the journal's states."""


def conversation_states(components: Components, partition: str) -> dict[str, str]:
    """Return the journal's state of each conversation of a partition, and `LAKE_ONLY` for those
    whose rows stay in the lake as they are: the journal has such a name under another project, or
    only summaries are left, which nothing could be made of again."""
    journal, lake = components.journal, components.lake
    states = journal.conversation_states(project_in(partition))
    with_turns = set(lake.sessions(AGENT_HISTORY, partition))
    alone = {name for name in with_turns - states.keys() if journal.project_of(name) is not None}
    alone |= set(lake.sessions(HISTORY_SUMMARIES, partition)) - with_turns - states.keys()
    return states | dict.fromkeys(alone, LAKE_ONLY)


def stored_summaries(lake: Lake, partition: str, conversation_id: str) -> list[HistorySummary]:
    """Return the summaries of a conversation; none where they are of a version that cut nothing,
    which had no column `cut_turns`.

    Raises:
        NotFound: it has none.
        DamagedFile: they cannot be read, or another column is missing.
    """
    rows = lake.read(HISTORY_SUMMARIES, partition, conversation_id)
    missing = set(HISTORY_SUMMARIES.schema.names).difference(rows.column_names)
    if missing == {"cut_turns"}:
        return []
    if missing:
        names = ", ".join(sorted(missing))
        raise DamagedFile(f"summaries of {conversation_id} in {partition} have no column {names}")
    return rows_from_arrow(HISTORY_SUMMARIES, rows)


def put_back(components: Components, partition: str, conversation_id: str) -> None:
    """Add to the journal the turns of a conversation that only the lake has, unless retention cut
    them; turns that only a summary names are noted as cut. What the journal has stays as it is,
    so an append that came first keeps its place. Of a name that the journal has under another
    project it gets nothing."""
    journal, lake, key = components.journal, components.lake, (partition, conversation_id)
    try:
        turns = list(map(turn_of_row, lake.read_rows(AGENT_HISTORY, *key)))
    except (NotFound, DamagedFile):
        return
    summaries: list[HistorySummary] = []
    with suppress(NotFound, DamagedFile):  # the stage of the summaries says of a damaged one
        summaries = stored_summaries(lake, *key)
    with journal.transaction():
        if journal.project_of(conversation_id) not in (None, project_in(partition)):
            return
        present = journal.turns(conversation_id)
        ids = {turn.message_id for turn in present} | journal.cut_turns.ids(conversation_id)
        places = {turn.turn_index for turn in present}
        lost = [
            turn for turn in turns if turn.message_id not in ids and turn.turn_index not in places
        ]
        known = ids | {turn.message_id for turn in turns}
        taken = places | {turn.turn_index for turn in lost}
        journal.cut_turns.put(conversation_id, _cut_places(summaries, known, taken))
        if lost:
            journal.replace_turns(lost)
            journal.note_promoted(lost[-1])  # or what was forgotten since may come back


def _cut_places(
    summaries: Sequence[HistorySummary], known: Set[str], taken: Set[int]
) -> dict[str, int | None]:
    """Return by message id the places of the turns that summaries name, that are not among the
    `known` ones, and whose place no other turn has `taken`; None where the places of a summary
    have gaps."""
    found: dict[str, int | None] = {}
    for row in summaries:
        whole = row.last_turn - row.first_turn + 1 == len(row.message_ids)
        for at, name in enumerate(row.message_ids):
            message_id = name.removeprefix(MESSAGE_HEAD)
            place = row.first_turn + at if whole else None
            if message_id not in known and place not in taken:
                found[message_id] = place
    return found
