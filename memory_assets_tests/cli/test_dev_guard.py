"""Who may steer `memory dev`: its own page, and programs of this machine; no other page."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from memory_assets.paths import SAMPLE_DIR
from memory_assets.serving.http_server import PAGE_HEADERS, Guard
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.runs.names import INGEST_JOB
from memory_assets_tests.cli.terminal import Terminal
from memory_assets_tests.command_line import run_here
from memory_assets_tests.dagster.live_dagster import (
    BIN,
    SELECTOR,
    Dagster,
    memory_dev,
    processes_in,
    wait_for,
)
from memory_assets_tests.sweep import sweep

TIDEPOOL = "-Users-jonas-work-tidepool-web"
EVIL = "http://evil.example"
TOKEN = "a-token-of-the-tests-alone"
ADD = """mutation($key: String!, $selector: RepositorySelector!) {
  addDynamicPartition(partitionKey: $key, partitionsDefName: "projects",
    repositorySelector: $selector) { __typename } }"""
PARTITIONS = """query($selector: RepositorySelector!) { repositoryOrError(repositorySelector:
  $selector) { ... on Repository { jobs { name } } }
  assetNodes { assetKey { path } partitionKeys } }"""
LAUNCH = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on RunConfigValidationInvalid { errors { message } } } }"""


def operation(key: str) -> dict[str, object]:
    """The GraphQL request that makes a partition of the project `key`."""
    return {"query": ADD, "variables": {"key": key, "selector": SELECTOR}}


def in_address(key: str) -> str:
    """The request in the query of an address, as an image's source has it."""
    wanted = operation(key)
    return urlencode({"query": ADD, "variables": json.dumps(wanted["variables"])})


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """`memory dev` on a terminal, on a memory without transcripts, so that its sensor starts no
    runs. Its first line is the address, and it says nothing else; when the terminal is closed, it
    ends with all its processes."""
    with on_a_terminal(tmp_path_factory.mktemp("guarded")) as (running, terminal):
        wait_for("webserver", lambda: bool(running.ask("query { version }")))
        yield running
        data_dir = Path(running.environment["MEMORY_DATA_DIR"])
        assert len(processes_in(data_dir)) >= 3, processes_in(data_dir)
        assert terminal.since() == ""
        terminal.close()
        # Python ends with 120 where a last line could not be written to the terminal that is gone.
        assert running.process.wait(60) in (0, 120)
        assert _are_gone(data_dir)


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
        yield Dagster(told[1], environment, Path(), terminal.process), terminal
    finally:
        if terminal.process.poll() is None:
            terminal.process.terminate()
            terminal.process.wait(60)
        chroma_server.stop(directory / "memory")


def partitions(dagster: Dagster) -> set[str]:
    """The partitions of `raw_sessions`."""
    nodes = dagster.ask(PARTITIONS, {"selector": SELECTOR})["assetNodes"]
    return {
        key
        for node in nodes
        if node["assetKey"]["path"] == ["raw_sessions"]
        for key in node["partitionKeys"]
    }


def send(
    dagster: Dagster, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, dict[str, str], bytes]:
    """Send a request, by POST when there is a body; return status, headers and answer."""
    request = urllib.request.Request(f"{dagster.url}{path}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_the_page_itself_and_programs_may_change_things(dagster: Dagster) -> None:
    """JSON by POST, from no page or from one of the same origin: the mutation takes place."""
    json_type = {"Content-Type": "application/json"}
    own = {**json_type, "Origin": dagster.url, "Sec-Fetch-Site": "same-origin"}
    for key, headers in (("by-program", json_type), ("by-page", own)):
        status, _, answer = send(dagster, "/graphql", json.dumps(operation(key)).encode(), headers)
        assert status == 200 and b"AddDynamicPartitionSuccess" in answer
        assert key in partitions(dagster)


def test_the_page_is_shown_and_can_be_framed_by_no_other(dagster: Dagster) -> None:
    """Also to somebody who followed a link on another site."""
    followed = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    status, headers, answer = send(dagster, "/assets", None, followed)
    assert status == 200 and b"<html" in answer
    assert headers["x-frame-options"] == "DENY"


FROM_ELSEWHERE: list[tuple[str, dict[str, str], str, int]] = [
    ("get", {}, "address", 405),
    ("get-of-a-page", {"Accept": "text/html"}, "address", 405),
    ("foreign-host", {"Host": "evil.example:3000"}, "json", 421),
    ("foreign-origin", {"Origin": EVIL}, "json", 403),
    ("opaque-origin", {"Origin": "null"}, "json", 403),
    ("other-port", {"Origin": "http://127.0.0.1:1"}, "json", 403),
    ("cross-site", {"Sec-Fetch-Site": "cross-site"}, "json", 403),
    ("same-site", {"Sec-Fetch-Site": "same-site"}, "json", 403),
    ("form", {"Content-Type": "application/x-www-form-urlencoded"}, "form", 415),
    ("text", {"Content-Type": "text/plain"}, "json", 415),
    ("disguised", {"Content-Type": "text/plain; application/json"}, "json", 415),
    ("graphql", {"Content-Type": "application/graphql"}, "json", 415),
    ("multipart", {"Content-Type": "multipart/form-data; boundary=x"}, "json", 415),
    ("post-in-address", {"Content-Type": "text/plain"}, "both", 415),
]
"""Requests of another page: a name, headers, where the operation is, and the answer's status."""


def test_what_another_page_can_send_changes_nothing(dagster: Dagster) -> None:
    """GET, forms and plain text; any content type but JSON's own; a foreign Host or Origin;
    and what the browser says to come from elsewhere."""

    def answered(key: str, headers: dict[str, str], kind: str) -> int:
        path = f"/graphql?{in_address(key)}" if kind in ("address", "both") else "/graphql"
        body = {
            "address": None,
            "json": json.dumps(operation(key)).encode(),
            "form": in_address(key).encode(),
            "both": b"",
        }[kind]
        given = {"Content-Type": "application/json", **headers} if body is not None else headers
        return send(dagster, path, body, given)[0]

    wanted = {case: status for case, _, _, status in FROM_ELSEWHERE}
    assert wanted == {
        case: answered(f"evil-{case}", headers, kind) for case, headers, kind, _ in FROM_ELSEWHERE
    }
    assert not [key for key in partitions(dagster) if key.startswith("evil")]


def test_events_cannot_be_reported_by_another_page(dagster: Dagster) -> None:
    """Dagster takes reports of materializations in the address of a POST without a body."""
    path = "/report_asset_materialization/raw_sessions?partition=evil"
    assert send(dagster, path, b"", {"Content-Type": "text/plain"})[0] == 415


def test_a_web_socket_is_for_the_page_of_the_same_origin(dagster: Dagster) -> None:
    """Web sockets know no CORS: a page elsewhere could read runs and logs."""
    address = f"{dagster.url.replace('http', 'ws')}/graphql"
    for origin in (EVIL, "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus), connect(address, origin=Origin(origin)):
            pass
    with connect(
        address, origin=Origin(dagster.url), subprotocols=[Subprotocol("graphql-ws")]
    ) as own:
        own.send(json.dumps({"type": "connection_init"}))
        assert json.loads(own.recv(timeout=10)) == {"type": "connection_ack"}


@sweep(
    "config",
    [
        {"chroma_url": "http://evil.example:8000"},
        {"retention": 1},
        {"data_dir": "/tmp/elsewhere"},
        {"settings_json": json.dumps({"retention": 1})},
    ],
)
def test_no_run_can_say_where_the_memory_is_or_what_is_kept(
    dagster: Dagster, config: dict[str, object]
) -> None:
    """Run configuration of the resource `memory` is refused before the run begins."""
    params = {
        "selector": {**SELECTOR, "jobName": INGEST_JOB},
        "runConfigData": json.dumps({"resources": {"memory": {"config": config}}}),
        "mode": "default",
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": "by-program"}]},
    }
    answer = dagster.ask(LAUNCH, {"params": params})["launchRun"]
    assert answer["__typename"] == "RunConfigValidationInvalid", answer
    assert any(next(iter(config)) in error["message"] for error in answer["errors"])


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
