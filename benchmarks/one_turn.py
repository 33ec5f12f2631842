"""What one more turn costs until it is found, everything included, whichever way it comes in.

    python benchmarks/one_turn.py [--ways ingest daemon watch] [--turns 5] [--megabytes N] [--dev]

Ingests the sample (or the dev transcripts), then appends turns to the largest session of Claude
Code, one at a time, and waits until a search by words in this process finds it:

- ingest: `memory ingest` is started for each turn;
- daemon: `memory dev` is running, whose sensor looks every 30 s and requests a run;
- watch: `memory ingest --watch` is running, and ends with a session that is written to for 10 s.

CPU seconds are those of all processes until the work for the turn has ended, Chroma's server
included, less what the same processes use while nothing happens. `--megabytes` lets a
generated session of that size grow instead.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import lifelike
from dev_data import REPOSITORY, transcripts
from process_tree import Snapshot, adopt_orphans, snapshot

from memory_assets.recall import Memory, open_memory
from memory_assets.stores.chroma import server as chroma_server

MEMORY = Path(sys.executable).with_name("memory")
_PATIENCE_SECONDS = 600.0
_IDLE_SECONDS = 40.0
"""Longer than the daemon's sensor waits between two looks."""
_BUSY_SECONDS = 10.0
_PHRASES = itertools.permutations(
    [
        "gannet",
        "plinth",
        "sorrel",
        "quoin",
        "vellum",
        "wimple",
        "yarrow",
        "zither",
        "bodkin",
        "cairn",
        "dulcimer",
        "fescue",
    ],
    2,
)


class Turn(NamedTuple):
    """Seconds until a turn was found and until the work had ended; CPU seconds in all, and in
    processes started for it."""

    found: float
    ended: float
    cpu: float
    started: float


Begin = Callable[[], Callable[[], bool]]
"""Called before a turn is written. Returns what to call after it, until the work has ended."""


def main() -> None:
    """Measure each way and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="*", choices=_WAYS, default=list(_WAYS))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--megabytes", type=float, help="a generated session of this size grows")
    parser.add_argument("--dev", action="store_true", help="the dev transcripts, not the sample")
    options = parser.parse_args()
    adopt_orphans()
    directory = Path(tempfile.mkdtemp(prefix="one-turn-"))
    try:
        session = prepared(directory, options.megabytes, options.dev)
        memory = open_memory()
        print(f"{session.stat().st_size / 1e6:.2f} MB in the session that grows\n")
        print("| way | found after s, median (worst) | ended after s | CPU s | in new processes |")
        print("|---|---|---|---|---|", flush=True)
        for way in options.ways:
            with _WAYS[way](memory) as begin:
                idle = idle_rate() if way != "ingest" else 0.0
                turns = [measured(memory, session, begin, idle) for _ in range(options.turns)]
                row(way, turns)
                if way == "watch":
                    print(f"\nidle: {60 * idle:.2f} CPU s a minute; {busy(memory, session)}")
                elif way == "daemon":
                    print(f"| idle, a minute of the daemon | | | {60 * idle:.2f} | |", flush=True)
    finally:
        chroma_server.stop(directory / "memory")
        shutil.rmtree(directory, ignore_errors=True)


def prepared(directory: Path, megabytes: float | None, dev: bool) -> Path:
    """Ingest transcripts in a home of their own, and return the session that is to grow."""
    for variable in [each for each in os.environ if each.startswith(("MEMORY_", "DAGSTER_"))]:
        if variable != "MEMORY_BENCH_DATA":
            del os.environ[variable]
    if dev:
        os.environ |= transcripts(directory / "transcripts")
    else:
        sample = shutil.copytree(REPOSITORY / "data" / "sample", directory / "transcripts")
        os.environ |= {
            "MEMORY_PROJECTS_DIR": str(sample / "claude" / "projects"),
            "MEMORY_CODEX_DIR": str(sample / "codex"),
            "MEMORY_PI_DIR": str(sample / "pi"),
        }
    projects = Path(os.environ["MEMORY_PROJECTS_DIR"])
    if megabytes:
        made = directory / "generated"
        lifelike.generate(made, 1, int(megabytes * 1e6), 1, 1)
        shutil.copytree(made / "claude" / "projects", projects, dirs_exist_ok=True)
    os.environ |= {"HOME": str(directory / "home"), "MEMORY_DATA_DIR": str(directory / "memory")}
    (directory / "home").mkdir()
    subprocess.run([MEMORY, "ingest"], check=True, stdout=subprocess.DEVNULL)
    return max(projects.glob("*/*.jsonl"), key=lambda path: path.stat().st_size)


@contextmanager
def by_ingest(memory: Memory) -> Iterator[Begin]:
    """A command for each turn."""

    def begin() -> Callable[[], bool]:
        running: list[subprocess.Popen[bytes]] = []

        def ended() -> bool:
            if not running:
                running.append(subprocess.Popen([MEMORY, "ingest"], stdout=subprocess.DEVNULL))
            return running[0].poll() is not None

        return ended

    yield begin


@contextmanager
def by_daemon(memory: Memory) -> Iterator[Begin]:
    """The daemon, with code server and page; its runs are processes of their own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running(memory, "dev", "--port", str(port)):
        time.sleep(_IDLE_SECONDS)  # all have started, and the sensor has looked

        def begin() -> Callable[[], bool]:
            before = memory.status()["runs"]["last"]

            def ended() -> bool:
                runs = memory.status()["runs"]
                return runs["last"] != before and not runs["under_way"]

            return ended

        yield begin


@contextmanager
def by_watcher(memory: Memory) -> Iterator[Begin]:
    """The watcher, which runs the job in its own process."""

    def state() -> tuple[int, int]:
        told = memory.status()["watcher"] or {"runs": 0, "waiting": 1}
        return int(told["runs"]), int(told["waiting"])

    with running(memory, "ingest", "--watch"):
        wait_until(lambda: state()[1] == 0)
        time.sleep(_BUSY_SECONDS)  # its engines are loaded: that is not what it does while idle

        def begin() -> Callable[[], bool]:
            runs = state()[0]

            def ended() -> bool:
                return state()[0] > runs and state()[1] == 0

            return ended

        yield begin


_WAYS = {"ingest": by_ingest, "daemon": by_daemon, "watch": by_watcher}


@contextmanager
def running(memory: Memory, *arguments: str) -> Iterator[None]:
    """Keep a `memory` command running."""
    log = memory.data_dir.parent / f"{arguments[0]}.log"
    with log.open("wb") as file:
        command = subprocess.Popen([MEMORY, *arguments], stdout=file, stderr=file)
        try:
            yield
            if command.poll() is not None:
                raise SystemExit(f"memory {arguments[0]} ended: {log.read_text()[-2_000:]}")
        finally:
            command.send_signal(signal.SIGINT)
            command.wait(60)


def idle_rate() -> float:
    """Return the CPU seconds a second of all processes while nothing happens."""
    before, started = snapshot().total, time.perf_counter()
    time.sleep(_IDLE_SECONDS)
    return (snapshot().total - before) / (time.perf_counter() - started)


def measured(memory: Memory, session: Path, begin: Begin, idle: float) -> Turn:
    """Append a turn, and wait until it is found and the work has ended."""
    words = " ".join(next(_PHRASES))
    ended = begin()
    before, started = snapshot(), time.perf_counter()
    append_turn(session, words)
    ended()
    wait_until(lambda: found(memory, words))
    found_after = time.perf_counter() - started
    wait_until(ended)
    return spent(before, started, found_after, idle)


def found(memory: Memory, words: str) -> bool:
    """Return True if a search by words has the turn among its first three hits."""
    hits = memory.search(f"{words} report", mode="keyword", n=3).hits
    return any(words in str(hit.text) for hit in hits)


def spent(before: Snapshot, started: float, found_after: float, idle: float) -> Turn:
    """Return what was spent since, less what is spent while idle."""
    after, seconds = snapshot(), time.perf_counter() - started
    total = after.total - before.total
    new = total - after.spent_by_old(before)
    return Turn(found_after, seconds, total - idle * seconds, new)


def append_turn(session: Path, words: str) -> None:
    """Append a prompt and its answer to a session of Claude Code."""
    known = [json.loads(line) for line in session.read_text().splitlines()[-50:]]
    last = next(each for each in reversed(known) if "sessionId" in each and "cwd" in each)
    said = {
        "user": f"please look into the {words} of the report",
        "assistant": [{"type": "text", "text": f"The {words} is fine, and it is tested."}],
    }
    lines = b""
    for role, content in said.items():
        record = {
            **{name: last[name] for name in ("sessionId", "cwd", "version") if name in last},
            "type": role,
            "uuid": re.sub(r"\W", "-", f"one-turn {words} {role}"),
            "parentUuid": None,
            "isSidechain": False,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
            "message": {"role": role, "content": content, "id": f"msg_{words}"},
        }
        lines += json.dumps(record).encode() + b"\n"
    with session.open("ab") as file:
        file.write(lines)


def row(way: str, turns: list[Turn]) -> None:
    """Print the medians of a way."""
    worst = max(turn.found for turn in turns)
    middle = Turn(*(statistics.median(values) for values in zip(*turns, strict=True)))
    print(
        f"| {way} | {middle.found:.2f} ({worst:.2f}) | {middle.ended:.2f} | "
        f"{middle.cpu:.2f} | {middle.started:.2f} |",
        flush=True,
    )


def busy(memory: Memory, session: Path) -> str:
    """Write turns for ten seconds; say how many runs and CPU seconds went by until the last of
    them was found."""

    def runs() -> int:
        return int(memory.status()["watcher"]["runs"])

    before, made, turns, words = snapshot().total, runs(), 0, ""
    end = time.monotonic() + _BUSY_SECONDS
    while time.monotonic() < end:
        words = " ".join(next(_PHRASES))
        append_turn(session, words)
        turns += 1
        time.sleep(0.1)
    wait_until(lambda: found(memory, words))
    cpu = snapshot().total - before
    return f"{turns} turns in {_BUSY_SECONDS:.0f} s led to {runs() - made} runs, {cpu:.1f} CPU s"


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when it holds; end the benchmark if it does not for ten minutes."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited for too long")
        time.sleep(0.03)


if __name__ == "__main__":
    main()
