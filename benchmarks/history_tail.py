"""How long the last turns of a long conversation take to read.

    python -m benchmarks.history_tail [--turns 100000]

Prints the median and the worst of 200 reads of the last 16 turns, in milliseconds, and the size of
the journal.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.agent_memory.ports import ConversationTurn
from memory_assets.redacted_text import compose
from memory_assets.stores.agent_journal import FILE_NAME, AgentJournal


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=100_000)
    turns = parser.parse_args().turns
    said = compose("The report of the harbour is ready, and the invoice went out on Tuesday. " * 4)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / FILE_NAME
        journal = AgentJournal(path)
        now = datetime.now(UTC)
        with journal.transaction():
            for at in range(turns):
                journal.append_turn(ConversationTurn(f"m{at}", "c", at, "user", now, said))
        took = []
        for _ in range(200):
            started = time.perf_counter()
            found = journal.tail("c", 16)
            took.append(1000 * (time.perf_counter() - started))
            assert [turn.turn_index for turn in found] == list(range(turns - 16, turns))
        journal.close()
        size = path.stat().st_size / 1e6
        print(
            f"{turns} turns, {size:.0f} MB: tail of 16, median {statistics.median(took):.2f} ms, "
            f"worst of {len(took)} {max(took):.2f} ms"
        )


if __name__ == "__main__":
    main()
