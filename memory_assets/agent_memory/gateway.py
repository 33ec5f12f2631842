"""The four calls by which an agent uses its memory, and the notes that a person pins in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memory_assets.agent_memory.history import Appended, checked_turn
from memory_assets.agent_memory.memory import (
    Outcome,
    Surroundings,
    Written,
    checked_memory,
    comparable,
    id_of_memory,
    newer_first,
    said_again,
)
from memory_assets.agent_memory.policy import MOST_TOKENS, NOTE, MemoryPolicy
from memory_assets.agent_memory.ports import (
    Change,
    ConversationTurn,
    Found,
    HistoryStore,
    Redaction,
    StoredMemory,
    TrailEntry,
    VectorStore,
)
from memory_assets.agent_memory.similarity import difference, relation
from memory_assets.errors import BadArgument
from memory_assets.redacted_text import RedactedText

_UNCOUNTED = -1
"""`at_turn` of a note: it takes no place in the window of what agents store."""
_COMPARED = 20
"""Memories that a new one is compared with: those most similar to it."""


class MemoryGateway:
    """Appends to conversations and reads them, writes memories and recalls them. `redaction_of`
    returns the redaction for a conversation."""

    def __init__(
        self,
        turns: HistoryStore,
        redaction_of: Callable[[str], Redaction],
        vectors: VectorStore,
        policy: MemoryPolicy,
        surroundings: Surroundings,
    ) -> None:
        self._turns = turns
        self._redaction_of = redaction_of
        self._vectors = vectors
        self._policy = policy
        self._around = surroundings

    def append_history(
        self,
        conversation_id: str,
        role: str,
        text: str,
        turn_index: int,
        ts: datetime | str,
        *,
        message_id: str = "",
        channel: str = "",
    ) -> Appended:
        """Append a turn to a conversation. Repeating a turn changes nothing; without a
        `message_id`, a turn is the same if its conversation, index, role and text are equal.

        Raises:
            BadArgument: a value is not allowed.
            ConfigurationError: another turn has this place or this id; names both ids.
            RedactionUnavailable, RedactionFailed: nothing was stored.
        """
        turn = checked_turn(
            self._redaction_of(conversation_id),
            conversation_id,
            role,
            text,
            turn_index,
            ts,
            message_id=message_id,
            channel=channel,
        )
        appended = self._turns.append_turn(replace(turn, project=self._around.project))
        return Appended(turn.message_id, appended)

    def tail_history(self, conversation_id: str, n: int) -> list[ConversationTurn]:
        """Return the last `n` turns of a conversation in order; none of an unknown one."""
        return self._turns.tail(conversation_id, n) if n > 0 else []

    def write_memory(
        self,
        text: str,
        type: str,
        confidence: float,
        ts: datetime | str,
        conversation_id: str | None = None,
        *,
        entities: Sequence[str] = (),
        tags: Sequence[str] = (),
        source: str = "tool",
        waited: bool = False,
    ) -> Written:
        """Store a memory unless it is refused, and return the outcome. One that `waited` for the
        store is not refused for the number of memories stored since.

        Raises:
            BadArgument: a value is not allowed.
            RedactionUnavailable, RedactionFailed, StoreError: nothing was stored.
        """
        memory = checked_memory(
            self._policy,
            self._around,
            text,
            type,
            confidence,
            ts,
            conversation_id,
            entities=entities,
            tags=tags,
            source=source,
        )
        if isinstance(memory, Written):
            return memory
        with self._vectors.exclusive():
            return self._store(memory, waited)

    def pin(self, target: str, session_id: str, note: str) -> StoredMemory:
        """Store the note of a person on a session or a turn, replacing an earlier one, and return
        it.

        Raises:
            BadArgument: the note is too long, or the id holds a secret.
            RedactionUnavailable, RedactionFailed, StoreError: nothing was stored.
        """
        redaction = self._around.redaction
        stored_at = self._around.clock()
        if not redaction.is_safe(target):
            raise BadArgument("id: holds what looks like a secret or an address")
        text = redaction.redact(note).trimmed()
        if (tokens := self._around.count_tokens(text)) > MOST_TOKENS:
            raise BadArgument(f"text: {tokens} tokens are more than {MOST_TOKENS}")
        pinned = StoredMemory(
            memory_id=self.pin_id(target),
            text=text,
            type=NOTE,
            confidence=1.0,
            ts=datetime.fromtimestamp(stored_at, UTC),
            stored_at=stored_at,
            conversation_id=session_id,
            at_turn=_UNCOUNTED,
            project=self._around.project,
            entities=(redaction.redact(target),),
        )
        with self._vectors.exclusive():
            self._vectors.add([pinned])
            self._note(pinned, "stored", "a person pinned it", pinned.memory_id)
        return pinned

    def pin_id(self, target: str) -> str:
        """Return the id of the note on a session or a turn."""
        return id_of_memory(self._around.redaction.fingerprint, f"pin\0{target}", "")

    def recall_memory(
        self,
        query_text: str,
        k: int,
        min_confidence: float = 0.0,
        conversation_id: str | None = None,
    ) -> list[Found]:
        """Return the `k` memories that answer a query best; without a query, the newest. Memories
        of the gateway's project, its `others` and no project are searched. A memory comes before
        those that it contradicts."""
        conditions: dict[str, object] = {"confidence": {"$gte": min_confidence}}
        if conversation_id:
            conditions["conversation_id"] = conversation_id
        query = self._around.redaction.redact(query_text) if query_text.strip() else None
        hits: list[Found] = []
        for project in dict.fromkeys((self._around.project, *self._around.others, "")):
            scope = {**conditions, "project": project}
            if query is not None:
                hits += self._vectors.query(query, k, scope)
            else:
                hits += (Found(memory, 0.0) for memory in self._vectors.get(scope, k))
        hits.sort(
            key=lambda hit: (-hit.similarity, -hit.memory.ts.timestamp(), hit.memory.memory_id)
        )
        return newer_first(hits[:k])

    def id_of(self, text: str) -> str:
        """Return the id that a text has as a memory."""
        return id_of_memory(
            self._around.redaction.fingerprint, self._around.project, self.redacted(text)
        )

    def redacted(self, text: str) -> RedactedText:
        """Return a text as a memory keeps it."""
        return self._around.redaction.redact(text).trimmed()

    def _store(self, memory: StoredMemory, waited: bool) -> Written:
        """Store a checked memory and return the outcome; the caller holds the store exclusively."""
        for stored_before in self._vectors.get({"memory_id": memory.memory_id}):
            return self._store_again(stored_before, memory, "renewed")
        similar_memories = self._vectors.query(memory.text, _COMPARED, {"project": memory.project})
        contradicts = dict[str, str]()
        for similar in similar_memories:
            if not comparable(memory, similar.memory):
                continue
            how_related = relation(memory.text, similar.memory.text, similar.similarity)
            if how_related == "same":
                return self._store_again(similar.memory, memory, "merged")
            if how_related == "contradiction":
                contradicts[similar.memory.memory_id] = difference(memory.text, similar.memory.text)
        if not waited and (reason := self._window_full_reason(memory)):
            return Written("refused", reason=reason)
        new_memory = replace(memory, contradicts=tuple(contradicts))
        self._vectors.add([new_memory])
        why = f"believed: {memory.confidence:g}"
        self._note(memory, "stored", why, memory.memory_id, new_memory.contradicts)
        differences = tuple(contradicts.values())
        return Written("stored", memory.memory_id, "", new_memory.contradicts, differences)

    def _store_again(
        self, stored: StoredMemory, repeated: StoredMemory, outcome: Outcome
    ) -> Written:
        """Update a stored memory from one that repeats it or is another wording of it."""
        renewed = said_again(stored, repeated, merged=outcome == "merged")
        self._vectors.add([renewed])
        if outcome == "merged":
            # The id by which this wording is found when its conversation is forgotten.
            wordings = (repeated.memory_id,)
            self._note(repeated, "merged", "another wording of it", stored.memory_id, wordings)
        else:
            self._note(repeated, "renewed", "said again", stored.memory_id)
        return Written(outcome, stored.memory_id)

    def _note(
        self,
        memory: StoredMemory,
        change: Change,
        reason: str,
        memory_id: str,
        sources: Sequence[str] = (),
    ) -> None:
        """Record a change of the memory `memory_id` that `memory` caused."""
        comes_from = (memory.conversation_id, *sources) if memory.conversation_id else sources
        entry = TrailEntry(
            memory_id, memory.stored_at, change, memory.source, tuple(comes_from), reason
        )
        self._around.note(entry)

    def _window_full_reason(self, memory: StoredMemory) -> str:
        """Return why no further memory may be stored now, and when one may; "" if one may now."""
        policy = self._policy
        conditions: dict[str, object] = {"project": memory.project}
        if memory.at_turn:
            conditions |= {"conversation_id": memory.conversation_id}
            conditions["at_turn"] = {"$gte": max(memory.at_turn - policy.window_turns + 1, 1)}
        else:
            since = memory.stored_at - policy.window_minutes * 60
            conditions |= {"at_turn": 0, "stored_at": {"$gte": since}}
        recent = self._vectors.get(conditions, policy.max_per_window)
        recent.sort(key=lambda stored: -stored.stored_at)
        if len(recent) < policy.max_per_window:
            return ""
        oldest_in_window = recent[policy.max_per_window - 1]
        if memory.at_turn:
            return (
                f"{policy.max_per_window} memories were stored in the last {policy.window_turns} "
                f"turns of this conversation; the next is allowed when it has "
                f"{oldest_in_window.at_turn + policy.window_turns} turns"
            )
        allowed_at = datetime.fromtimestamp(
            oldest_in_window.stored_at + policy.window_minutes * 60, UTC
        )
        return (
            f"{policy.max_per_window} memories were stored in the last "
            f"{policy.window_minutes:g} minutes; the next is allowed at "
            f"{allowed_at.isoformat(timespec='seconds').replace('+00:00', 'Z')}"
        )
