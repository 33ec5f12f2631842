"""The requests of agents to their own memory: append, remember, pin, hide, list, context."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Any, Literal

from memory_assets.agent_memory.policy import (
    LEAST_BUDGET,
    MEMORY_TYPES,
    MOST_CHARACTERS,
    MOST_TURNS,
    NOTE,
    ORIGINS,
    ROLES,
)
from memory_assets.requests.arguments import PROJECT, SESSION, Arguments, argument, one_of

MemorySort = Literal["date", "confidence"]
_ABOUT: dict[str, Any] = {
    "description": "Project that it is about; `.` for the current directory's.",
    "max_length": 1_000,
}
_CONVERSATION: dict[str, Any] = {"aliases": ("conversation_id",), "max_length": 200}
_NAME: dict[str, Any] = {"max_length": 200}
_TS: dict[str, Any] = {
    "description": "When it was said: ISO 8601 with a zone.",
    "hint": "ISO 8601 with zone",
    "max_length": 40,
}


@dataclass(frozen=True)
class RememberRequest(Arguments):
    """A request to store a memory. Without `ts` its time is now. Programs must give a confidence,
    because the default would always pass the gate; it is for a person at the command line."""

    answers = ("outcome", "memory_id", "reason", "contradicts", "differences")

    text: str = argument(
        MISSING, "What is to be remembered, in a sentence or two.", min_length=1, max_length=20_000
    )
    type: str = argument("fact", "Its type.", wire=one_of(MEMORY_TYPES), names={"cli": "--type"})
    confidence: float = argument(
        0.9, "How sure it is, 0 to 1.", hint="0 to 1", required_at=("mcp", "http"), ge=0, le=1
    )
    conversation: str | None = argument(None, "Conversation that it comes from.", **_CONVERSATION)
    project: str | None = argument(None, **_ABOUT)
    entities: tuple[str, ...] | None = argument(None, "What it is about.", max_length=20)
    tags: tuple[str, ...] | None = argument(None, "Labels.", max_length=20)
    source: str = argument(
        "tool", "Where it comes from.", wire=one_of(ORIGINS), names={"mcp": None}
    )
    ts: str | None = argument(None, **_TS)


@dataclass(frozen=True)
class PinRequest(Arguments):
    """A request to pin a session or a turn, with or without a note; to `remove` what is pinned."""

    answers = ("pinned", "id", "memory_id", "text")

    id: str = argument(
        MISSING,
        "A session or a turn, by the id of it or of its rows.",
        min_length=1,
        max_length=500,
    )
    text: str = argument(
        "", "A note; `-` reads it from standard input.", names={"cli": "text"}, max_length=20_000
    )
    remove: bool = argument(False, "Remove pin and note.")


@dataclass(frozen=True)
class HideRequest(Arguments):
    """A request to keep a session out of lists, searches and contexts, or in them again."""

    answers = ("hidden", "session_id")

    session: str = argument(MISSING, SESSION, min_length=1, max_length=500)
    remove: bool = argument(False, "Show it again.")


@dataclass(frozen=True)
class AppendRequest(Arguments):
    """A request to append a turn to a conversation; the same one again changes nothing."""

    answers = ("message_id", "new", "waits")

    conversation: str = argument(MISSING, "Conversation.", min_length=1, **_CONVERSATION)
    role: str = argument(MISSING, "Who said it.", wire=one_of(ROLES))
    text: str = argument(MISSING, "What was said.", min_length=1, max_length=MOST_CHARACTERS)
    turn_index: int = argument(MISSING, "Place in the conversation.", ge=0, le=MOST_TURNS)
    ts: str | None = argument(None, **_TS)
    message_id: str | None = argument(None, "Id; unless given, one is made of the rest.", **_NAME)
    channel: str | None = argument(None, "Where it was said.", **_NAME)
    project: str | None = argument(None, **_ABOUT)


@dataclass(frozen=True)
class MemoriesRequest(Arguments):
    """A request for the memories on record, the newest or the surest first."""

    answers = ("memories",)

    type: str | None = argument(
        None, "Only this type.", wire=one_of((*MEMORY_TYPES, NOTE)) | None, names={"cli": "--type"}
    )
    conversation: str | None = argument(None, "Only those of this conversation.", **_CONVERSATION)
    project: str | None = argument(None, **PROJECT)
    sort: MemorySort = argument("date", "Order: the newest or the surest first.")
    n: int = argument(50, "Number of memories.", names={"cli": "-n"}, ge=1, le=10_000)


@dataclass(frozen=True)
class ContextRequest(Arguments):
    """A request for what was remembered and said, within a budget of tokens. Without a `budget`,
    that of the settings."""

    answers = ("text", "tokens", "budget", "dropped", "cut")

    conversation: str | None = argument(None, "Conversation that goes on.", **_CONVERSATION)
    latest: str | None = argument(
        None,
        "The user's latest message, which memories are chosen by.",
        hint="user's latest message",
        aliases=("latest_user_text",),
        max_length=MOST_CHARACTERS,
    )
    project: str | None = argument(None, **_ABOUT)
    budget: int | None = argument(
        None, "Most tokens (word pieces of the embedding model).", ge=LEAST_BUDGET, le=1_000_000
    )
    hook: bool = argument(
        False,
        "Print it as the JSON that a SessionStart hook of Gemini and Qwen Code answers.",
        names={"http": None, "mcp": None},
    )
