"""The rows of the tables of what agents wrote themselves: turns of conversations and
their summaries, memories, and what happened to these.

A partition has what is about one project, or about none; a conversation, or a single memory, has
the place of a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from memory_assets.models import ContentHash, Int32
from memory_assets.redacted_text import RedactedText

Partition = Annotated[str, "Partition key: `agent-memory`, or `agent-memory:<project>`."]
Root = Annotated[RedactedText, "Always empty: no directory is known."]
Agent = Annotated[str, "Always `agent-memory`: it was written through the memory's own interface."]
Said = Annotated[datetime, "When it was said."]
MemoryHash = Annotated[str, "The memory's hash."]
Rules = Annotated[str, "Rules and settings that were applied."]
"""Columns of several tables."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """A row of `agent_history`: a message of a conversation, as an agent appended it."""

    id: Annotated[str, "`message::<message id>`."]
    project: Partition
    project_root: Root
    agent: Agent
    session_id: Annotated[str, "Conversation."]
    turn_index: Annotated[Int32, "Place in the conversation, from 0."]
    role: Annotated[str, "user, assistant or system."]
    channel: Annotated[str, "Where it was said, as the client named it; may be empty."]
    timestamp: Said
    text: Annotated[RedactedText, "What was said, redacted."]
    content_hash: ContentHash
    ruleset_version: Rules


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """A row of `agent_memory`: a memory that an agent found worth keeping."""

    id: Annotated[str, "`memory::<hash>`."]
    project: Partition
    project_root: Root
    agent: Agent
    session_id: MemoryHash
    type: Annotated[str, "preference, fact, project, decision, or a person's note."]
    confidence: Annotated[float, "How sure the agent was, 0 to 1."]
    conversation_id: Annotated[str, "Conversation that it comes from; may be empty."]
    entities: Annotated[tuple[RedactedText, ...], "What it is about, redacted."]
    tags: Annotated[tuple[RedactedText, ...], "Labels, redacted."]
    source: Annotated[str, "chat, tool or import."]
    also: Annotated[tuple[RedactedText, ...], "Other wordings that were merged into it."]
    contradicts: Annotated[tuple[str, ...], "Ids of older memories that say otherwise."]
    timestamp: Said
    text: Annotated[RedactedText, "What is remembered, redacted."]
    content_hash: ContentHash
    ruleset_version: Rules


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A row of `memory_trail`: one thing that happened to a memory."""

    id: Annotated[str, "`trail::<the memory's hash>::<n>`, n from 0."]
    project: Partition
    project_root: Root
    agent: Agent
    session_id: MemoryHash
    timestamp: Annotated[datetime, "When it happened."]
    what: Annotated[str, "stored, renewed, merged, archived or promoted."]
    who: Annotated[str, "chat, tool, import or upkeep."]
    of: Annotated[tuple[str, ...], "Conversation and memories that it comes from."]
    why: Annotated[str, "The reason, without a word of the memory."]


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """A row of `history_summaries`: what some turns of a conversation were about."""

    id: Annotated[str, "`history-summary::<conversation>::<n>`, n from 0."]
    project: Partition
    project_root: Root
    agent: Agent
    session_id: Annotated[str, "Conversation."]
    first_turn: Annotated[Int32, "Place of its first turn."]
    last_turn: Annotated[Int32, "Place of its last turn."]
    message_ids: Annotated[tuple[str, ...], "Ids of its turns, in order."]
    cut_turns: Annotated[Int32, "How many of its turns retention has cut."]
    timestamp: Annotated[datetime, "When its first turn was said."]
    ended_at: Annotated[datetime, "When its last turn was said."]
    text: Annotated[RedactedText, "What they were about."]
    content_hash: ContentHash
    summarizer_id: Annotated[str, "Summarizer that made it."]
