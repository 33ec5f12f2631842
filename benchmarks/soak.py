"""Readers, the watcher, a backfill and rebuilds, side by side, for minutes.

    python benchmarks/soak.py [--minutes 10] [--readers 4]

A session grows by a turn every few seconds, which `memory ingest --watch` takes in; a
backfill (`memory ingest --full`) and `memory rebuild` run in turn all the time; each reader
is a process that holds one `open_memory()` and searches. Every half minute a reader is
killed with -9 and replaced. At the end: no command failed, no search failed, one Chroma
server, as many processes as at the start, and once all is stopped `memory verify` finds
nothing. Exits with 1 otherwise. Linux only: it looks at /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from memory_assets.stores.chroma import server as chroma_server

ROOT = Path(__file__).resolve().parent.parent
_READER = """
import time
from memory_assets.recall import open_memory
memory = open_memory()
while True:
    for query in ("where is the ledger", "why did the build fail"):
        for mode in ("semantic", "hybrid"):
            assert memory.search(query, kinds=("sessions", "prompts"), mode=mode, n=10).hits
    time.sleep(0.2)
"""


class Seen(NamedTuple):
    """A process, its command and the MB of memory that it held when it was looked at."""

    pid: int
    command: list[str]
    megabytes: int


class Soak:
    """One memory in a directory of its own, and the processes that work on it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        shutil.copytree(ROOT / "data" / "sample", directory / "transcripts")
        self.environment = {
            **{name: value for name, value in os.environ.items() if "MEMORY_" not in name},
            "HOME": str(directory / "home"),
            "MEMORY_DATA_DIR": str(directory / "data"),
            "MEMORY_PROJECTS_DIR": str(directory / "transcripts" / "claude" / "projects"),
            "MEMORY_CODEX_DIR": str(directory / "transcripts" / "codex"),
            "MEMORY_PI_DIR": str(directory / "transcripts" / "pi"),
        }
        (directory / "home").mkdir()
        self.turns = 0
        self._said: dict[int, Path] = {}
        self.failures: list[str] = []

    def memory(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a `memory` command; what it says goes to a file, which never fills up."""
        said = self.directory / f"said by {' '.join(arguments)}.txt"
        with said.open("ab") as file:
            command = subprocess.Popen(
                [str(Path(sys.executable).parent / "memory"), *arguments],
                env=self.environment,
                stdout=file,
                stderr=file,
            )
        self._said[command.pid] = said
        return command

    def finish(self, command: subprocess.Popen[bytes]) -> None:
        """Wait for a command, and note what it said if it failed."""
        code = command.wait()
        said = self._said.pop(command.pid)
        if code:
            self.failures.append(f"exit code {code}, {said.name}: {said.read_text()[-400:]}")

    def reader(self) -> subprocess.Popen[str]:
        """Start a process that searches until it is killed."""
        return subprocess.Popen(
            [sys.executable, "-c", _READER],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def append_turn(self) -> None:
        """Let the largest session go on by a turn."""
        paths = (self.directory / "transcripts" / "claude").rglob("*.jsonl")
        path = max(paths, key=lambda each: each.stat().st_size)
        last = json.loads(path.read_text().splitlines()[-1])
        self.turns += 1
        with path.open("a") as file:
            for role, text in (("user", "and the ledger?"), ("assistant", "It is mended.")):
                said = f"{text} Turn {self.turns}."
                record = {
                    "type": role,
                    "uuid": f"{self.turns:028x}{role[:4]}",
                    "sessionId": last.get("sessionId", path.stem),
                    "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
                    "cwd": last.get("cwd", "/"),
                    "message": {"role": role, "content": said},
                }
                file.write(json.dumps(record) + "\n")

    def processes(self) -> list[Seen]:
        """All processes that work on this memory and have not ended meanwhile."""
        mine = f"\0MEMORY_DATA_DIR={self.directory}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mine in b"\0" + (process / "environ").read_bytes():
                    command = (process / "cmdline").read_text().split("\0")[:-1]
                    pages = int((process / "statm").read_text().split()[1])
                    held = pages * resource.getpagesize() >> 20
                    found.append(Seen(int(process.name), command, held))
        return found

    def servers(self) -> list[Seen]:
        """The Chroma servers of this memory."""
        name = chroma_server.PROCESS
        return [process for process in self.processes() if name in process.command]


def run(soak: Soak, minutes: float, readers: int) -> None:
    """Soak, print a line every half minute, and note failures."""
    soak.finish(soak.memory("ingest"))
    watcher = soak.memory("ingest", "--watch")
    reading = [soak.reader() for _ in range(readers)]
    works = itertools.cycle((("ingest", "--full"), ("rebuild",)))
    begin = time.monotonic()
    next_line = next_turn = begin
    rounds, work = 0, soak.memory(*next(works))
    while time.monotonic() < begin + 60 * minutes:
        time.sleep(0.2)
        if time.monotonic() > next_turn:
            next_turn = time.monotonic() + 5
            soak.append_turn()
        if work.poll() is not None:
            soak.finish(work)
            rounds += 1
            work = soak.memory(*next(works))
        for number, each in enumerate(reading):
            if each.poll() is not None and each.stderr is not None:
                soak.failures.append(f"a reader ended: {each.stderr.read()[-300:]}")
                reading[number] = soak.reader()
        if watcher.poll() is not None:
            soak.finish(watcher)
            soak.failures.append("the watcher ended")
            watcher = soak.memory("ingest", "--watch")
        if time.monotonic() > next_line:
            next_line = time.monotonic() + 30
            _print_line(soak, time.monotonic() - begin, rounds)
            reading[0].kill()
            reading[0].wait()
            reading[0] = soak.reader()
    soak.finish(work)
    _print_line(soak, time.monotonic() - begin, rounds)
    if len(soak.servers()) > 1:
        soak.failures.append(f"{len(soak.servers())} Chroma servers")
    _stop(soak, watcher, reading)
    soak.finish(soak.memory("ingest"))
    soak.finish(soak.memory("verify"))


def _print_line(soak: Soak, seconds: float, rounds: int) -> None:
    processes = soak.processes()
    held = sum(process.megabytes for process in processes)
    sizes = [process.megabytes for process in soak.servers()]
    print(
        f"{seconds:4.0f} s: {soak.turns} turns, {rounds} backfills and rebuilds, "
        f"{len(processes)} processes with {held} MB, Chroma's server {sizes} MB",
        flush=True,
    )


def _stop(
    soak: Soak, watcher: subprocess.Popen[bytes], reading: list[subprocess.Popen[str]]
) -> None:
    """Stop the readers and the watcher, and note what is left besides Chroma's server."""
    watcher.terminate()
    soak.finish(watcher)
    for each in reading:
        each.kill()
        each.wait()
    servers = {server.pid for server in soak.servers()}
    left = [process.command for process in soak.processes() if process.pid not in servers]
    if left:
        soak.failures.append(f"still running: {left}")


def main() -> None:
    """Soak and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--readers", type=int, default=4)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(directory)
    try:
        run(soak, given.minutes, given.readers)
    finally:
        for server in soak.servers():
            os.kill(server.pid, signal.SIGTERM)
    for failure in soak.failures:
        print("failed:", failure)
    print(f"{soak.turns} turns appended, {len(soak.failures)} failures")
    if soak.failures:
        raise SystemExit(1)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
