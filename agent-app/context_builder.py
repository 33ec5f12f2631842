"""Builds the context of the next answer, as the settings ask for it."""

from __future__ import annotations

from memory_assets.agent_memory.context import ContextBuilder, ContextLimits
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.serving.agent_memory import framed_under


def open_builder(engines: Engines, gateway: MemoryGateway) -> ContextBuilder:
    """Return the builder over a gateway."""
    settings = engines.settings
    limits = ContextLimits(settings.context_token_budget, settings.history_tail_n, settings.top_k)
    framed = framed_under(engines.install_key)
    return ContextBuilder(gateway, engines.tokens.count_tokens, framed, limits)
