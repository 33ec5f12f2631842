"""Everything at once for minutes, while one of it after another is killed.

    python -m benchmarks.soak [--minutes 15] [--seed 7] [--every 20]

On one memory work: `memory ingest --watch`, Dagster's daemon with its UI (`memory dev`), further
ingests and rebuilds, two MCP servers that search and write memory, the page at 20 requests a
second, the watcher of a workspace, and `memory remember`. A session grows by a turn, and a document
by a line, every five seconds. Every `--every` seconds one process of them, or Chroma's server, is
killed with -9 and begun again. At the end all is stopped, `memory ingest` and `memory verify` run,
and every row of tables and collections must be that of a memory made of the same files at once;
what was remembered and answered must be there once. Descriptors, memory and the idle CPU of what
stays open are printed. Exits with 1 if anything is otherwise. Linux only: it looks at /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.crash_world import differences, rows_of
from benchmarks.mcp_lines import HANDSHAKE, tool_call
from memory_assets.stores.chroma import server as chroma_server

ROOT = Path(__file__).resolve().parent.parent
_MEMORY = str(Path(sys.executable).with_name("memory"))
_ENDLESS = {
    "watch": ("ingest", "--watch"),
    "daemon": ("dev", "--port", "0"),
    "index": ("index", "WORKSPACE", "--watch"),
    "page": ("serve", "--port", "PORT"),
}
_REPEATED = {
    "ingests": (("ingest",), ("ingest", "--full"), ("rebuild",)),
    "remember": (("remember", "TEXT", "--confidence", "0.9", "--json"),),
}
_FOLLOWED = "It follows this workspace, too."
"""Said by a workspace's watcher that ends, as the watcher of transcripts does its work."""
_MCP = ("mcp one", "mcp two")
_PAGES = ("/", "/search?q=ledger", "/status", "/sessions", "/search?q=harbor&in=workspace")
_REQUESTS_A_SECOND = 20
_AGENT_TABLES = ("agent_memory/", "agent_memory_embeddings/", "memory_trail/", "chroma/memory/")
"""Of what agents wrote, which the fresh memory has not."""


class Seen(NamedTuple):
    """A process, its command, the MB of memory and the descriptors that it holds, and the CPU
    seconds that it has used."""

    pid: int
    command: list[str]
    megabytes: int
    descriptors: int
    seconds: float


class Soak:
    """One memory in a directory of its own, and the processes that work on it."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.data_dir = directory / "data"
        shutil.copytree(ROOT / "data" / "sample", directory / "transcripts")
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        for name in ("glossary.md", "limits.md"):
            shutil.copy(ROOT / "docs" / name, self.workspace)
        (directory / "home").mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.draw = random.Random(seed)
        self.turns = 0
        self.killed: Counter[str] = Counter()
        self.answered: list[str] = []
        self.pages: Counter[str] = Counter()
        self.failures: list[str] = []
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._works = {name: itertools.cycle(works) for name, works in _REPEATED.items()}
        self._texts = itertools.count()
        self._ended_by_us: set[int] = set()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def environment(self, data_dir: Path) -> dict[str, str]:
        """What a command on a memory of the transcripts sees."""
        kept = {name: value for name, value in os.environ.items() if "MEMORY_" not in name}
        return {
            **kept,
            "HOME": str(self.directory / "home"),
            "MEMORY_DATA_DIR": str(data_dir),
            "MEMORY_PROJECTS_DIR": str(self.directory / "transcripts" / "claude" / "projects"),
            "MEMORY_CODEX_DIR": str(self.directory / "transcripts" / "codex"),
            "MEMORY_PI_DIR": str(self.directory / "transcripts" / "pi"),
            "MEMORY_MAX_PER_WINDOW": "1000",
        }

    def run(self, *arguments: str, data_dir: Path | None = None) -> None:
        """Run a command to its end, and note a failure."""
        done = subprocess.run(
            [_MEMORY, *arguments],
            env=self.environment(data_dir or self.data_dir),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self._fail(f"{arguments[0]} ended with {done.returncode}: {done.stdout[-400:]}")

    def begin(self, name: str) -> None:
        """Start one of the processes, and what listens to it."""
        if name in _MCP:
            arguments: Sequence[str] = ("mcp", "--write")
        elif name in _ENDLESS:
            values = {"WORKSPACE": str(self.workspace), "PORT": str(self.port)}
            arguments = [values.get(each, each) for each in _ENDLESS[name]]
        else:
            text = _text(next(self._texts))
            arguments = [text if each == "TEXT" else each for each in next(self._works[name])]
        said = self.directory / f"said by {name}.txt"
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL}
        with said.open("a") as file:
            pipes |= {"stdout": file, "stderr": file}
            if name in _MCP:
                pipes |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            elif name == "remember":
                pipes |= {"stdout": subprocess.PIPE}
            self.running[name] = process = subprocess.Popen(
                [_MEMORY, *arguments], env=self.environment(self.data_dir), text=True, **pipes
            )
        if name in _MCP:
            self._in_thread(lambda: self._converse(process))

    def begin_all(self) -> None:
        """Start all of them, and the requests to the page."""
        for name in (*_ENDLESS, *_MCP, *_REPEATED):
            self.begin(name)
        self._in_thread(self._ask_pages)

    def look(self) -> None:
        """Note what has ended by itself as a failure unless it was its time, and begin it anew."""
        for name, process in list(self.running.items()):
            if process.poll() is None:
                continue
            by_us = process.pid in self._ended_by_us
            if name == "remember" and process.returncode == 0 and process.stdout:
                answer = json.loads(process.stdout.read())
                self.answered.append(answer["memory_id"])
            elif not by_us and (name not in _REPEATED or process.returncode):
                said = (self.directory / f"said by {name}.txt").read_text()[-400:]
                if process.returncode or _FOLLOWED not in said:
                    self._fail(f"{name} ended with {process.returncode}: {said}")
            self.begin(name)

    def kill_one(self) -> None:
        """Kill a process that is drawn, or Chroma's server."""
        name = self.draw.choice([*self.running, "Chroma"])
        servers = self.servers()
        if name != "Chroma":
            self._ended_by_us.add(self.running[name].pid)
            self.running[name].kill()
        elif servers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(servers[0].pid, signal.SIGKILL)
        self.killed[name] += 1

    def grow(self) -> None:
        """Let the largest session go on by a turn, and a document by a line."""
        paths = (self.directory / "transcripts" / "claude").rglob("*.jsonl")
        path = max(paths, key=lambda each: each.stat().st_size)
        last = json.loads(path.read_text().splitlines()[-1])
        self.turns += 1
        lines = []
        for role, text in (("user", "and the ledger?"), ("assistant", "It is mended.")):
            record = {
                "type": role,
                "uuid": f"{self.turns:028x}{role[:4]}",
                "sessionId": last.get("sessionId", path.stem),
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
                "cwd": last.get("cwd", "/"),
                "message": {"role": role, "content": f"{text} Turn {self.turns}."},
            }
            lines.append(json.dumps(record) + "\n")
        with path.open("a") as file:
            file.write("".join(lines))
        with (self.workspace / "limits.md").open("a") as file:
            file.write(f"\n- The harbor has {self.turns} piers.\n")

    def processes(self) -> list[Seen]:
        """All processes that work on this memory and have not ended meanwhile."""
        mine = f"\0MEMORY_DATA_DIR={self.data_dir}\0".encode()
        seen = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mine in b"\0" + (process / "environ").read_bytes() + b"\0":
                    command = (process / "cmdline").read_text().split("\0")[:-1]
                    pages = int((process / "statm").read_text().split()[1])
                    held = pages * resource.getpagesize() >> 20
                    files = len(list((process / "fd").iterdir()))
                    # proc_pid_stat(5) from field 3 on: 14 utime, 15 stime
                    fields = (process / "stat").read_text().rpartition(")")[2].split()
                    used = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
                    seen.append(Seen(int(process.name), command, held, files, used))
        return seen

    def servers(self) -> list[Seen]:
        """The Chroma servers of this memory."""
        name = chroma_server.PROCESS
        return [process for process in self.processes() if name in process.command]

    def line(self, seconds: float) -> str:
        """Return what a line every half minute says."""
        seen = self.processes()
        return (
            f"{seconds:4.0f} s: {self.turns} turns, {self.killed.total()} kills, "
            f"{len(self.answered)} remembered, {sum(self.pages.values())} pages, "
            f"{len(seen)} processes with {sum(each.megabytes for each in seen)} MB and "
            f"{sum(each.descriptors for each in seen)} descriptors"
        )

    def idle(self, seconds: float) -> list[str]:
        """Return lines on what each process that stays open holds, and the CPU that it uses while
        nothing happens."""
        for name in _REPEATED:
            process = self.running.pop(name)
            if process.stdout:
                process.communicate()
            process.wait()
        self._stop.set()
        time.sleep(20)  # for what still waits to be taken in
        before = {each.pid: each.seconds for each in self.processes()}
        time.sleep(seconds)
        return [
            f"{' '.join(each.command[-3:])[-60:]}: {each.megabytes} MB, {each.descriptors} "
            f"descriptors, {100 * (each.seconds - before[each.pid]) / seconds:.1f} % CPU"
            for each in self.processes()
            if each.pid in before
        ]

    def end(self) -> None:
        """Stop all of them, and note what is left besides Chroma's server."""
        self._stop.set()
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                self._fail(f"{process.args} does not end")
                process.kill()
        for thread in self._threads:
            thread.join(60)
        time.sleep(5)
        servers = {server.pid for server in self.servers()}
        if left := [each.command for each in self.processes() if each.pid not in servers]:
            self._fail(f"still running: {left}")

    def compare(self) -> None:
        """Note what differs from a memory that is made of the files as they are now, at once, and
        what was remembered and is not there."""
        fresh = self.directory / "fresh"
        for arguments in (("ingest",), ("index", str(self.workspace)), ("ingest",)):
            self.run(*arguments, data_dir=fresh)
        rows = [self._rows(each) for each in (fresh, self.data_dir)]
        for kind, keys in differences(*rows).items():
            if keys:
                self._fail(f"{len(keys)} {kind}: {keys[:3]}")
        kept = Counter(self._memories())
        if wrong := [each for each in set(self.answered) if kept[each] != 1]:
            self._fail(f"{len(wrong)} of {len(self.answered)} memories lost or double")

    def _rows(self, data_dir: Path) -> dict[str, Any]:
        from memory_assets.pipeline.stage.components import Components
        from memory_assets.settings import load_settings

        components = Components(load_settings(data_dir=data_dir))
        rows = rows_of(components)
        components.catalog.close()
        return {key: row for key, row in rows.items() if not key.startswith(_AGENT_TABLES)}

    def _memories(self) -> list[str]:
        from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal

        with contextlib.closing(AgentJournal(self.data_dir / FILE_NAME)) as journal:
            return [each.memory_id for each in journal.memories()]

    def _in_thread(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _converse(self, process: subprocess.Popen[str]) -> None:
        """Ask an MCP server one thing after another, until it has ended."""
        assert process.stdin and process.stdout
        calls = itertools.cycle(("recall", "recall", "recall", "remember"))
        with contextlib.suppress(OSError, ValueError):
            for message in HANDSHAKE:
                process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            process.stdout.readline()
            while not self._stop.wait(0.5):
                name = next(calls)
                given = {"query": "ledger"} if name == "recall" else {"text": self._next_text()}
                more = {} if name == "recall" else {"confidence": 0.9}
                process.stdin.write(json.dumps(tool_call(name, {**given, **more})) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
                if not line:
                    return
                result = json.loads(line)["result"]
                if result.get("isError"):
                    self._fail(f"{name} of MCP: {str(result['content'])[:300]}")
                elif name == "remember":
                    self.answered.append(result["structuredContent"]["memory_id"])

    def _next_text(self) -> str:
        return _text(next(self._texts))

    def _ask_pages(self) -> None:
        """Ask the page, `_REQUESTS_A_SECOND` times a second where it keeps up."""
        for path in itertools.cycle(_PAGES):
            if self._stop.wait(1 / _REQUESTS_A_SECOND):
                return
            try:
                url = f"http://127.0.0.1:{self.port}{path}"
                with urllib.request.urlopen(url, timeout=60) as answer:
                    self.pages[str(answer.status)] += 1
                    answer.read()
            except urllib.error.HTTPError as error:
                self.pages[str(error.code)] += 1
            except OSError:  # it was killed, and is being started
                self.pages["away"] += 1

    def _fail(self, what: str) -> None:
        self.failures.append(what)
        print("failed:", what, flush=True)


def _text(number: int) -> str:
    """Return a text that says something else than all others."""
    word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return f"Pier {word} {word}{word} belongs to {word}{word}{word}."


def run(soak: Soak, minutes: float, every: float) -> None:
    """Soak, print a line every half minute, and note failures."""
    soak.run("ingest")
    soak.begin_all()
    begin = time.monotonic()
    due = {"line": begin + 30, "grow": begin, "kill": begin + every}
    while (now := time.monotonic()) < begin + 60 * minutes:
        time.sleep(0.2)
        soak.look()
        if now > due["grow"]:
            due["grow"] = now + 5
            soak.grow()
        if now > due["kill"]:
            due["kill"] = now + every
            soak.kill_one()
        if now > due["line"]:
            due["line"] = now + 30
            print(soak.line(now - begin), flush=True)
    print(soak.line(time.monotonic() - begin), flush=True)
    print(*soak.idle(20), sep="\n", flush=True)
    if len(soak.servers()) > 1:
        soak.failures.append(f"{len(soak.servers())} Chroma servers")
    soak.end()
    for arguments in (("ingest",), ("index", str(soak.workspace)), ("ingest",), ("verify",)):
        soak.run(*arguments)
    soak.compare()


def main() -> None:
    """Soak and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="soak-"))
    os.environ["HOME"] = str(directory / "home")
    soak = Soak(directory, given.seed)
    try:
        run(soak, given.minutes, given.every)
    finally:
        for process in soak.running.values():
            process.kill()
        for data_dir in (soak.data_dir, directory / "fresh"):
            chroma_server.stop(data_dir)
    print(f"killed: {dict(soak.killed)}; pages by status: {dict(soak.pages)}")
    print(f"{soak.turns} turns, {len(soak.answered)} memories, {len(soak.failures)} failures")
    if soak.failures:
        raise SystemExit(f"what it left is in {directory}")
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
