"""The rows that the services handle, and the ports to what keeps and redacts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from memory_assets.redacted_text import RedactedText

Role = Literal["user", "assistant", "system"]
MemoryType = Literal["preference", "fact", "project", "decision"]
Origin = Literal["chat", "tool", "import"]


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A message of a conversation. `project` is the project that the conversation is about, ""
    where it is about none; `ts` is when it was said, UTC."""

    message_id: str
    conversation_id: str
    turn_index: int
    role: str
    ts: datetime
    text: RedactedText
    channel: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """Something worth keeping. `ts` is when it was said, `stored_at` when it was stored (Unix
    seconds, by the clock of this machine); `at_turn` is the number of turns that its conversation
    had then, 0 without a conversation. `also` are other wordings of it; `contradicts` are the ids
    of older memories that say otherwise."""

    memory_id: str
    text: RedactedText
    type: str
    confidence: float
    ts: datetime
    stored_at: float
    conversation_id: str = ""
    at_turn: int = 0
    project: str = ""
    entities: tuple[RedactedText, ...] = ()
    tags: tuple[RedactedText, ...] = ()
    source: str = "tool"
    also: tuple[RedactedText, ...] = ()
    contradicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that answers a query, and its similarity to it, at most 1: a cosine, or `by_words`
    the share of words in common."""

    memory: StoredMemory
    similarity: float
    by_words: bool = False


Where = Mapping[str, object]
"""Conditions on the fields of a memory that all must hold: a value that is equal, or
`{"$gte": value}`."""


class VectorStore(Protocol):
    """Memories, found by meaning or by their fields."""

    def add(self, memories: Sequence[StoredMemory]) -> None:
        """Store memories, in place of those with their ids. They are on disk afterwards."""

    def query(self, text: RedactedText, k: int, where: Where) -> list[Found]:
        """Return the `k` memories that are most similar to a text, best first."""

    def get(self, where: Where, limit: int | None = None) -> list[StoredMemory]:
        """Return memories, those that were stored last first."""

    def exclusive(self) -> AbstractContextManager[object]:
        """Keep other writers, of other processes too, out of the store for a block."""


class HistoryStore(Protocol):
    """The turns of conversations."""

    def append_turn(self, turn: ConversationTurn) -> bool:
        """Store a turn, and return True; False if it is stored already.

        Raises:
            ConfigurationError: another turn has its place or its id; names both.
        """

    def tail(self, conversation_id: str, n: int) -> list[ConversationTurn]:
        """Return the last `n` turns in order; fewer where there are fewer."""

    def count(self, conversation_id: str) -> int:
        """Return the number of turns of a conversation."""


class AgentStore(VectorStore, HistoryStore, Protocol):
    """One store of both."""


@dataclass(frozen=True)
class Redaction:
    """What stands between a client's text and the stores: `redact` returns a text without secrets,
    `fingerprint` a keyed hash of it in hex. `is_safe` says whether a name holds no secret.

    Raises:
        RedactionUnavailable: by `redact`; nothing may be stored.
    """

    redact: Callable[[str], RedactedText]
    fingerprint: Callable[[str], str]

    def is_safe(self, name: str) -> bool:
        """Whether a name can be stored as it is."""
        return self.redact(name) == name


Change = Literal["stored", "renewed", "merged", "archived", "promoted"]


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """A change of a memory. `at` is in Unix seconds; `who` is chat, tool, import or upkeep; `of` is
    what it comes from: the conversation, turns, or the ids of other memories and wordings; `why`
    holds no text of a memory."""

    memory_id: str
    at: float
    what: Change
    who: str
    of: tuple[str, ...] = ()
    why: str = ""
