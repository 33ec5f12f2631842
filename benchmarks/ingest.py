"""Ingest all dev transcripts from nothing, then again, and print what it took.

    python benchmarks/ingest.py [--keep DIR]

One cold `memory ingest` and one with nothing changed, in a data directory and a home of
their own. `--keep` leaves the memory in DIR, to search in it afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dev_data import merge_homes, unpack

MEMORY = Path(sys.executable).with_name("memory")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="leave the memory in this directory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        roots = merge_homes(unpack("transcripts.tar.xz", scratch / "raw"), scratch / "roots")
        home = scratch / "home"
        home.mkdir()
        environment = {
            **os.environ,
            **roots,
            "HOME": str(home),
            "MEMORY_DATA_DIR": str(arguments.keep or scratch / "memory"),
        }
        source_bytes = sum(
            path.stat().st_size for root in roots.values() for path in Path(root).rglob("*.jsonl")
        )
        cold = run(environment)
        again = run(environment)
    report(cold, again, source_bytes)


def run(environment: dict[str, str]) -> dict[str, Any]:
    """Run `memory ingest --json` and return its report with wall and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [MEMORY, "ingest", "--json"], env=environment, stdout=subprocess.PIPE, check=False
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result: dict[str, Any] = json.loads(done.stdout)
    result["exit_code"] = done.returncode
    result["wall"] = wall
    result["cpu"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result["peak_mb"] = after.ru_maxrss / 1024
    return result


def report(cold: dict[str, Any], again: dict[str, Any], source_bytes: int) -> None:
    """Print the figures as Markdown tables."""
    status = cold["status"]
    stages, agents = status["stages"], status["agents"]
    print("| | " + " | ".join(agents) + " | all |")
    print("|---" * (len(agents) + 2) + "|")
    for name in ("sessions", "files", "prompts", "bad_lines"):
        counts = [int(agent[name] or 0) for agent in agents.values()]
        print(f"| {name} | " + " | ".join(map(str, counts)) + f" | {sum(counts)} |")
    print(f"\n| | rows |\n|---|---|\n| turns | {stages['turn_chunks']['turns']} |")
    for stage in ("redacted_records", "turn_chunks", "user_prompts", "session_summaries"):
        print(f"| {stage} | {stages[stage]['rows']} |")
    print(f"| redactions | {stages['redacted_records']['redactions']} |")
    print(f"| sessions held back | {len(status['quarantined'])} |")
    print("\n| step | seconds |\n|---|---|")
    for step, seconds in sorted(cold["step_seconds"].items(), key=lambda item: -item[1]):
        print(f"| {step} | {seconds:.1f} |")
    megabytes = source_bytes / 1e6
    print("\n| run | exit | wall s | CPU s | MB/s | peak MB |\n|---|---|---|---|---|---|")
    for name, result in (("cold", cold), ("nothing changed", again)):
        print(
            f"| {name} ({megabytes:.0f} MB) | {result['exit_code']} | {result['wall']:.1f} | "
            f"{result['cpu']:.1f} | {megabytes / result['wall']:.2f} | {result['peak_mb']:.0f} |"
        )
    print(
        f"\nlake {status['lake_bytes'] / 1e6:.1f} MB, Chroma "
        f"{status['chroma']['bytes'] / 1e6:.1f} MB; failed: {cold['failed'] or 'none'}; "
        f"checks not passed: {cold['checks_failed'] or 'none'}; warnings: "
        f"{cold['warnings'] or 'none'}"
    )


if __name__ == "__main__":
    main()
