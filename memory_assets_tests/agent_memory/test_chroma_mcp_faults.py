"""What fails between us and Chroma is put right once, or refused clearly; what was stored stays."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_assets.embedding import load_embedder
from memory_assets.errors import StoreError
from memory_assets.redacted_text import compose
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.collections import ChromaStore
from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter
from memory_assets.stores.chroma_mcp.session import (
    McpSession,
    ServerProcess,
    ServerSilent,
    ToolAnswer,
)
from memory_assets.stores.vector_store import CollectionVersions
from memory_assets_tests.agent_memory.chroma_mcp_processes import Deployment, compose_file, wait_for
from memory_assets_tests.agent_memory.chroma_mcp_writer import memory, turn

KILLS = 20


@pytest.mark.parametrize("server", ["http://127.0.0.1:9/mcp", ServerProcess(["/no/such/command"])])
def test_a_server_that_is_not_there_is_named(server: Any, tmp_path: Path) -> None:
    """Each call is refused; nothing of a memory is in the message."""
    store = ChromaMcpVectorStoreAdapter(McpSession(server, seconds=5.0), tmp_path / "lock")
    with pytest.raises(ServerSilent, match=r"does not answer.*try again") as refused:
        store.add([memory(1)])
    assert "heliotrope" not in str(refused.value)


@pytest.fixture(scope="module")
def deployment(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The processes of a deployment."""
    made = Deployment(tmp_path_factory.mktemp("faults"), cache)
    made.start_chroma()
    yield made
    made.stop_chroma()


def _wait_for_writes(writer: _Writer, more: int) -> None:
    goal = writer.kept + more
    wait_for(lambda: writer.kept >= goal)


@pytest.mark.long
def test_a_missing_collection_is_made_and_the_call_repeated(deployment: Deployment) -> None:
    """Before the first write, and when it was deleted meanwhile; it measures cosines then, too."""
    store = deployment.store(deployment.chroma_mcp(), prefix="missing.")
    assert store.get({}) == [] and store.tail("c1", 3) == []
    store.add([memory(1)])
    client = ChromaStore(deployment.data_dir, url=None, idle_seconds=600.0)
    client.drop("missing.memory")
    store.add([memory(1)])
    (found,) = store.query(compose("heliotrope 1 is kept"), 3, {})
    assert found.similarity == pytest.approx(1, abs=1e-5)
    client.drop("missing.memory")
    assert store.query(compose("heliotrope"), 3, {}) == []
    store.close()


class _LosesAnswers(McpSession):
    """A session whose connection breaks after the request was carried out, once a tool."""

    lost: set[str]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        if tool not in self.lost:
            self.lost.add(tool)
            super().call(tool, arguments)
        return super().call(tool, arguments)


@pytest.mark.long
def test_what_is_there_with_the_same_text_is_done(deployment: Deployment) -> None:
    """A request that is carried out twice, because its first answer was lost, is no error and
    leaves one row."""
    session = _LosesAnswers(deployment.chroma_mcp())
    session.lost = set()
    store = ChromaMcpVectorStoreAdapter(session, deployment.data_dir / "lock", prefix="twice.")
    assert store.append_turn(turn(1)) is True
    session.lost.clear()
    store.add([memory(1)])
    assert "chroma_add_documents" in session.lost
    assert store.count("c1") == 1 and store.get({}) == [memory(1)]
    store.close()


@pytest.mark.long
def test_collections_of_version_03_are_renamed(deployment: Deployment) -> None:
    """When they are first used, with what is in them; other names stay."""
    before = deployment.store(deployment.chroma_mcp(), prefix="old.agents.")
    before.append_turn(turn(1))
    before.add([memory(1)])
    before.close()
    store = deployment.store(deployment.chroma_mcp(), prefix="old.")
    assert (store.count("c1"), store.get({})) == (1, [memory(1)])
    assert store.list_collections() == ["history", "memory"]
    store.close()


@pytest.mark.long
def test_a_chroma_that_is_away_is_a_clear_refusal(deployment: Deployment) -> None:
    """Nothing of a text is in it, and afterwards all goes on."""
    store = deployment.store(deployment.chroma_mcp(), prefix="away.")
    store.add([memory(1)])
    deployment.stop_chroma()
    for call in (
        lambda: store.add([memory(2)]),
        lambda: store.append_turn(turn(2)),
        lambda: store.query(compose("heliotrope"), 3, {}),
    ):
        with pytest.raises(StoreError, match="See that Chroma runs") as refused:
            call()
        assert "heliotrope" not in str(refused.value)
    deployment.start_chroma()
    store.add([memory(2)])
    assert len(store.get({})) == 2
    store.close()


@pytest.mark.long
def test_sessions_are_found_by_meaning_through_chroma_mcp(deployment: Deployment) -> None:
    """By the vectors that we made, since the model in its place makes the same."""
    said = [compose("Payments go through Stripe."), compose("Logs are shipped to Loki.")]
    embedder = load_embedder()
    versions = CollectionVersions(embedder.embedder_id, embedder.dimension, "c", "r")
    client = ChromaStore(deployment.data_dir, url=None, idle_seconds=600.0)
    client.open("sessions", versions).upsert(
        ["a", "b"], embedder.embed(said), said, [{"turn": 0}, {"turn": 1}]
    )
    session = McpSession(deployment.chroma_mcp())
    asked = {"collection_name": "sessions", "query_texts": ["credit card provider"]}
    found = json.loads(session.call("chroma_query_documents", asked).texts[0])
    assert found["documents"] == [[str(each) for each in said]]
    client.drop("sessions")
    session.close()


@pytest.mark.long
def test_the_bridge_ends_when_chroma_mcp_does(deployment: Deployment) -> None:
    """So that whoever started it starts both again."""
    bridge, endpoint = deployment.start_bridge()
    store = deployment.store(endpoint, prefix="bridge.")
    store.add([memory(1)])
    for pid in wait_for(deployment.processes):
        os.kill(pid, signal.SIGKILL)
    bridge.wait(120)
    with pytest.raises(ServerSilent):
        store.get({})


@pytest.mark.long
def test_the_health_check_of_the_compose_file_sees_chroma(deployment: Deployment) -> None:
    """And that it is away."""
    running = chroma_server.running(deployment.data_dir)
    assert running is not None
    check = compose_file()["services"]["chroma"]["healthcheck"]["test"][1:]
    command = [part.replace("/8000", f"/{running.port}") for part in check]
    assert subprocess.run(command, check=False).returncode == 0
    deployment.stop_chroma()
    assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode != 0
    deployment.start_chroma()


class _Writer:
    """The process that writes, and the numbers that it has said to be kept."""

    def __init__(self, deployment: Deployment, first: int) -> None:
        process = deployment.chroma_mcp()
        code = "memory_assets_tests.agent_memory.chroma_mcp_writer"
        lock = str(deployment.data_dir / "agents.lock")
        given = [
            json.dumps(process.command),
            json.dumps(dict(process.environment)),
            lock,
            str(first),
        ]
        self.kept = first - 1
        self.refusals: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", code, *given], stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "kept":
                self.kept = int(rest)
            elif word == "refused":
                self.refusals.append(rest)

    def kill(self) -> None:
        """End the process, and read what it has said."""
        self.process.kill()
        self.process.wait()
        self._reader.join()


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_twenty_kills_lose_nothing_double_nothing_and_leave_no_process(
    deployment: Deployment,
) -> None:
    """The writer, chroma-mcp and Chroma in turn, in the middle of writing."""
    moment = random.Random(20)
    writer = _Writer(deployment, 0)
    refusals: list[str] = []
    for number in range(KILLS):
        _wait_for_writes(writer, moment.randrange(1, 4))
        time.sleep(moment.random() / 10)  # somewhere within a write
        victim = ("writer", "chroma-mcp", "chroma")[number % 3]
        if victim == "writer":
            writer.kill()
            wait_for(lambda: not deployment.processes())
            refusals += writer.refusals
            writer = _Writer(deployment, writer.kept + 1)
        elif victim == "chroma-mcp":
            for pid in wait_for(lambda: deployment.processes()):
                os.kill(pid, signal.SIGKILL)
        else:
            running = chroma_server.running(deployment.data_dir)
            assert running is not None
            os.kill(running.pid, signal.SIGKILL)
            wait_for(lambda: chroma_server.running(deployment.data_dir) is None)
            deployment.start_chroma()
    _wait_for_writes(writer, 3)
    writer.kill()
    wait_for(lambda: not deployment.processes())
    refusals += writer.refusals

    store = deployment.store(deployment.chroma_mcp())
    turns = store.tail("c1", 1_000_000)
    assert len(turns) > writer.kept
    assert turns == [turn(at) for at in range(len(turns))]
    memories = store.get({})[::-1]
    assert len(memories) > writer.kept
    assert memories == [memory(at) for at in range(len(memories))]
    store.close()
    assert deployment.processes() == []
    assert not any("heliotrope" in each for each in refusals)
