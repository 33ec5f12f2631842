"""Count processes after many commands, MCP sessions that are killed, and a dead server.

    python benchmarks/processes.py [--calls 200] [--sessions 20]

Takes in the sample, then searches from the command line again and again; then opens MCP
sessions over stdio, each of which calls a tool, and kills them with -9; then kills Chroma's
server with -9, searches and asks for Chroma. After each part there must be one process: the
server. Exits with 1 otherwise, or where any command failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.mcp_lines import HANDSHAKE, tool_call  # noqa: E402 - after the path is set
from benchmarks.soak import Soak  # noqa: E402 - after the path is set


def search(soak: Soak, number: int) -> None:
    """Search from the command line, by meaning every other time."""
    mode = ("hybrid", "semantic")[number % 2]
    soak.finish(soak.memory("search", "oauth redirect loop", "--mode", mode))


def killed_session(soak: Soak) -> None:
    """Open an MCP session, have a tool answer, and kill the session."""
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "memory"), "mcp"],
        env=soak.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    for request in (*HANDSHAKE, tool_call("recall", {"query": "oauth redirect loop"})):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        if "id" in request and "result" not in process.stdout.readline():
            soak.failures.append(f"no answer to {request['method']}")
    process.kill()
    process.communicate()


def count(soak: Soak, after: str) -> None:
    """Print how many processes there are; more or less than one server is a failure."""
    time.sleep(1)
    names = [" ".join(process.command[1:4]) for process in soak.processes()]
    print(f"after {after}: {len(names)} process ({', '.join(names)})", flush=True)
    if len(names) != 1 or len(soak.servers()) != 1:
        soak.failures.append(f"after {after}: {names}")


def main() -> None:
    """Do all of it and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=20)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="processes-"))
    soak = Soak(directory)
    try:
        soak.finish(soak.memory("ingest"))
        search(soak, 1)
        count(soak, "an ingest and a search")
        for number in range(given.calls):
            search(soak, number)
        count(soak, f"{given.calls} searches")
        for _ in range(given.sessions):
            killed_session(soak)
        count(soak, f"{given.sessions} MCP sessions killed")
        os.kill(soak.servers()[0].pid, signal.SIGKILL)
        search(soak, 1)
        soak.finish(soak.memory("chroma"))
        count(soak, "the server killed, a search, and Chroma asked for")
    finally:
        for process in soak.processes():
            os.kill(process.pid, signal.SIGTERM)
    for failure in soak.failures:
        print("failed:", failure)
    if soak.failures:
        raise SystemExit(1)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
