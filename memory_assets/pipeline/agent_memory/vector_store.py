"""Memories in the journal as a store that is searched by meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from memory_assets.agent_memory.ports import Found, StoredMemory, Where
from memory_assets.keywords import is_weak, text_terms
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.agents.journal import AgentJournal

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.stores.agents.journal import Vector


class JournalVectorStore:
    """A `VectorStore` over the journal: texts are compared by their vectors, all of them; without
    an embedder, by the share of words that two texts have in common."""

    def __init__(self, journal: AgentJournal, embedder: Callable[[], Embedder | None]) -> None:
        """Take a journal, and what returns the embedder when it is first needed, or None."""
        self._journal = journal
        self._embedder = embedder

    def add(self, memories: Sequence[StoredMemory]) -> None:
        """Store memories, in place of those with their ids; one that was archived is back."""
        self._journal.put_memories(memories)
        self._journal.restore(memory.memory_id for memory in memories)

    def query(self, text: RedactedText, k: int, where: Where) -> list[Found]:
        """Return the `k` memories that are most similar to a text, best first."""
        memories = self.get(where)
        if not memories:
            return []
        embedder = self._embedder()
        if embedder is None:
            scores = _by_words(memories, text)
        else:
            scores = self._by_meaning(embedder, memories, text)
        best = sorted(range(len(memories)), key=lambda at: (-scores[at], memories[at].memory_id))
        return [Found(memories[at], scores[at], embedder is None) for at in best[:k]]

    def get(self, where: Where, limit: int | None = None) -> list[StoredMemory]:
        """Return memories, those that were stored last first, without those that are archived,
        unless one is asked for by its id."""
        return self._journal.memories(where, limit=limit, archived="memory_id" in where)

    def exclusive(self) -> AbstractContextManager[object]:
        """Keep other writers out of the journal for a block."""
        return self._journal.transaction()

    def _by_meaning(
        self, embedder: Embedder, memories: Sequence[StoredMemory], text: RedactedText
    ) -> list[float]:
        """Return the cosine of each memory with a text; vectors that are missing are made."""
        import numpy as np

        from memory_assets.embedding import embed_redacted

        vectors = vectors_of(self._journal, embedder, memories)
        rows = np.stack([vectors[memory.memory_id] for memory in memories])
        asked = embed_redacted(embedder, [text])[0]
        return [round(float(score), 6) for score in rows @ asked]


def vectors_of(
    journal: AgentJournal, embedder: Embedder, memories: Sequence[StoredMemory]
) -> dict[str, Vector]:
    """Return the vectors of memories by id; those that are missing are made and kept."""
    from memory_assets.embedding import embed_redacted

    vectors = journal.vectors(embedder.embedder_id)
    missing = [memory for memory in memories if memory.memory_id not in vectors]
    if missing:
        embedded = embed_redacted(embedder, [memory.text for memory in missing])
        new = dict(zip((memory.memory_id for memory in missing), embedded, strict=True))
        journal.put_vectors(embedder.embedder_id, new)
        vectors |= new
    return vectors


def _by_words(memories: Sequence[StoredMemory], text: RedactedText) -> list[float]:
    asked = _words(text)
    scores = []
    for memory in memories:
        words = _words(memory.text)
        scores.append(len(asked & words) / max(len(asked | words), 1))
    return scores


def _words(text: str) -> set[str]:
    return {term for term in text_terms(text) if not is_weak(term)}
