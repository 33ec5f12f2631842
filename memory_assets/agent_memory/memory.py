"""Memories: gated, redacted and compared with those on record before they are stored; recalled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from memory_assets.agent_memory.history import named
from memory_assets.agent_memory.policy import (
    MOST_TOKENS,
    NOTE,
    ORIGINS,
    MemoryPolicy,
    in_utc,
    one_of,
)
from memory_assets.agent_memory.ports import (
    Change,
    Found,
    Redaction,
    StoredMemory,
    TrailEntry,
    VectorStore,
    Where,
)
from memory_assets.agent_memory.similarity import difference, relation
from memory_assets.errors import BadArgument
from memory_assets.redacted_text import RedactedText

Outcome = Literal["stored", "renewed", "merged", "refused", "waits"]
MOST_LABELS = 20
"""Entities, and tags, of one memory."""
FROM_SESSIONS = "promoted from sessions"
"""The tag of a memory that nothing but sessions showed; `entities` has its topic."""
_UNCOUNTED = -1
"""`at_turn` of a note: it takes no place in the window of what agents store."""
COLLECTION = "memory"
_COMPARED = 20
"""Memories that a new one is compared with: those most similar to it."""


@dataclass(frozen=True)
class Written:
    """What came of writing a memory: it was `stored`; it was there and is `renewed`; it is another
    wording of one, `merged` into it; it was `refused`, and `reason` says why and when the next is
    allowed; or it `waits` until the memory can be written, and `reason` says why it cannot.
    `contradicts` are the ids of older memories that say otherwise and stay, `differences` in what
    each does (`5 instead of 3`)."""

    outcome: Outcome
    memory_id: str = ""
    reason: str = ""
    contradicts: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """What a service needs besides stores and policy: the redaction, the number of word pieces of
    a text, the number of turns of a conversation, the clock
    (Unix seconds), the project that the memories are about, "" for all, others whose memories are
    recalled, too, and what keeps a trail."""

    redaction: Redaction
    count_tokens: Callable[[str], int]
    turns_of: Callable[[str], int] = lambda conversation_id: 0
    clock: Callable[[], float] = time.time
    project: str = ""
    others: tuple[str, ...] = ()
    note: Callable[[TrailEntry], None] = lambda entry: None


class MemoryService:
    """Writes memories and recalls them."""

    def __init__(
        self,
        vectors: VectorStore,
        policy: MemoryPolicy,
        surroundings: Surroundings,
    ) -> None:
        self._vectors = vectors
        self._policy = policy
        self._around = surroundings

    def write(
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
        """Store a memory, unless it is refused, and return what came of it. One that `waited` for
        the store was counted then, and is not refused because many were stored since.

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
            return self._written(memory, waited)

    def pin(self, target: str, session_id: str, note: str) -> StoredMemory:
        """Keep what a person says about a session or a turn, in place of what was said before, and
        return it.

        Raises:
            BadArgument: it is too long, or the id holds a secret.
            RedactionUnavailable, RedactionFailed, StoreError: nothing was stored.
        """
        redaction, now = self._around.redaction, self._around.clock()
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
            ts=datetime.fromtimestamp(now, UTC),
            stored_at=now,
            conversation_id=session_id,
            at_turn=_UNCOUNTED,
            project=self._around.project,
            entities=(redaction.redact(target),),
        )
        with self._vectors.exclusive():
            self._vectors.add(COLLECTION, [pinned])
            self._note(pinned, "stored", "a person pinned it", pinned.memory_id)
        return pinned

    def pin_id(self, target: str) -> str:
        """Return the id of the note on a session or a turn."""
        return id_of_memory(self._around.redaction.fingerprint, f"pin\0{target}", "")

    def recall(
        self,
        query_text: str,
        k: int,
        min_confidence: float = 0.0,
        conversation_id: str | None = None,
    ) -> list[Found]:
        """Return the `k` memories that answer a query best; without a query, the newest. Those of
        the service's project and of none are searched. A memory stands before those that it
        contradicts."""
        where: dict[str, object] = {"confidence": {"$gte": min_confidence}}
        if conversation_id:
            where["conversation_id"] = conversation_id
        query = self._around.redaction.redact(query_text) if query_text.strip() else None
        memories: list[Found] = []
        for scope in self._scopes(where):
            if query is not None:
                memories += self._vectors.query(COLLECTION, query, k, scope)
            else:
                memories += (Found(one, 0.0) for one in self._vectors.get(COLLECTION, scope, k))
        memories.sort(
            key=lambda one: (-one.similarity, -one.memory.ts.timestamp(), one.memory.memory_id)
        )
        return newer_first(memories[:k])

    def _scopes(self, where: Where) -> Iterator[Where]:
        for project in dict.fromkeys((self._around.project, *self._around.others, "")):
            yield {**where, "project": project}

    def id_of(self, text: str) -> str:
        """Return the id that a text has as a memory."""
        return id_of_memory(
            self._around.redaction.fingerprint, self._around.project, self.redacted(text)
        )

    def redacted(self, text: str) -> RedactedText:
        """Return a text as a memory keeps it."""
        return self._around.redaction.redact(text).trimmed()

    def _written(self, memory: StoredMemory, waited: bool) -> Written:
        """Store a memory that may be stored, in an exclusive block."""
        for known in self._vectors.get(COLLECTION, {"memory_id": memory.memory_id}):
            return self._renewed(known, memory, "renewed")
        near = self._vectors.query(COLLECTION, memory.text, _COMPARED, {"project": memory.project})
        contradicts = dict[str, str]()
        for similar in near:
            if not comparable(memory, similar.memory):
                continue
            how = relation(memory.text, similar.memory.text, similar.similarity)
            if how == "same":
                return self._renewed(similar.memory, memory, "merged")
            if how == "contradiction":
                contradicts[similar.memory.memory_id] = difference(memory.text, similar.memory.text)
        if not waited and (reason := self._window_is_full(memory)):
            return Written("refused", reason=reason)
        stored = replace(memory, contradicts=tuple(contradicts))
        self._vectors.add(COLLECTION, [stored])
        why = f"believed: {memory.confidence:g}"
        self._note(memory, "stored", why, memory.memory_id, stored.contradicts)
        differences = tuple(contradicts.values())
        return Written("stored", memory.memory_id, "", stored.contradicts, differences)

    def _renewed(self, known: StoredMemory, again: StoredMemory, outcome: Outcome) -> Written:
        """Store what is known once more, with what is new about it."""
        renewed = said_again(known, again, merged=outcome == "merged")
        self._vectors.add(COLLECTION, [renewed])
        if outcome == "merged":
            # The id of the wording, by which it is found when its conversation is forgotten.
            of = (again.memory_id,)
            self._note(again, "merged", "another wording of it", known.memory_id, of)
        else:
            self._note(again, "renewed", "said again", known.memory_id)
        return Written(outcome, known.memory_id)

    def _note(
        self, said: StoredMemory, what: Change, why: str, memory_id: str, of: Sequence[str] = ()
    ) -> None:
        """Add to the trail of a memory what was made of something said."""
        comes_from = (said.conversation_id, *of) if said.conversation_id else of
        entry = TrailEntry(memory_id, said.stored_at, what, said.source, tuple(comes_from), why)
        self._around.note(entry)

    def _window_is_full(self, memory: StoredMemory) -> str:
        """Return why no further memory may be stored now and when one may, or ""."""
        policy = self._policy
        where: dict[str, object] = {"project": memory.project}
        if memory.at_turn:
            where |= {"conversation_id": memory.conversation_id}
            where["at_turn"] = {"$gte": max(memory.at_turn - policy.window_turns + 1, 1)}
        else:
            since = memory.stored_at - policy.window_minutes * 60
            where |= {"at_turn": 0, "stored_at": {"$gte": since}}
        recent = self._vectors.get(COLLECTION, where, policy.max_per_window)
        recent.sort(key=lambda stored: -stored.stored_at)
        if len(recent) < policy.max_per_window:
            return ""
        last = recent[policy.max_per_window - 1]
        if memory.at_turn:
            return (
                f"{policy.max_per_window} memories were stored in the last {policy.window_turns} "
                f"turns of this conversation; the next is allowed when it has "
                f"{last.at_turn + policy.window_turns} turns"
            )
        at = datetime.fromtimestamp(last.stored_at + policy.window_minutes * 60, UTC)
        return (
            f"{policy.max_per_window} memories were stored in the last "
            f"{policy.window_minutes:g} minutes; the next is allowed at "
            f"{at.isoformat(timespec='seconds').replace('+00:00', 'Z')}"
        )


def checked_memory(
    policy: MemoryPolicy,
    around: Surroundings,
    text: str,
    type: str,
    confidence: float,
    ts: datetime | str,
    conversation_id: str | None,
    *,
    entities: Sequence[str],
    tags: Sequence[str],
    source: str,
) -> StoredMemory | Written:
    """Return a memory as it is kept, or why it is refused whatever else is kept.

    Raises:
        BadArgument: a value is not allowed.
        RedactionUnavailable, RedactionFailed: it cannot be redacted.
    """
    redaction = around.redaction
    if not policy.should_store_memory(confidence, type):
        least = policy.confidence_min
        return Written("refused", reason=f"confidence {confidence} is below {least}")
    one_of("source", source, ORIGINS)
    if conversation_id:
        named(redaction, "conversation_id", conversation_id)
    moment = in_utc(ts)
    redacted = redaction.redact(text).trimmed()
    if not redacted:
        raise BadArgument("text: is empty; give what is to be remembered")
    if (tokens := around.count_tokens(redacted)) > MOST_TOKENS:
        reason = f"{tokens} tokens are more than {MOST_TOKENS}; say it in fewer words"
        return Written("refused", reason=reason)
    return StoredMemory(
        memory_id=id_of_memory(redaction.fingerprint, around.project, redacted),
        text=redacted,
        type=type,
        confidence=confidence,
        ts=moment,
        stored_at=around.clock(),
        conversation_id=conversation_id or "",
        at_turn=around.turns_of(conversation_id or ""),
        project=around.project,
        entities=_labels(redaction, "entities", entities),
        tags=_labels(redaction, "tags", tags),
        source=source,
    )


def _labels(redaction: Redaction, field: str, given: Sequence[str]) -> tuple[RedactedText, ...]:
    if isinstance(given, str) or len(given) > MOST_LABELS:
        raise BadArgument(f"{field}: give a list of at most {MOST_LABELS}")
    if any(not label.strip() or len(label) > 200 for label in given):
        raise BadArgument(f"{field}: each has 1 to 200 characters")
    return tuple(redaction.redact(label) for label in given)


def id_of_memory(fingerprint: Callable[[str], str], project: str, text: str) -> str:
    """Return the id that a redacted text has as a memory about a project: whatever the case of its
    letters and the number of its spaces."""
    words = " ".join(text.lower().split())
    said = f"{project}\0{words}"
    return f"memory::{fingerprint(said)}"


def comparable(one: StoredMemory, other: StoredMemory) -> bool:
    """Whether a memory can say what another says, or the opposite. What was promoted from sessions
    can only where it is about one topic, and is never merged with what an agent wrote. A person's
    note says it of one session."""
    if NOTE in (one.type, other.type):
        return False
    promoted = FROM_SESSIONS in one.tags
    if promoted != (FROM_SESSIONS in other.tags):
        return False
    return not promoted or one.entities == other.entities


def said_again(known: StoredMemory, again: StoredMemory, *, merged: bool) -> StoredMemory:
    """Return a memory with the newer time, the higher confidence and the labels of both, and if it
    is `merged`, the other wording. A memory that was promoted from sessions belongs to whoever else
    says it, so that it is not forgotten with a session."""
    if FROM_SESSIONS in known.tags and FROM_SESSIONS not in again.tags:
        known = _taken_over(known, again)
    also = known.also
    if merged and again.text not in also:
        also = (*also, again.text)
    return replace(
        known,
        confidence=max(known.confidence, again.confidence),
        ts=max(known.ts, again.ts),
        entities=tuple(dict.fromkeys((*known.entities, *again.entities))),
        tags=tuple(dict.fromkeys((*known.tags, *again.tags))),
        also=also,
    )


def _taken_over(known: StoredMemory, again: StoredMemory) -> StoredMemory:
    """Return what sessions showed without its tag and its topic, as what `again` comes from."""
    return replace(
        known,
        conversation_id=known.conversation_id or again.conversation_id,
        source=again.source,
        entities=(),
        tags=tuple(tag for tag in known.tags if tag != FROM_SESSIONS),
    )


def newer_first(memories: Sequence[Found]) -> list[Found]:
    """Return memories with each before those that it contradicts, else in their order."""
    ordered: list[Found] = []
    for hit in memories:
        places = [
            at
            for at, other in enumerate(ordered)
            if other.memory.memory_id in hit.memory.contradicts
        ]
        ordered.insert(min(places, default=len(ordered)), hit)
    return ordered
