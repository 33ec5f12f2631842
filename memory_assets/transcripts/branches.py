"""The branches of a session that were abandoned, for agents that keep a tree in one file.

Whoever goes back to an earlier entry and says something else begins a new branch, and the old one
stays where it is. The last entry is the end of the branch that counts; what is not above it in the
tree was abandoned.
"""

from __future__ import annotations

from pathlib import Path

from memory_assets.transcripts.base import ReadReport
from memory_assets.transcripts.fields import mark, text_field
from memory_assets.transcripts.lines import read_objects


def abandoned_entries(
    path: Path, end: int | None = None, *, own: str = "id", above: str = "parentId"
) -> frozenset[int]:
    """Return the marks of the ids of the entries on abandoned branches, of the first `end` bytes.

    `own` and `above` are the fields of an entry's id and of the id of the one above it. A session's
    header, of type "session", is no entry.

    Where an entry above the last one is missing, nothing before the gap counts as abandoned.

    Raises:
        TranscriptError: the file cannot be read.
    """
    parents: dict[int, int] = {}
    children: dict[int, int] = {}
    last = 0
    for _, _, entry in read_objects(path, ReadReport(), end=end):
        if entry_id := text_field(entry, own):
            if entry.get("type") == "session":
                continue
            last = mark(entry_id)
            parent_id = text_field(entry, above)
            parents[last] = mark(parent_id) if parent_id else 0
            children[parents[last]] = children.get(parents[last], 0) + 1
    if all(number == 1 for number in children.values()):
        return frozenset()
    alive: set[int] = set()
    at = last
    while at in parents and at not in alive:
        alive.add(at)
        at = parents[at]
    gone = [entry for entry in parents if entry not in alive]
    if at and at not in parents:  # the entry above is not in the file
        order = {entry: place for place, entry in enumerate(parents)}
        first = min(order[entry] for entry in alive)
        gone = [entry for entry in gone if order[entry] > first]
    return frozenset(gone)
