"""Opens the memory of the chat: behind chroma-mcp at `MCP_ENDPOINT`, else in our own journal."""

from __future__ import annotations

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter
from memory_assets.stores.chroma_mcp.session import McpSession

_LOCK = "agent_memory.lock"


def open_memory(engines: Engines) -> MemoryGateway:
    """Return the gateway to what was said and remembered."""
    endpoint = engines.settings.mcp_endpoint
    if endpoint is None:
        return open_gateway(engines)
    lock, tenant = engines.settings.data_dir / _LOCK, engines.settings.tenant
    prefix = f"{tenant}.agents." if tenant else "agents."
    store = ChromaMcpVectorStoreAdapter(McpSession(endpoint), lock, prefix=prefix)
    return open_gateway(engines, store=store)
