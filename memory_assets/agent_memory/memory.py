"""Memories as they are stored: validation, comparison, merging and order."""

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
from memory_assets.agent_memory.ports import Found, Redaction, StoredMemory, TrailEntry
from memory_assets.errors import BadArgument
from memory_assets.redacted_text import RedactedText

Outcome = Literal["stored", "renewed", "merged", "refused", "waits"]
MOST_LABELS = 20
"""Most entities, and most tags, of one memory."""
FROM_SESSIONS = "promoted from sessions"
"""The tag of a memory that only sessions support; its topic is in `entities`."""


@dataclass(frozen=True)
class Written:
    """The outcome of writing a memory: `stored`; `renewed` if it was stored before; `merged` into a
    memory of which it is another wording; `refused`, with the reason and when the next is allowed;
    or `waits` until the store can be written, with the reason. `contradicts` are the ids of older
    memories that contradict it and stay, `differences` the contradiction of each (`5 instead of
    3`)."""

    outcome: Outcome
    memory_id: str = ""
    reason: str = ""
    contradicts: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """What a gateway needs besides stores and policy: the redaction; functions for the word pieces
    of a text, the turns of a conversation and the clock (Unix seconds); its memories' project, ""
    for all; `others`, further projects whose memories are recalled; and `note`, which records
    changes."""

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
    """Return a memory as it is to be stored, or the refusal, which does not depend on the store.

    Raises:
        BadArgument: a value is not allowed.
        RedactionUnavailable, RedactionFailed: the text cannot be redacted.
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
        entities=_checked_labels(redaction, "entities", entities),
        tags=_checked_labels(redaction, "tags", tags),
        source=source,
    )


def _checked_labels(
    redaction: Redaction, field: str, labels: Sequence[str]
) -> tuple[RedactedText, ...]:
    if isinstance(labels, str) or len(labels) > MOST_LABELS:
        raise BadArgument(f"{field}: give a list of at most {MOST_LABELS}")
    if any(not label.strip() or len(label) > 200 for label in labels):
        raise BadArgument(f"{field}: each has 1 to 200 characters")
    return tuple(redaction.redact(label) for label in labels)


def id_of_memory(fingerprint: Callable[[str], str], project: str, text: str) -> str:
    """Return the id of a redacted text as a memory about a project. Case and white space do not
    change it."""
    words = " ".join(text.lower().split())
    identity = f"{project}\0{words}"
    return f"memory::{fingerprint(identity)}"


def comparable(first: StoredMemory, second: StoredMemory) -> bool:
    """Return True if two memories may be equal or contradict each other. Memories promoted from
    sessions are compared only with those of the same topic and never with those of agents; notes
    of a person, each about one session, with none."""
    if NOTE in (first.type, second.type):
        return False
    promoted = FROM_SESSIONS in first.tags
    if promoted != (FROM_SESSIONS in second.tags):
        return False
    return not promoted or first.entities == second.entities


def said_again(stored: StoredMemory, repeated: StoredMemory, *, merged: bool) -> StoredMemory:
    """Return a memory with the newer time, the higher confidence, the labels of both and, if
    `merged`, the other wording. A memory promoted from sessions passes to the agent that repeats
    it, so that it is not forgotten with a session."""
    if FROM_SESSIONS in stored.tags and FROM_SESSIONS not in repeated.tags:
        stored = _without_session_marks(stored, repeated)
    wordings = stored.also
    if merged and repeated.text not in wordings:
        wordings = (*wordings, repeated.text)
    return replace(
        stored,
        confidence=max(stored.confidence, repeated.confidence),
        ts=max(stored.ts, repeated.ts),
        entities=tuple(dict.fromkeys((*stored.entities, *repeated.entities))),
        tags=tuple(dict.fromkeys((*stored.tags, *repeated.tags))),
        also=wordings,
    )


def _without_session_marks(stored: StoredMemory, repeated: StoredMemory) -> StoredMemory:
    """Return a memory promoted from sessions without its tag and topic, with the source and, if it
    has none, the conversation of `repeated`."""
    return replace(
        stored,
        conversation_id=stored.conversation_id or repeated.conversation_id,
        source=repeated.source,
        entities=(),
        tags=tuple(tag for tag in stored.tags if tag != FROM_SESSIONS),
    )


def newer_first(memories: Sequence[Found]) -> list[Found]:
    """Return memories in their order, but each before those that it contradicts."""
    ordered: list[Found] = []
    for hit in memories:
        places = [
            index
            for index, later in enumerate(ordered)
            if later.memory.memory_id in hit.memory.contradicts
        ]
        ordered.insert(min(places, default=len(ordered)), hit)
    return ordered
