"""The chat of `agent-app/` with all processes of `deploy/compose.yaml`, started by hand: Chroma,
chroma-mcp behind its bridge, the chat, and a model's endpoint. Each claim holds with our own
journal in their place, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.agent_memory.chat_model import ChatModel, served_model
from memory_assets_tests.agent_memory.chroma_mcp_processes import Deployment, wait_for
from memory_assets_tests.agent_memory.conftest import NOW
from memory_assets_tests.conftest import REPOSITORY

pytestmark = pytest.mark.long


class System:
    """The processes, where `deployment` is given, and a chat that uses them."""

    def __init__(
        self, root: Path, model: ChatModel, engines: dict[str, Any], deployment: Deployment | None
    ) -> None:
        self.root, self.model, self.deployment = root, model, deployment
        self._engines = engines
        self._chats: list[subprocess.Popen[str]] = []
        self.endpoint: str | None = None
        self.start()
        gateway = self.gateway()
        self.at_first = (gateway.recall_memory("", 100), gateway.tail_history("clean", 100))
        """What was there before anything was said."""

    def start(self) -> None:
        """Start Chroma, and the bridge with chroma-mcp."""
        if self.deployment is not None:
            self.bridge, self.endpoint = self.deployment.start_bridge()

    def kill(self) -> None:
        """Kill every process with -9."""
        for chat in self._chats:
            chat.kill()
            chat.wait()
        self._chats.clear()
        deployment = self.deployment
        if deployment is None:
            return
        running = chroma_server.running(deployment.data_dir)
        assert running is not None
        for pid in (running.pid, *deployment.processes(), self.bridge.pid):
            os.kill(pid, signal.SIGKILL)
        self.bridge.wait()
        wait_for(lambda: chroma_server.running(deployment.data_dir) is None)
        wait_for(lambda: not deployment.processes())

    def open_chat(self, conversation: str) -> subprocess.Popen[str]:
        """Start the chat."""
        environment = {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "MEMORY_DATA_DIR": str(self.root / "memory"),
            "OPENAI_BASE_URL": self.model.url,
            "OPENAI_MODEL": "any",
        }
        if self.endpoint is not None:
            environment["MCP_ENDPOINT"] = self.endpoint
        pipe = subprocess.PIPE
        chat = subprocess.Popen(
            [sys.executable, str(REPOSITORY / "agent-app" / "app.py"), conversation],
            env={**os.environ, **environment},
            stdin=pipe, stdout=pipe, stderr=pipe, text=True,
        )  # fmt: skip
        self._chats.append(chat)
        return chat

    def chat(self, conversation: str, *lines: str) -> list[str]:
        """Say something in a chat of its own, and return what it prints."""
        printed, errors = self.open_chat(conversation).communicate("\n".join(lines), timeout=300)
        assert errors == ""
        said = printed.splitlines()
        assert len(said) >= len(lines)
        return said

    def gateway(self) -> MemoryGateway:
        """The gateway to the same memory, in this process."""
        settings = load_settings(data_dir=self.root / "memory", mcp_endpoint=self.endpoint)
        engines = Engines(settings)
        vars(engines).update(self._engines)
        if self.deployment is None:
            return open_gateway(engines)
        assert self.endpoint is not None
        return open_gateway(engines, store=self.deployment.store(self.endpoint, prefix=""))


@pytest.fixture(scope="module")
def model() -> Iterator[ChatModel]:
    """A model that answers."""
    with served_model() as served:
        yield served


@pytest.fixture(scope="module", params=["chroma-mcp", "journal"])
def system(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    cache: Path,
    model: ChatModel,
    engines: dict[str, Any],
) -> Iterator[System]:
    """Everything, started."""
    root = tmp_path_factory.mktemp("deployed")
    deployment = Deployment(root, cache) if request.param == "chroma-mcp" else None
    started = System(root, model, engines, deployment)
    yield started
    started.kill()


def _said(memories: list[Any]) -> list[str]:
    return [str(each.memory.text) for each in memories]


def test_it_starts_clean(system: System) -> None:
    """Nothing is remembered, nothing was said, and asking is no error."""
    assert system.at_first == ([], [])


def test_memories_are_there_after_all_were_killed_and_started_again(system: System) -> None:
    """What was said, too; a chat that was open goes on in another process."""
    system.model.says = ["Noted.\nREMEMBER decision 0.9: Releases are cut on Thursdays."]
    chat = system.open_chat("killed")
    assert chat.stdin is not None and chat.stdout is not None
    chat.stdin.write("We release on Thursdays.\n")
    chat.stdin.flush()
    assert chat.stdout.readline() == "Noted.\n"
    wait_for(lambda: _said(system.gateway().recall_memory("release day", 3)))
    system.kill()
    system.start()
    assert system.chat("killed", "And when do we release?") == ["Understood."]
    assert "Releases are cut on Thursdays. (decision, " in system.model.prompts[-1]
    assert (
        "user, " in system.model.prompts[-1]
        and "We release on Thursdays." in (system.model.prompts[-1])
    )
    assert len(system.gateway().tail_history("killed", 10)) == 4


def test_each_message_is_appended(system: System) -> None:
    """Of both sides, in order, also where the model gives no answer."""
    system.model.says = ["One.", 429, "Three."]
    system.chat("appended", "first", "second", "third")
    turns = system.gateway().tail_history("appended", 10)
    assert [(turn.turn_index, turn.role, str(turn.text)) for turn in turns] == [
        (0, "user", "first"),
        (1, "assistant", "One."),
        (2, "user", "second"),
        (3, "user", "third"),
        (4, "assistant", "Three."),
    ]


def test_what_the_chat_writes_is_for_its_owner_only(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal, or the lock file; and the key of ids."""
    monkeypatch.setattr(system, "root", tmp_path)
    system.chat("private", "hello")
    written = [path for name in ("memory", "config") for path in (tmp_path / name).rglob("*")]
    assert any(path.is_file() for path in written)
    assert [path for path in written if path.stat().st_mode & 0o077] == []


def test_the_last_n_are_returned(system: System) -> None:
    """Exactly, in order; of another conversation none."""
    gateway = system.gateway()
    for at in range(20):
        gateway.append_history("last", "user", f"turn {at}", at, NOW)
    for n in (0, 1, 16, 20, 50):
        turns = gateway.tail_history("last", n)
        assert [turn.turn_index for turn in turns] == list(range(max(20 - n, 0), 20))
    assert gateway.tail_history("nobody", 5) == []


def test_a_memory_is_stored(system: System) -> None:
    """With its type, confidence and conversation, once, whoever says it again."""
    said = "Noted.\nREMEMBER preference 0.8: The user prefers tabs for indentation."
    system.model.says = [said, said]
    system.chat("stored", "I like tabs.", "I said I like tabs.")
    found = system.gateway().recall_memory("", 100, conversation_id="stored")
    assert _said(found) == ["The user prefers tabs for indentation."]
    assert (found[0].memory.type, found[0].memory.confidence) == ("preference", 0.8)


def test_a_memory_is_found_by_meaning_in_other_words(system: System) -> None:
    """First of several, and in the context of another conversation."""
    gateway = system.gateway()
    for text in ("Payments go through Stripe.", "Logs are shipped to Loki.", "Ana likes tea."):
        assert gateway.write_memory(text, "fact", 0.9, NOW, "meaning").outcome == "stored"
    assert _said(gateway.recall_memory("credit card provider", 1)) == [
        "Payments go through Stripe."
    ]
    system.chat("other-words", "Who handles our credit cards?")
    assert "- Payments go through Stripe. (fact, " in system.model.prompts[-1]


def test_below_point_seven_nothing_is_stored(system: System) -> None:
    """At .7 it is."""
    system.model.says = [
        "Yes.\nREMEMBER fact 0.699: The cache is Redis.\nREMEMBER fact 0.7: The queue is RabbitMQ."
    ]
    system.chat("gated", "What do we run?")
    found = system.gateway().recall_memory("", 100, conversation_id="gated")
    assert _said(found) == ["The queue is RabbitMQ."]


def test_never_more_than_three_in_a_window(system: System) -> None:
    """Of sixteen turns, over several chats; later there is room again."""
    system.model.says = [
        "Yes.\n" + "\n".join(f"REMEMBER fact 0.9: Plan {at} has number {at * 7}." for at in some)
        for some in (range(2), range(2, 6))
    ]
    system.chat("window", "Tell me two.")
    system.chat("window", "Tell me more.")
    gateway = system.gateway()
    assert len(gateway.recall_memory("", 100, conversation_id="window")) == 3
    for at in range(4, 20):
        gateway.append_history("window", "user", f"turn {at}", at, NOW)
    later = gateway.write_memory("Ana is on call in May.", "fact", 0.9, NOW, "window")
    assert later.outcome == "stored"
