"""A process that writes turns and memories through chroma-mcp until it is killed.

    python -m memory_assets_tests.agent_memory.chroma_mcp_writer COMMAND ENVIRONMENT LOCK FIRST

COMMAND and ENVIRONMENT are JSON. Prints `kept N` when turn N, and memory N, are stored, and
`refused` with the reason where they are not; then it tries again.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.errors import StoreError
from memory_assets.redacted_text import compose
from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter
from memory_assets.stores.chroma_mcp.session import McpSession, ServerProcess

_NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


def turn(at: int) -> ConversationTurn:
    """The turn of a number."""
    return ConversationTurn(f"m{at}", "c1", at, "user", _NOW, compose(f"heliotrope {at}"))


def memory(at: int) -> StoredMemory:
    """The memory of a number."""
    text = compose(f"heliotrope {at} is kept")
    return StoredMemory(f"memory::{at}", text, "fact", 0.9, _NOW, float(at))


def _write(store: ChromaMcpVectorStoreAdapter, first: int) -> None:
    for at in count(first):
        while True:
            try:
                store.append_turn(turn(at))
                store.add([memory(at)])
            except StoreError as error:
                _say(f"refused {error}")
            else:
                _say(f"kept {at}")
                break


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    command, environment, lock, first = sys.argv[1:]
    session = McpSession(ServerProcess(json.loads(command), json.loads(environment)))
    _write(ChromaMcpVectorStoreAdapter(session, Path(lock)), int(first))
