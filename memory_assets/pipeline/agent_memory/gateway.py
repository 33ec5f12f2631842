"""The services of agents' own memory (`MemoryGateway`) on the journal of one data directory, in
plain values for the interfaces (`AgentCalls`), and the journal as a vector store of memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from memory_assets.agent_memory.context import ContextLimits
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.history import checked_turn
from memory_assets.agent_memory.memory import Surroundings, Written, checked_memory
from memory_assets.agent_memory.policy import MemoryPolicy
from memory_assets.agent_memory.ports import (
    AgentStore,
    ConversationTurn,
    Found,
    Redaction,
    StoredMemory,
    VectorStore,
    Where,
)
from memory_assets.errors import EmbedderUnavailable, NotFound, StoreError
from memory_assets.keywords import is_weak, text_terms
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.redacted_text import RedactedText
from memory_assets.settings import Settings
from memory_assets.stores.agents.journal import AgentJournal, has_journal
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, partition_of
from memory_assets.stores.agents.waiting import Waiting
from memory_assets.stores.stores import Stores

if TYPE_CHECKING:
    from memory_assets.agent_memory_models import HistorySummary
    from memory_assets.embedding import Embedder
    from memory_assets.stores.agents.journal import Vector

EVERYWHERE = "agent-memory"
"""The session id under which memories are redacted, since they belong to no conversation."""


def open_gateway(
    components: Engines,
    project: str = "",
    store: AgentStore | None = None,
    *,
    others: tuple[str, ...] = (),
) -> MemoryGateway:
    """Return the gateway to what agents wrote about a project ("": about none), in `store` or the
    journal. Memories about the projects `others` are recalled, too."""
    turns = components.journal if store is None else store

    def embedder() -> Embedder | None:
        with suppress(EmbedderUnavailable):  # memories are compared by their words then
            return components.embedder if components.embeds else None
        return None

    around = Surroundings(
        redaction=redaction_for(components, EVERYWHERE),
        count_tokens=components.tokens.count_tokens,
        turns_of=turns.count,
        clock=components.clock,
        project=project,
        others=others,
    )
    vectors: VectorStore
    if store is None:
        vectors = JournalVectorStore(components.journal, embedder)
        around = replace(around, note=components.journal.note)
    else:
        vectors = store  # which keeps no trail
    policy = policy_of(components.settings)
    return MemoryGateway(turns, partial(redaction_for, components), vectors, policy, around)


def policy_of(settings: Settings) -> MemoryPolicy:
    """Return the policy that the settings ask for."""
    return MemoryPolicy(
        confidence_min=settings.confidence_min,
        max_per_window=settings.max_per_window,
        window_turns=settings.window_turns,
        window_minutes=settings.window_minutes,
        half_life_days=settings.half_life,
    )


def limits_of(settings: Settings) -> ContextLimits:
    """Return the limits of a context that the settings ask for."""
    return ContextLimits(
        settings.context_token_budget,
        settings.history_tail_n,
        settings.top_k,
        near=settings.context_near,
    )


def redaction_to_wait(engines: Engines) -> Redaction:
    """Return the redaction of texts that wait to be stored. Secrets known from sessions are
    redacted, too, if they can be read; a waiting text is redacted again when it is stored."""
    whole = redaction_for(engines, EVERYWHERE)

    def redact(text: str) -> RedactedText:
        try:
            return whole.redact(text)
        except StoreError:
            return engines.redactor.session(EVERYWHERE, frozenset()).redact(text).text

    return replace(whole, redact=redact)


def redaction_for(components: Engines, session_id: str) -> Redaction:
    """Return the redaction of a conversation, also of secrets known from sessions. The redactor is
    loaded when the first text is redacted."""

    def redact(text: str) -> RedactedText:
        known = components.catalog.known_secrets.hashes()
        return components.redactor.session(session_id, known).redact(text).text

    def fingerprint(text: str) -> str:
        key = components.install_key
        content = text.encode("utf-8", "surrogatepass")
        return blake2b(content, key=key, digest_size=16, person=b"agent memory").hexdigest()

    return Redaction(redact, fingerprint)


class JournalVectorStore:
    """A `VectorStore` over the journal: texts are compared by their vectors, all of them; without
    an embedder, by the share of words that two texts have in common."""

    def __init__(self, journal: AgentJournal, embedder: Callable[[], Embedder | None]) -> None:
        """Take a journal, and what returns the embedder when it is first needed, or None."""
        self._journal = journal
        self._embedder = embedder

    def add(self, memories: Sequence[StoredMemory]) -> None:
        """Store memories, replacing those with the same ids; archived ones are restored."""
        self._journal.put_memories(memories)
        self._journal.restore(memory.memory_id for memory in memories)

    def query(self, text: RedactedText, k: int, where: Where) -> list[Found]:
        """Return the `k` memories that are most similar to a text, best first."""
        memories = self.get(where)
        if not memories:
            return []
        embedder = self._embedder()
        if embedder is None:
            scores = _word_overlaps(memories, text)
        else:
            scores = self._cosines(embedder, memories, text)
        best = sorted(range(len(memories)), key=lambda at: (-scores[at], memories[at].memory_id))
        return [Found(memories[at], scores[at], embedder is None) for at in best[:k]]

    def get(self, where: Where, limit: int | None = None) -> list[StoredMemory]:
        """Return memories, the last stored first; archived ones only if `where` names an id."""
        return self._journal.memories(where, limit=limit, archived="memory_id" in where)

    def exclusive(self) -> AbstractContextManager[object]:
        """Keep other writers out of the journal for a block."""
        return self._journal.transaction()

    def _cosines(
        self, embedder: Embedder, memories: Sequence[StoredMemory], text: RedactedText
    ) -> list[float]:
        """Return the cosine of each memory with a text; vectors that are missing are made."""
        import numpy as np

        from memory_assets.embedding import embed_redacted

        vectors = vectors_of(self._journal, embedder, memories)
        rows = np.stack([vectors[memory.memory_id] for memory in memories])
        query_vector = embed_redacted(embedder, [text])[0]
        return [round(float(score), 6) for score in rows @ query_vector]


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


def _word_overlaps(memories: Sequence[StoredMemory], text: RedactedText) -> list[float]:
    query_words = _words(text)
    scores = []
    for memory in memories:
        words = _words(memory.text)
        scores.append(len(query_words & words) / max(len(query_words | words), 1))
    return scores


def _words(text: str) -> set[str]:
    return {term for term in text_terms(text) if not is_weak(term)}


_MOST_SUMMARIES = 4
"""Summaries in one context, of some 200 tokens each."""


class AgentCalls:
    """Agents' memory in one data directory. `busy_seconds` is how long to wait for a lock of
    another process."""

    def __init__(self, settings: Settings, busy_seconds: float) -> None:
        self.engines = Engines(settings)
        self.engines.journal_seconds = busy_seconds

    def gateway(self, project: str, *others: str) -> MemoryGateway:
        """Return the gateway to what agents wrote about a project ("": about none); it also reads
        what is about the others."""
        return open_gateway(self.engines, project, others=others)

    def context(
        self,
        projects: Sequence[str],
        conversation_id: str,
        latest: str,
        budget: int | None,
        frame: Callable[[Sequence[str]], str],
        work: Sequence[str] = (),
        shorten: Callable[[str], str] = str,
    ) -> dict[str, Any]:
        """Return a context as JSON: its text, tokens and budget, and what was left out. `work` are
        lines on what was done in the projects before; `shorten` shortens ids of sessions and
        turns."""
        from memory_assets.agent_memory.context import ContextBuilder

        settings = self.engines.settings
        limits = limits_of(settings)
        limits = replace(limits, budget=budget) if budget else limits
        count = self.engines.tokens.count_tokens
        beside = partial(summaries_beside, self.engines)
        gateway = self.gateway(*(projects or [""])) if has_memory(settings) else None
        builder = ContextBuilder(gateway, count, frame, limits, beside, work, shorten)
        built = builder.build_context(conversation_id, latest)
        return {**asdict(built), "budget": limits.budget}


def summaries_beside(stores: Stores, turns: Sequence[ConversationTurn]) -> list[HistorySummary]:
    """Return, in order, the last summaries that cover other turns of a conversation than these:
    earlier turns, or turns that retention has cut. None of them if the conversation is not
    ingested, or the lake cannot be read."""
    key = (partition_of(turns[0].project), turns[0].conversation_id)
    try:
        product = stores.catalog.products.of_session(*key).get("history_summaries")
        if product is None or not product.rows:
            return []
        from memory_assets.stores.lake.schemas import HISTORY_SUMMARIES

        rows = stores.lake.read_rows(HISTORY_SUMMARIES, *key)
    except (NotFound, StoreError, KeyError):  # KeyError: of a version without a column
        return []
    shown = {f"{MESSAGE_HEAD}{turn.message_id}" for turn in turns}
    summaries = [row for row in rows if not shown.issuperset(row.message_ids)]
    return summaries[-_MOST_SUMMARIES:]


def has_memory(settings: Settings) -> bool:
    """Whether an agent ever wrote anything here."""
    return has_journal(settings.data_dir)


def has_sessions(stores: Stores, project: str) -> bool:
    """Whether a project has sessions on record, without opening the lake, which imports pyarrow."""
    return stores.has_catalog and bool(stores.catalog.products.spans(project))


def send_waiting(settings: Settings, send: Callable[[dict[str, Any]], None]) -> int:
    """Send the waiting turns and memories, and return their number (`Waiting.send`)."""
    return Waiting.of(settings.data_dir).send(send)


def let_wait(settings: Settings, values: dict[str, Any], error: StoreError) -> dict[str, Any]:
    """Keep a turn or a memory until the memory can be written, and return the answer to the
    request. `values` are by the request's field names; a turn has a `role`. Values that would be
    refused later are refused now, while the caller can be told.

    Raises:
        BadArgument: a value is not allowed.
        StoreError: as many memories wait as may be stored in a window.
    """
    engines, waiting = Engines(settings), Waiting.of(settings.data_dir)
    redaction = redaction_to_wait(engines)
    stored = {**values, "ts": values["ts"] or datetime.now(UTC).isoformat()}
    if "role" in values:
        turn = checked_turn(
            redaction,
            values["conversation"],
            values["role"],
            values["text"],
            values["turn_index"],
            stored["ts"],
            message_id=values["message_id"] or "",
            channel=values["channel"] or "",
        )
        waiting.add({**stored, "text": turn.text, "message_id": turn.message_id})
        return {"message_id": turn.message_id, "new": True, "waits": str(error)}
    policy = policy_of(settings)
    memory = checked_memory(
        policy,
        Surroundings(redaction, engines.tokens.count_tokens),
        values["text"],
        values["type"],
        values["confidence"],
        stored["ts"],
        values["conversation"],
        entities=values["entities"] or (),
        tags=values["tags"] or (),
        source=values["source"],
    )
    if isinstance(memory, Written):
        return asdict(memory)
    if sum("role" not in stored for stored in waiting.entries()) >= policy.max_per_window:
        raise error
    labels = {"entities": memory.entities or None, "tags": memory.tags or None}
    waiting.add({**stored, "text": memory.text, **labels})
    return asdict(Written("waits", reason=str(error)))
