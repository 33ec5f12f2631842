"""Memories as they are stored: what is refused, which two are one, which stand first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
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
    Found,
    Redaction,
    StoredMemory,
    TrailEntry,
)
from memory_assets.errors import BadArgument
from memory_assets.redacted_text import RedactedText

Outcome = Literal["stored", "renewed", "merged", "refused", "waits"]
MOST_LABELS = 20
"""Entities, and tags, of one memory."""
FROM_SESSIONS = "promoted from sessions"
"""The tag of a memory that nothing but sessions showed; `entities` has its topic."""


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
    """What a gateway needs besides stores and policy: the redaction, the number of word pieces of
    a text, the number of turns of a conversation, the clock (Unix seconds), the project that the
    memories are about, "" for all, others whose memories are recalled, too, and what keeps a
    trail."""

    redaction: Redaction
    count_tokens: Callable[[str], int]
    turns_of: Callable[[str], int] = lambda conversation_id: 0
    clock: Callable[[], float] = time.time
    project: str = ""
    others: tuple[str, ...] = ()
    note: Callable[[TrailEntry], None] = lambda entry: None


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
        at_turn=around.turns_of(conversation_id) if conversation_id else 0,
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
