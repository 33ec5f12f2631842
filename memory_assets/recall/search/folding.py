"""Hits that others make needless: the summary of turns of a conversation, below one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory_assets.recall.search.answer import Hit
from memory_assets.stores.agent_partitions import MESSAGE_HEAD, SUMMARY_HEAD


def without_covered(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in their order without the summaries of agents' turns that come after a turn
    which they cover: its metadata names the summary (`summary`). One that comes before them stays,
    as does one of turns that are no hits, or that retention has cut."""
    kept: list[Hit] = []
    for hit in hits:
        place = _first_covered(kept, hit) if hit.id.startswith(SUMMARY_HEAD) else None
        if place is None:
            kept.append(hit)
        else:
            kept[place] = replace(kept[place], metadata={**kept[place].metadata, "summary": hit.id})
    return kept


def _first_covered(hits: Sequence[Hit], summary: Hit) -> int | None:
    """Return the place of the first hit that is a turn which a summary covers, None if none is."""
    of = summary.metadata
    for place, hit in enumerate(hits):
        if (
            hit.id.startswith(MESSAGE_HEAD)
            and all(hit.metadata[name] == of[name] for name in ("project", "session_id"))
            and of["first_turn"] <= hit.metadata["turn_index"] <= of["last_turn"]
        ):
            return place
    return None
