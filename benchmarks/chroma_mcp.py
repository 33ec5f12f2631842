"""What agents' memory costs behind chroma-mcp, over pipes and over HTTP: milliseconds a call, in an
empty store and beside other turns.

    python -m benchmarks.chroma_mcp ENVIRONMENTS [--turns 2000]

`ENVIRONMENTS` is where chroma-mcp and the bridge are installed, or will be.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from memory_assets.redacted_text import compose
from memory_assets.stores.chroma_mcp.adapter import (
    HISTORY,
    ChromaMcpVectorStoreAdapter,
    _columns,
    _row,
)
from memory_assets_tests.agent_memory.chroma_mcp_processes import Deployment
from memory_assets_tests.agent_memory.chroma_mcp_writer import memory, turn

CALLS = 20
_BATCH = 200


def _milliseconds(call: Callable[[int], object], first: int) -> str:
    spent = []
    for at in range(first, first + CALLS):
        began = time.perf_counter()
        call(at)
        spent.append((time.perf_counter() - began) * 1_000)
    return f"{statistics.median(spent):8.0f}"


def _measure(name: str, store: ChromaMcpVectorStoreAdapter, first: int) -> None:
    columns = (
        lambda at: store.append_turn(turn(at)),
        lambda at: store.tail("c1", 16),
        lambda at: store.add([memory(at)]),
        lambda at: store.query(compose("what is kept"), 8, {}),
    )
    print(f"{name:28}", *(_milliseconds(call, first) for call in columns))


def _fill(store: ChromaMcpVectorStoreAdapter, turns: int) -> None:
    """Add turns of another conversation, many a request."""
    for first in range(0, turns, _BATCH):
        rows = []
        for at in range(first, min(first + _BATCH, turns)):
            each = replace(turn(at), conversation_id="other", message_id=f"o{at}")
            rows.append(_row(f"other:{at}", each))
        store._call("chroma_add_documents", HISTORY, **_columns(rows))


def main() -> None:
    """Print a line for each way and each number of turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environments", type=Path)
    parser.add_argument("--turns", type=int, default=2_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        deployment = Deployment(Path(root), asked.environments)
        pipes = deployment.store(deployment.chroma_mcp())
        print(f"{'':28}   append     tail remember   recall")
        with deployment.bridge() as endpoint:
            http = deployment.store(endpoint)
            _measure("pipes", pipes, 0)
            _measure("HTTP", http, 1_000)
            _fill(pipes, asked.turns)
            _measure(f"pipes, {asked.turns} more turns", pipes, 2_000)
            _measure(f"HTTP, {asked.turns} more turns", http, 3_000)
            http.close()
        pipes.close()
        deployment.stop_chroma()


if __name__ == "__main__":
    main()
