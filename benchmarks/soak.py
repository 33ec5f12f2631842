"""Readers, a writer that never stops and rebuilds, side by side, for minutes.

    python benchmarks/soak.py [--minutes 10] [--readers 4]

The writer appends a turn to a session and runs `memory ingest`, again and again; the
rebuilder runs `memory rebuild` all the time; each reader is a process that holds one
`open_memory()` and searches. Every half minute a reader is killed with -9 and replaced.
At the end: no command failed, no search failed, as many of our processes as at the start,
memory of the server bounded, and `memory verify` finds nothing. Exits with 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
_READER = """
import time
from memory_assets.recall import open_memory
memory = open_memory()
while True:
    for query in ("where is the ledger", "why did the build fail"):
        assert memory.search(query, kinds=("sessions", "prompts"), mode="semantic", n=10).hits
    time.sleep(0.2)
"""


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
        self.failures: list[str] = []

    def memory(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a `memory` command."""
        return subprocess.Popen(
            [str(Path(sys.executable).parent / "memory"), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, command: subprocess.Popen[str]) -> None:
        """Wait for a command, and note what it said if it failed."""
        said, _ = command.communicate()
        if command.returncode:
            self.failures.append(f"{command.args}: {said[-300:]}")

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

    def servers(self) -> list[psutil.Process]:
        """The Chroma servers of this memory."""
        mine = str(self.directory / "data")
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if "memory_assets.stores.chroma_server" in (process.info["cmdline"] or [])
            and mine in process.info["cmdline"]
        ]


def run(soak: Soak, minutes: float, readers: int) -> None:
    """Soak, print a line every half minute, and note failures."""
    soak.finish(soak.memory("ingest"))
    reading = [soak.reader() for _ in range(readers)]
    deadline, next_line, ingests, rebuilds = time.monotonic() + 60 * minutes, 0.0, 0, 0
    writer, rebuilder = soak.memory("ingest"), soak.memory("rebuild")
    while time.monotonic() < deadline:
        time.sleep(0.2)
        if writer.poll() is not None:
            soak.finish(writer)
            ingests += 1
            soak.append_turn()
            writer = soak.memory("ingest")
        if rebuilder.poll() is not None:
            soak.finish(rebuilder)
            rebuilds += 1
            rebuilder = soak.memory("rebuild")
        for each in reading:
            if each.poll() is not None and each.stderr is not None:
                soak.failures.append(f"a reader ended: {each.stderr.read()[-300:]}")
                reading[reading.index(each)] = soak.reader()
        if time.monotonic() > next_line:
            next_line = time.monotonic() + 30
            sizes = [process.memory_info().rss >> 20 for process in soak.servers()]
            print(f"{ingests} ingests, {rebuilds} rebuilds, servers {sizes} MB", flush=True)
            reading[0].kill()
            reading[0].wait()
            reading[0] = soak.reader()
    for command in (writer, rebuilder):
        soak.finish(command)
    soak.finish(soak.memory("ingest"))
    soak.finish(soak.memory("verify"))
    for each in reading:
        each.kill()
        each.wait()
    if len(soak.servers()) > 1:
        soak.failures.append(f"{len(soak.servers())} Chroma servers")


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
            server.terminate()
    for failure in soak.failures:
        print("failed:", failure)
    print(f"{soak.turns} turns appended, {len(soak.failures)} failures")
    if soak.failures:
        raise SystemExit(1)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
