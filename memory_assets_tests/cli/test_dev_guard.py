"""Who may steer `memory dev`: its own page, and programs of this machine; no other page."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from memory_assets.paths import SAMPLE_DIR
from memory_assets.serving.http_server import PAGE_HEADERS, Guard
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.cli.terminal import Terminal
from memory_assets_tests.command_line import run_here
from memory_assets_tests.dagster.live_dagster import (
    BIN,
    Dagster,
    memory_dev,
    processes_in,
    wait_for,
)

TIDEPOOL = "-Users-jonas-work-tidepool-web"
TOKEN = "a-token-of-the-tests-alone"


@contextmanager
def on_a_terminal(
    directory: Path, projects: Path | None = None
) -> Iterator[tuple[Dagster, Terminal]]:
    """`memory dev` over these projects of Claude Code, once it has said where it is."""
    nothing = directory / "nothing"
    nothing.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if "MEMORY_" not in name},
        "HOME": str(directory),
        "MEMORY_DATA_DIR": str(directory / "memory"),
        "MEMORY_PROJECTS_DIR": str(projects or nothing),
        "MEMORY_CODEX_DIR": str(nothing),
        "MEMORY_PI_DIR": str(nothing),
    }
    terminal = Terminal(environment, "dev", "--port", "0", columns=200)
    try:
        said = terminal.until("Dagster is at ") + terminal.until("\n")
        begins = r"Dagster is starting at (http://127\.0\.0\.1:\d+) \(Ctrl-C ends it\)\s+"
        told = re.fullmatch(rf"{begins}Dagster is at \1\s+", said)
        assert told is not None, said
        yield Dagster(told[1], environment, Path(), terminal.process, Path(os.devnull)), terminal
    finally:
        if terminal.process.poll() is None:
            terminal.process.terminate()
            terminal.process.wait(60)
        chroma_server.stop(directory / "memory")


def test_an_address_that_others_can_reach_needs_a_token(tmp_path: Path) -> None:
    """As for `memory serve`; nothing is started without one."""
    environment = {"HOME": str(tmp_path), "MEMORY_DATA_DIR": str(tmp_path / "memory")}
    done = run_here(environment, "dev", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2 and "MEMORY_HTTP_TOKEN" in done.stderr
    assert not (tmp_path / "memory" / "dagster").exists()


def test_a_browser_may_give_the_token_as_a_password() -> None:
    """By HTTP basic authentication, for which it asks its user; any user name will do."""
    app = Guard(PlainTextResponse("fine"), token=TOKEN, headers=PAGE_HEADERS, asks_browsers=True)
    client = TestClient(app, base_url="http://127.0.0.1:3000")
    refused = client.get("/")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert client.get("/", auth=("anybody", TOKEN)).text == "fine"
    assert client.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).text == "fine"
    assert client.get("/", auth=("anybody", "wrong")).status_code == 401
    assert client.get("/", headers={"Authorization": "Basic %%%"}).status_code == 401


def _are_gone(data_dir: Path) -> bool:
    """Whether, within a minute, no process of a data directory is left."""
    deadline = time.monotonic() + 60
    while processes_in(data_dir) and time.monotonic() < deadline:
        time.sleep(0.5)
    return not processes_in(data_dir)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_it_ends_with_all_its_processes(number: signal.Signals, tmp_path: Path) -> None:
    """When it is told to, also by whoever closes its terminal, and when it is killed: no daemon is
    left that would go on launching runs."""
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    variables = ("MEMORY_PROJECTS_DIR", "MEMORY_CODEX_DIR", "MEMORY_PI_DIR")
    with memory_dev(tmp_path / "live", **dict.fromkeys(variables, str(nothing))) as running:
        data_dir = Path(running.environment["MEMORY_DATA_DIR"])
        assert len(processes_in(data_dir)) >= 3, processes_in(data_dir)
        running.process.send_signal(number)
        assert running.process.wait(60) == (-number if number == signal.SIGKILL else 0)
        assert _are_gone(data_dir)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("way", ["closed", "ctrl-c"])
def test_a_chroma_server_that_a_run_started_ends_with_it(way: str, tmp_path: Path) -> None:
    """When the terminal is closed, or by Ctrl-C; and runs print nothing."""
    claude = tmp_path / "transcripts"
    shutil.copytree(SAMPLE_DIR / "claude" / "projects" / TIDEPOOL, claude / TIDEPOOL)
    with on_a_terminal(tmp_path, claude) as (running, terminal):
        data_dir = tmp_path / "memory"
        wait_for("Chroma", lambda: chroma_server.running(data_dir) is not None)
        assert terminal.since() == ""
        terminal.close() if way == "closed" else terminal.press("\x03")
        assert running.process.wait(120) == 0
        assert _are_gone(data_dir)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
def test_it_cleans_up_when_it_is_told_to_end_while_it_starts(tmp_path: Path) -> None:
    """Before the page is there; nothing that was started goes on."""
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
    }
    process = subprocess.Popen([BIN / "memory", "dev", "--port", "0"], env=environment)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("memory-dev-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.glob("memory-dev-*")) == []
    assert _are_gone(tmp_path / "memory")
