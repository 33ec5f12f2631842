"""What agents write is redacted, on disk when it is confirmed, and there once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.errors import BadArgument, RedactionUnavailable, StoreError
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal
from memory_assets_tests.agent_memory.conftest import NOW, TOKEN, Agents
from memory_assets_tests.sweep import sweep


def test_a_secret_is_in_no_byte_of_what_is_stored(agents: Agents) -> None:
    """In a turn, a memory or its labels; in a name it is refused, and not quoted."""
    gateway = agents.gateway()
    gateway.append_history("c1", "user", f"My token is {TOKEN}.", 0, NOW)
    gateway.write_memory(f"The token {TOKEN} is for CI.", "fact", 0.9, NOW, tags=[TOKEN])
    with pytest.raises(BadArgument) as refused:
        gateway.append_history(TOKEN.replace("_", "-"), "user", "x", 0, NOW)
    assert TOKEN[4:] not in str(refused.value)
    assert "<redacted:" in gateway.tail_history("c1", 1)[0].text
    assert TOKEN[4:].encode() not in agents.bytes_at_rest()


def test_nothing_is_stored_while_the_redactor_is_away(agents: Agents) -> None:
    """Neither a turn nor a memory."""
    agents.components.settings = load_settings(data_dir=agents.data_dir)
    del agents.components.opened["redactor"]

    def away() -> None:
        raise RedactionUnavailable("a rule does not compile")

    gateway = agents.gateway()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Components, "redactor", property(lambda self: away()))
        with pytest.raises(RedactionUnavailable):
            gateway.append_history("c1", "user", "hello", 0, NOW)
        with pytest.raises(RedactionUnavailable):
            gateway.write_memory("The queue is RabbitMQ.", "fact", 0.9, NOW)
    assert gateway.tail_history("c1", 1) == []
    assert agents.components.journal.memories() == []


@sweep(
    "values, said",
    [
        ({"role": "robot"}, "user, assistant, system"),
        ({"text": "  "}, "is empty"),
        ({"text": "x" * 200_001}, "more than 200000"),
        ({"turn_index": -1}, "from 0 on"),
        ({"turn_index": True}, "from 0 on"),
        ({"ts": "2026-11-23T09:00:00"}, "zone"),
        ({"conversation_id": "a b"}, "letters, digits"),
        ({"conversation_id": "../c"}, "letters, digits"),
    ],
)
def test_what_a_client_gives_is_checked(
    values: dict[str, Any], said: str, gateway: MemoryGateway
) -> None:
    """Each value by itself, in words that say what is allowed."""
    good: dict[str, Any] = {"role": "user", "text": "hi", "turn_index": 0, "ts": NOW}
    with pytest.raises(BadArgument, match=said):
        gateway.append_history(**{"conversation_id": "c1", **good, **values})
    assert gateway.tail_history("c1", 1) == []


def test_four_processes_append_and_lose_none(tmp_path: Path) -> None:
    """250 turns each, at the same time, of one conversation; then each appends its own again."""
    code = (
        "import sys\n"
        "from memory_assets.agent_memory.ports import ConversationTurn\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from memory_assets.redaction.redactor import load_redactor\n"
        "from memory_assets.redacted_text import compose\n"
        "from memory_assets.stores.agents.journal import AgentJournal\n"
        "journal, of = AgentJournal(Path(sys.argv[1])), int(sys.argv[2])\n"
        "for at in [*range(of, 1000, 4), of]:\n"
        "    said = compose('said')\n"
        "    turn = ConversationTurn(f'm{at}', 'c', at, 'user', datetime.now(UTC), said)\n"
        "    assert journal.append_turn(turn) or at == of\n"
    )
    path = tmp_path / FILE_NAME
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(number)])
        for number in range(4)
    ]
    assert [process.wait(300) for process in processes] == [0] * 4
    journal = AgentJournal(path)
    assert [turn.turn_index for turn in journal.tail("c", 2_000)] == list(range(1_000))
    journal.close()


def test_a_journal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """With what to do; nothing is made in its place."""
    path = tmp_path / FILE_NAME
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="`memory ingest` sets it aside"):
        AgentJournal(path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_gateway_needs_no_memory_that_was_ingested(tmp_path: Path) -> None:
    """The first thing in a data directory may be what an agent writes."""
    components = Components(load_settings(data_dir=tmp_path / "new", embedder="none"))
    stored = open_gateway(components).write_memory("We use pnpm.", "project", 0.9, NOW)
    assert stored.outcome == "stored"
