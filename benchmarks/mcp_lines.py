"""What an MCP client sends over stdio, for benchmarks that kill servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "counter", "version": "1"},
}
HANDSHAKE: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
"""What an MCP client says first, a line each; the first is answered."""


def tool_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call of a tool, as an MCP client sends it on one line."""
    given = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": given}
