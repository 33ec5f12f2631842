"""Where summaries of agents' turns stand among other hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory_assets.recall.search.answer import Hit
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, SUMMARY_HEAD


def with_summaries_last(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, with summaries moved to the end whose turns are all on record: the turns
    answer better (docs/agent-memory.md). Such a summary is left out if one of its turns is a hit;
    the first of these names it (`summary` in its metadata). A summary of turns that retention has
    cut keeps its place."""
    kept = [hit for hit in hits if not _is_on_record(hit)]
    last: list[Hit] = []
    for summary in filter(_is_on_record, hits):
        place = next((at for at, hit in enumerate(kept) if _covers(summary, hit)), None)
        if place is None:
            last.append(summary)
        else:
            named = {**kept[place].metadata, "summary": summary.id}
            kept[place] = replace(kept[place], metadata=named)
    return [*kept, *last]


def _is_on_record(hit: Hit) -> bool:
    """Return True for a summary whose turns are all on record."""
    return hit.id.startswith(SUMMARY_HEAD) and not hit.metadata.get("cut_turns")


def _covers(summary: Hit, hit: Hit) -> bool:
    """Whether a hit is a turn that a summary covers."""
    of = summary.metadata
    return (
        hit.id.startswith(MESSAGE_HEAD)
        and all(hit.metadata[name] == of[name] for name in ("project", "session_id"))
        and of["first_turn"] <= hit.metadata["turn_index"] <= of["last_turn"]
    )
