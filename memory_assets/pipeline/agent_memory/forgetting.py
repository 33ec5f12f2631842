"""Forgetting what agents wrote: finding the memories that come from forgotten sessions, removing
forgotten sources from memories that stay, and deleting memories from the journal.

A memory stays when only some of its sources are forgotten: its trail no longer names these, and
their wordings of it are gone. Its rows in all stores are removed like those of forgotten memories;
the journal keeps it, and the next ingest exports it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from datetime import datetime

from memory_assets.agent_memory.memory import id_of_memory
from memory_assets.agent_memory.policy import NOTE
from memory_assets.agent_memory.ports import StoredMemory, TrailEntry
from memory_assets.pipeline.agent_memory.gateway import EVERYWHERE, redaction_for
from memory_assets.pipeline.agent_memory.session_promotion import promoted_from, session_of
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.agents.partitions import (
    MEMORY_HEAD,
    is_agent_memory,
    partition_of,
    project_in,
)
from memory_assets.stores.agents.waiting import drop_waiting
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY
from memory_assets.stores.tombstones import is_unique

_SESSION_HEAD = "session::"


def journal_rows(components: Components) -> Iterator[tuple[SessionKey, str, int]]:
    """Yield key (partition, name), table and number of rows of each conversation and memory in the
    journal."""
    if components.has_journal:
        journal = components.journal
        for project in journal.projects():
            for name in journal.conversation_states(project):
                turns = journal.count(name)
                yield (partition_of(project), name), AGENT_HISTORY.name, turns
        for memory in journal.memories():
            yield _key_of(memory), AGENT_MEMORY.name, 1


def texts_in_journal(components: Components, key: SessionKey) -> Iterator[str]:
    """Yield the texts of a conversation or a memory in the journal; the lake may not have them
    yet."""
    partition, name = key
    if not (is_agent_memory(partition) and components.has_journal):
        return
    yield from (turn.text for turn in components.journal.turns(name))
    memory_id = f"{MEMORY_HEAD}{name}"
    for memory in components.journal.memories({"memory_id": memory_id}):
        yield from (memory.text, *memory.entities, *memory.tags, *memory.also)


def memories_from(
    components: Components, conversations: Set[str], sessions: Set[SessionKey] = frozenset()
) -> list[SessionKey]:
    """Return the keys of the memories from these conversations, and of the notes on these sessions,
    whose ids need not be unique."""
    if not components.has_journal:
        return []
    return [
        _key_of(memory)
        for memory in components.journal.memories()
        if memory.conversation_id in conversations
        or (memory.type == NOTE and (memory.project, memory.conversation_id) in sessions)
    ]


def written_since(components: Components, key: SessionKey, moment: datetime) -> bool:
    """Whether an agent wrote a memory, or all of a conversation, after a moment; False for other
    keys."""
    partition, name = key
    if not (is_agent_memory(partition) and components.has_journal):
        return False
    first = components.journal.first_change(name, f"{MEMORY_HEAD}{name}")
    return first is not None and first > moment


def forget_written(components: Components, keys: Iterable[SessionKey]) -> int:
    """Delete conversations and memories by key, leaving no byte of them in the journal, its copy
    and the waiting texts; return the number of turns and memories. The projects of sessions are
    only marked, so that their sessions are read for promotion again."""
    keys = list(keys)
    conversations = {name for where, name in keys if is_agent_memory(where) or is_unique(name)}
    drop_waiting(components.data_dir, lambda entry: entry.get("conversation") in conversations)
    if not components.has_journal:
        return 0
    journal, names = components.journal, list[str]()
    for partition, name in keys:
        project = project_in(partition) if is_agent_memory(partition) else partition
        if is_agent_memory(partition) and journal.project_of(name) in (None, project):
            names.append(name)
        journal.note_sessions_seen(project, "")
    removed = journal.delete_conversations(names)
    removed += journal.delete_memories(f"{MEMORY_HEAD}{name}" for name in names)
    journal.compact()
    return removed


@dataclass(frozen=True)
class _Forgotten:
    """What is forgotten: `keys` of sessions, and names of conversations and memories
    (`written`)."""

    keys: Set[SessionKey]
    written: Set[str]

    def without_forgotten(self, project: str, entry: TrailEntry) -> TrailEntry | None:
        """Return a trail entry of a memory about a project without forgotten sources; None if it
        has no others."""
        gone = [name for name in entry.of if self._is_forgotten(project, entry, name)]
        if not gone:
            return entry
        left = replace(entry, of=tuple(name for name in entry.of if name not in gone))
        if entry.what != "merged" and gone[0].startswith(MEMORY_HEAD):
            return left  # a memory that it contradicts, or is archived for
        return left if left.of and _is_turn(gone[0]) else None

    def has_memory(self, memory_id: str) -> bool:
        """Whether a memory is forgotten."""
        return memory_id.removeprefix(MEMORY_HEAD) in self.written

    def _is_forgotten(self, project: str, entry: TrailEntry, source: str) -> bool:
        if _is_turn(source):
            return (project, session_of(source)) in self.keys
        return source.removeprefix(MEMORY_HEAD) in self.written


def said_too(components: Components, keys: Collection[SessionKey]) -> list[SessionKey]:
    """Return the keys of the memories that stay when these sessions, conversations and memories are
    forgotten, but name them in their trail, or contradict them."""
    if not components.has_journal:
        return []
    forgotten = _forgotten_names(keys)
    affected: list[SessionKey] = []
    for memory in components.journal.memories():
        if _key_of(memory) in keys:
            continue
        trail = components.journal.trail(memory.memory_id)
        if any(map(forgotten.has_memory, memory.contradicts)) or any(
            forgotten.without_forgotten(memory.project, entry) != entry for entry in trail
        ):
            affected.append(_key_of(memory))
    return affected


def leave_without(
    components: Components, selected: Set[SessionKey], along: Iterable[SessionKey]
) -> set[SessionKey]:
    """Remove forgotten sources from the memories among `along` that stay, and return their keys.
    `along`: the keys among `selected` that leave no tombstone."""
    staying = {_key_of(stays): stays for stays in _staying_memories(components, selected, along)}
    forgotten = _forgotten_names(selected - staying.keys())
    for memory in staying.values():
        _remove_from(components, memory, forgotten)
    return set(staying)


def _staying_memories(
    components: Components, selected: Set[SessionKey], along: Iterable[SessionKey]
) -> Iterator[StoredMemory]:
    if not components.has_journal:
        return
    for _, name in set(along).difference(promoted_from(components, selected)):
        yield from components.journal.memories({"memory_id": f"{MEMORY_HEAD}{name}"})


def _remove_from(components: Components, memory: StoredMemory, forgotten: _Forgotten) -> None:
    """Remove forgotten sources from a memory that stays: from its trail, from the ids of memories
    that it contradicts, and wordings that no other entry names."""
    journal = components.journal
    before = journal.trail(memory.memory_id)
    steps = (forgotten.without_forgotten(memory.project, step) for step in before)
    trail = [step for step in steps if step is not None]
    named = {name for entry in trail if entry.what == "merged" for name in entry.of}
    fingerprint = redaction_for(components, EVERYWHERE).fingerprint

    def is_named(wording: RedactedText) -> bool:
        return id_of_memory(fingerprint, memory.project, wording) in named

    contradicts = tuple(
        contradict for contradict in memory.contradicts if not forgotten.has_memory(contradict)
    )
    kept = replace(memory, also=tuple(filter(is_named, memory.also)), contradicts=contradicts)
    with journal.transaction():
        journal.replace_trail(memory.memory_id, trail)
        if kept != memory:
            journal.put_memories([kept])


def _forgotten_names(keys: Collection[SessionKey]) -> _Forgotten:
    written = {name for partition, name in keys if is_agent_memory(partition)}
    return _Forgotten(frozenset(keys), frozenset(written))


def _is_turn(source: str) -> bool:
    return source.startswith(_SESSION_HEAD)


def _key_of(memory: StoredMemory) -> SessionKey:
    return partition_of(memory.project), memory.memory_id.removeprefix(MEMORY_HEAD)
