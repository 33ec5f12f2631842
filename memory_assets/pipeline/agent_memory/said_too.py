"""Memories that stay when one of those who said them is forgotten: their trail no longer names that
one, and its wordings of them are gone.

Everything made of such a memory is removed like what is forgotten; the journal keeps the memory,
and the next ingest makes the rest again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, replace

from memory_assets.agent_memory.memory import id_of_memory
from memory_assets.agent_memory.ports import StoredMemory
from memory_assets.agent_memory.trail import TrailEntry
from memory_assets.pipeline.agent_memory.calls import has_journal
from memory_assets.pipeline.agent_memory.gateway import EVERYWHERE, redaction_for
from memory_assets.pipeline.agent_memory.session_promotion import session_of, shown_only
from memory_assets.pipeline.agent_memory.sources import key_of
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.agents.partitions import MEMORY_HEAD, is_agent_memory

_SESSION_HEAD = "session::"


@dataclass(frozen=True)
class _Forgotten:
    """What is forgotten: sessions, and names of conversations and hashes of memories."""

    keys: Set[SessionKey]
    written: Set[str]

    def left_of(self, project: str, entry: TrailEntry) -> TrailEntry | None:
        """Return an entry in the trail of a memory about a project without what is forgotten, None
        where it is about nothing else."""
        gone = [each for each in entry.of if self._has(project, entry, each)]
        if not gone:
            return entry
        turns = tuple(each for each in entry.of if each not in gone)
        return replace(entry, of=turns) if turns and _is_turn(gone[0]) else None

    def _has(self, project: str, entry: TrailEntry, source: str) -> bool:
        if _is_turn(source):
            return (project, session_of(source)) in self.keys
        if source.startswith(MEMORY_HEAD):  # else what a memory contradicts, or is archived for
            return entry.what == "merged" and source.removeprefix(MEMORY_HEAD) in self.written
        return source in self.written


def said_too(components: Components, keys: Collection[SessionKey]) -> list[SessionKey]:
    """Return partition and name of the memories that stay when these sessions, conversations and
    memories are forgotten, but name them in their trail."""
    if not has_journal(components.settings):
        return []
    forgotten = _forgotten(keys)
    found: list[SessionKey] = []
    for memory in components.journal.memories():
        if key_of(memory) in keys or memory.conversation_id in forgotten.written:
            continue  # the second: a conversation that is forgotten without its memories
        trail = components.journal.trail(memory.memory_id)
        if any(forgotten.left_of(memory.project, each) != each for each in trail):
            found.append(key_of(memory))
    return found


def leave_without(
    components: Components, selected: Set[SessionKey], along: Iterable[SessionKey]
) -> set[SessionKey]:
    """Take what is forgotten out of the memories of those `along` that stay, and return their
    partitions and names. `along`: those of the `selected` that leave no tombstone."""
    staying = {key_of(each): each for each in _staying(components, along)}
    forgotten = _forgotten(selected - staying.keys())
    for memory in staying.values():
        _leave(components, memory, forgotten)
    return set(staying)


def _staying(components: Components, along: Iterable[SessionKey]) -> Iterator[StoredMemory]:
    if not has_journal(components.settings):
        return
    for _, name in along:
        for each in components.journal.memories({"memory_id": f"{MEMORY_HEAD}{name}"}):
            if not shown_only(components, each):
                yield each


def _leave(components: Components, memory: StoredMemory, forgotten: _Forgotten) -> None:
    """Take what is forgotten out of the trail of a memory, and of its wordings those that no other
    entry names: of versions that did not name them, all."""
    journal = components.journal
    before = journal.trail(memory.memory_id)
    left = [forgotten.left_of(memory.project, each) for each in before]
    trail = [each for each in left if each is not None]
    named = {name for entry in trail if entry.what == "merged" for name in entry.of}
    fingerprint = redaction_for(components, EVERYWHERE).fingerprint

    def is_named(wording: RedactedText) -> bool:
        return id_of_memory(fingerprint, memory.project, wording) in named

    also = tuple(filter(is_named, memory.also))
    with journal.transaction():
        journal.replace_trail(memory.memory_id, trail)
        if also != memory.also:
            collection = journal.collection_of(memory.memory_id)
            journal.put_memories(collection, [replace(memory, also=also)])


def _forgotten(keys: Collection[SessionKey]) -> _Forgotten:
    written = {name for partition, name in keys if is_agent_memory(partition)}
    return _Forgotten(frozenset(keys), frozenset(written))


def _is_turn(source: str) -> bool:
    return source.startswith(_SESSION_HEAD)
