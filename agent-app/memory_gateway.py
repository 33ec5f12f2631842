"""Opens the memory of the chat: behind chroma-mcp at `MCP_ENDPOINT`, else in our own journal; and
builds of it the context of the next answer."""

from __future__ import annotations

from dataclasses import dataclass

from memory_assets.agent_memory.context import ContextBuilder
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.ports import Redaction
from memory_assets.pipeline.agent_memory.gateway import limits_of, open_gateway, redaction_to_wait
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.serving.agent_memory import keyed_framer
from memory_assets.stores.agents.waiting import Waiting
from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter
from memory_assets.stores.chroma_mcp.session import McpSession

_LOCK = "agent_memory.lock"


@dataclass(frozen=True)
class Outbox:
    """The turns that wait because memory could not be reached, and the redaction of these."""

    waiting: Waiting
    redaction: Redaction

    @classmethod
    def of(cls, engines: Engines) -> Outbox:
        """Return that of the memory that the settings name."""
        store = f"chat {engines.settings.mcp_endpoint or ''}"
        return cls(Waiting.of(engines.data_dir, store), redaction_to_wait(engines))


def open_memory(engines: Engines) -> MemoryGateway:
    """Return the gateway to what was said and remembered."""
    endpoint = engines.settings.mcp_endpoint
    if endpoint is None:
        return open_gateway(engines)
    lock, tenant = engines.settings.data_dir / _LOCK, engines.settings.tenant
    prefix = f"{tenant}.{engines.settings.mcp_prefix}" if tenant else engines.settings.mcp_prefix
    store = ChromaMcpVectorStoreAdapter(McpSession(endpoint), lock, prefix=prefix)
    return open_gateway(engines, store=store)


def open_builder(engines: Engines, gateway: MemoryGateway) -> ContextBuilder:
    """Return the builder over a gateway."""
    framed = keyed_framer(engines.install_key)
    limits = limits_of(engines.settings)
    return ContextBuilder(gateway, engines.tokens.count_tokens, framed, limits)
