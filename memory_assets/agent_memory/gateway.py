"""The four calls by which an agent uses its memory. What is allowed is decided by the services."""

from __future__ import annotations

from datetime import datetime

from memory_assets.agent_memory.history import Appended, HistoryService
from memory_assets.agent_memory.memory import MemoryService, Written
from memory_assets.agent_memory.ports import ConversationTurn, Found


class MemoryGateway:
    """Appends to conversations and reads them, writes memories and recalls them."""

    def __init__(self, history: HistoryService, memory: MemoryService) -> None:
        self.history = history
        self.memory = memory

    def append_history(
        self, conversation_id: str, role: str, text: str, turn_index: int, ts: datetime | str
    ) -> Appended:
        """Append a turn to a conversation; the same one again changes nothing."""
        return self.history.append(conversation_id, role, text, turn_index, ts)

    def write_memory(
        self,
        text: str,
        type: str,
        confidence: float,
        ts: datetime | str,
        conversation_id: str | None = None,
    ) -> Written:
        """Store a memory, unless it is refused, and return what came of it."""
        return self.memory.write(text, type, confidence, ts, conversation_id)

    def tail_history(self, conversation_id: str, n: int) -> list[ConversationTurn]:
        """Return the last `n` turns of a conversation in order."""
        return self.history.tail(conversation_id, n)

    def recall_memory(
        self,
        query_text: str,
        k: int,
        min_confidence: float = 0.0,
        conversation_id: str | None = None,
    ) -> list[Found]:
        """Return the `k` memories that answer a query best."""
        return self.memory.recall(query_text, k, min_confidence, conversation_id)
