"""The services of agents' own memory over the journal of one data directory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from memory_assets.agent_memory.context import ContextLimits
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.memory import Surroundings
from memory_assets.agent_memory.policy import MemoryPolicy
from memory_assets.agent_memory.ports import AgentStore, Redaction, VectorStore
from memory_assets.errors import EmbedderUnavailable, StoreError
from memory_assets.pipeline.agent_memory.vector_store import JournalVectorStore
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.redacted_text import RedactedText
from memory_assets.settings import Settings

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder

EVERYWHERE = "agent-memory"
"""Names the redactor's session of memories: a memory is found from every conversation."""


def open_gateway(
    components: Engines,
    project: str = "",
    store: AgentStore | None = None,
    *,
    others: tuple[str, ...] = (),
) -> MemoryGateway:
    """Return the gateway to what agents wrote about a project, "" for what is about none; in
    another store than the journal, if one is given. What is about `others` is recalled, too."""
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
    """Return the redaction of what waits: the secrets known from sessions are taken out, too,
    unless they cannot be read. What waited is redacted once more when it is stored."""
    whole = redaction_for(engines, EVERYWHERE)

    def redact(text: str) -> RedactedText:
        try:
            return whole.redact(text)
        except StoreError:
            return engines.redactor.session(EVERYWHERE, frozenset()).redact(text).text

    return replace(whole, redact=redact)


def redaction_for(components: Engines, session_id: str) -> Redaction:
    """Return the redaction of a conversation, which takes out the secrets known from sessions,
    too. The redactor is loaded when the first text is redacted."""

    def redact(text: str) -> RedactedText:
        known = frozenset(secret.hash for secret in components.catalog.known_secrets.since(0))
        return components.redactor.session(session_id, known).redact(text).text

    def fingerprint(text: str) -> str:
        key = components.install_key
        said = text.encode("utf-8", "surrogatepass")
        return blake2b(said, key=key, digest_size=16, person=b"agent memory").hexdigest()

    return Redaction(redact, fingerprint)
