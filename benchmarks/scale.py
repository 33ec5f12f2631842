"""Ingest a large, lifelike collection of transcripts without embedding, and say what it took.

    python benchmarks/scale.py [--megabytes 1000] [--sessions 10000] [--projects 300]
                               [--rounds 20] [--workers N]

A cold ingest; one with nothing changed; a tick of Dagster's sensor; then rounds of change
(every tenth session goes on a little in each), and the size of the stores against that of
a fresh build from the same files. Memory is that of all processes together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lifelike import sessions
from process_tree import adopt_orphans, family, snapshot

MEMORY = Path(sys.executable).with_name("memory")
_TICK = """
import time
import dagster as dg
from memory_assets.dagster import sensors
from memory_assets.dagster.resources import MemoryResource
from memory_assets.settings import load_settings
for _ in range(2):
    context = dg.build_sensor_context(instance=dg.DagsterInstance.ephemeral())
    started, cpu = time.perf_counter(), time.process_time()
    sensors.projects_directory_sensor(context, memory=MemoryResource(load_settings()))
    print(time.perf_counter() - started, time.process_time() - cpu)
"""


def main() -> None:
    """Run the benchmark and print its figures as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--projects", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    adopt_orphans()
    print("| | wall s | CPU s | MB/s | MB/s a CPU | peak MB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        run(given, Path(name))


def run(given: argparse.Namespace, scratch: Path) -> None:
    """Measure in a directory of our own."""
    roots = scratch / "transcripts"
    late: dict[Path, list[str]] = {}
    made = sessions(given.seed, given.megabytes * 1_000_000, given.sessions, given.projects)
    for number, (path, lines) in enumerate(made):
        cut = len(lines) if number % 10 else max(1, len(lines) * 6 // 10)
        append(roots / path, lines[:cut])
        if cut < len(lines):
            late[roots / path] = lines[cut:]
    memory = environment(scratch, roots, "memory", given.workers)
    show("cold", ingest(memory), size(roots))
    show("nothing changed", ingest(memory), None)
    ticks = subprocess.run(
        [sys.executable, "-c", _TICK], env=memory, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for which, line in zip(("first", "next"), ticks, strict=True):
        wall, cpu = line.split()
        print(f"| sensor tick, {which} | {float(wall):.2f} | {float(cpu):.2f} | | | |", flush=True)
    for number in range(given.rounds):
        before = size(roots)
        for path, lines in late.items():
            start, end = (len(lines) * at // given.rounds for at in (number, number + 1))
            append(path, lines[start:end])
        show(f"round {number + 1}", ingest(memory), size(roots) - before)
    if not given.rounds:
        return
    fresh = environment(scratch, roots, "fresh", given.workers)
    show("fresh build", ingest(fresh), size(roots))
    for part in sorted(path.name for path in (scratch / "memory").iterdir()):
        grown, new = size(scratch / "memory" / part), size(scratch / "fresh" / part)
        ratio = f"{grown / new:.2f}" if new else "-"
        print(f"{part}: {grown / 1e6:.1f} MB, fresh {new / 1e6:.1f} MB, ratio {ratio}")


def append(path: Path, lines: Iterable[str]) -> None:
    """Write lines at the end of a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def environment(scratch: Path, roots: Path, name: str, workers: int | None) -> dict[str, str]:
    """Return the environment of a memory of our own."""
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    made = {
        **os.environ,
        "HOME": str(home),
        "MEMORY_DATA_DIR": str(scratch / name),
        "MEMORY_PROJECTS_DIR": str(roots / "claude" / "projects"),
        "MEMORY_CODEX_DIR": str(roots / "codex"),
        "MEMORY_PI_DIR": str(roots / "pi"),
        "MEMORY_EMBEDDER": "none",
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    return made if workers is None else {**made, "MEMORY_INGEST_WORKERS": str(workers)}


def ingest(variables: dict[str, str]) -> dict[str, Any]:
    """Run `memory ingest --json`; return its report with wall and CPU seconds and memory."""
    before, start = snapshot().total, time.perf_counter()
    with subprocess.Popen(
        [MEMORY, "ingest", "--json"],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        peak = [0]
        watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
        watcher.start()
        output, _ = process.communicate()
    report: dict[str, Any] = json.loads(output)
    report["wall"] = time.perf_counter() - start
    report["cpu"] = snapshot().total - before
    report["peak"] = peak[0]
    return report


def _watch(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    """Keep the most memory (proportional set size) that a process and its children had."""
    while process.poll() is None:
        peak[0] = max(peak[0], sum(map(_memory, family(process.pid))))
        time.sleep(2.0)


def _memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def show(name: str, report: dict[str, Any], read: int | None) -> None:
    """Print one row; `read` is the bytes that were new."""
    wall, cpu = report["wall"], report["cpu"]
    speed = ("", "") if read is None else (f"{read / 1e6 / wall:.2f}", f"{read / 1e6 / cpu:.2f}")
    print(
        f"| {name} ({report['projects']} projects) | {wall:.1f} | {cpu:.1f} | {speed[0]} | "
        f"{speed[1]} | {report['peak'] / 1e6:.0f} |",
        flush=True,
    )
    steps = sorted(report.get("step_seconds", {}).items(), key=lambda item: -item[1])[:6]
    if name == "cold":
        print("steps:", ", ".join(f"{step} {seconds:.1f} s" for step, seconds in steps))
    for kind in ("failed", "checks_failed"):
        if report[kind]:
            print(f"{kind}: {report[kind]}")


def size(path: Path) -> int:
    """Return the bytes of the files below a path."""
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


if __name__ == "__main__":
    main()
