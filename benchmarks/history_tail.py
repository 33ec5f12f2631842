"""How long the last turns of a long conversation take to read, and the context of a new session.

    python -m benchmarks.history_tail [--turns 100000]

Prints the median and the worst of 200 reads of the last 16 turns, in milliseconds, and the size of
the journal; and the medians of 15 starts of `memory context` with these turns and eight memories,
by the clock and in seconds of CPU.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.redacted_text import compose
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal


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
        memories = [
            StoredMemory(f"memory::{at:032x}", said, "fact", 0.9, now, float(at)) for at in range(8)
        ]
        journal.put_memories(memories)
        journal.close()
        size = path.stat().st_size / 1e6
        print(
            f"{turns} turns, {size:.0f} MB: tail of 16, median {statistics.median(took):.2f} ms, "
            f"worst of {len(took)} {max(took):.2f} ms"
        )
        starts = [_start(path.parent) for _ in range(16)][1:]
        wall, cpu = (statistics.median(each) for each in zip(*starts, strict=True))
        print(f"memory context: median of {len(starts)} {wall:.2f} s, {cpu:.2f} s of CPU")


def _start(data_dir: Path) -> tuple[float, float]:
    """Return how long a context took, by the clock and in seconds of CPU."""
    command = [
        Path(sys.executable).with_name("memory"),
        "context",
        "--project=.",
        "--conversation=c",
    ]
    environment = {**os.environ, "MEMORY_DATA_DIR": str(data_dir), "HOME": str(data_dir)}
    environment["XDG_CONFIG_HOME"] = environment["XDG_CACHE_HOME"] = str(data_dir)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout and not done.stderr
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
