"""The chat of `agent-app/` with all processes of `deploy/compose.yaml`, started by hand: Chroma,
chroma-mcp behind its bridge, the chat, and a model's endpoint. Each claim holds with our own
journal in their place, too. What a store gives and takes is in `test_stores.py`, what may be stored
in `test_memories.py`."""

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
from memory_assets_tests.agent_memory.chroma_mcp_processes import Deployment, wait_for
from memory_assets_tests.conftest import REPOSITORY
from memory_assets_tests.embedding.model_endpoint import KEY, ModelEndpoint, served

pytestmark = pytest.mark.long


class System:
    """The processes, where `deployment` is given, and a chat that uses them."""

    def __init__(
        self,
        root: Path,
        model: ModelEndpoint,
        engines: dict[str, Any],
        deployment: Deployment | None,
    ) -> None:
        self.root, self.model, self.deployment = root, model, deployment
        self._engines = engines
        self._chats: list[subprocess.Popen[str]] = []
        self.endpoint: str | None = None
        self.start()

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
            "OPENAI_API_KEY": KEY,
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
def model() -> Iterator[ModelEndpoint]:
    """A model that answers."""
    with served() as endpoint:
        endpoint.reply = "Understood."
        yield endpoint


@pytest.fixture(scope="module", params=["chroma-mcp", "journal"])
def system(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    cache: Path,
    model: ModelEndpoint,
    engines: dict[str, Any],
) -> Iterator[System]:
    """Everything, started."""
    root = tmp_path_factory.mktemp("deployed")
    deployment = Deployment(root, cache) if request.param == "chroma-mcp" else None
    started = System(root, model, engines, deployment)
    yield started
    started.kill()


def test_memories_are_there_after_all_were_killed_and_started_again(system: System) -> None:
    """What was said, too; a chat that was open goes on in another process."""
    system.model.replies = ["Noted.\nREMEMBER decision 0.9: Releases are cut on Thursdays."]
    chat = system.open_chat("killed")
    assert chat.stdin is not None and chat.stdout is not None
    chat.stdin.write("We release on Thursdays.\n")
    chat.stdin.flush()
    assert chat.stdout.readline() == "Noted.\n"
    assert system.gateway().tail_history("nobody", 5) == []
    wait_for(lambda: bool(system.gateway().recall_memory("release day", 3)))
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
    system.model.replies = ["One.", 429, "Three."]
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
