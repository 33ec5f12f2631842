"""Builds the context of the next answer, as the settings ask for it."""

from __future__ import annotations

from memory_assets.agent_memory.context import ContextBuilder
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.pipeline.agent_memory.gateway import limits_of
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.serving.agent_memory import framed_under


def open_builder(engines: Engines, gateway: MemoryGateway) -> ContextBuilder:
    """Return the builder over a gateway."""
    framed = framed_under(engines.install_key)
    limits = limits_of(engines.settings)
    return ContextBuilder(gateway, engines.tokens.count_tokens, framed, limits)
