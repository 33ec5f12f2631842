"""What services expect of a store, of each that there is: our journal, and Chroma behind
chroma-mcp, over pipes and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memory_assets.agent_memory.ports import AgentStore, ConversationTurn, StoredMemory, Where
from memory_assets.embedding import load_embedder
from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.agent_memory.gateway import JournalVectorStore
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.agents.journal import AgentJournal
from memory_assets_tests.agent_memory.chroma_mcp_processes import Deployment
from memory_assets_tests.conftest import load_redactor_of_tests

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


class _Journal(JournalVectorStore):
    """The journal under both ports."""

    def __init__(self, journal: AgentJournal) -> None:
        super().__init__(journal, load_embedder)
        self.append_turn, self.tail, self.count = journal.append_turn, journal.tail, journal.count


_OVER_MCP = [pytest.param(name, marks=pytest.mark.long) for name in ("pipes", "http")]


@pytest.fixture(scope="module")
def behind(
    request: pytest.FixtureRequest, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """What makes a store."""
    root = tmp_path_factory.mktemp("stores")
    if request.param == "journal":
        yield lambda: _Journal(AgentJournal(root / f"{uuid4().hex}.db"))
        return
    deployment = Deployment(root, cache)
    process = deployment.chroma_mcp()
    opened = []

    def make(server: Any) -> AgentStore:
        opened.append(deployment.store(server, prefix=f"{uuid4().hex}."))
        return opened[-1]

    if request.param == "pipes":
        yield lambda: make(process)
    else:
        with deployment.bridge() as endpoint:
            yield lambda: make(endpoint)
            for each in opened:
                each.close()
    for each in opened:
        each.close()
    deployment.stop_chroma()


pytestmark = pytest.mark.parametrize("behind", ["journal", *_OVER_MCP], indirect=True)


@pytest.fixture
def store(behind: Any) -> AgentStore:
    """An empty store."""
    made: AgentStore = behind()
    return made


def _text(said: str) -> RedactedText:
    return load_redactor_of_tests().session("s").redact(said).text


def _memory(name: str, said: str, **other: Any) -> StoredMemory:
    values = {"type": "fact", "confidence": 0.9, "ts": NOW, "stored_at": 1.0, **other}
    return StoredMemory(f"memory::{name}", _text(said), **values)


def _turn(at: int, said: str, conversation: str = "c1", **other: Any) -> ConversationTurn:
    values = {"message_id": f"{conversation}-m{at}", "role": "user", "ts": NOW, **other}
    return ConversationTurn(conversation_id=conversation, turn_index=at, text=_text(said), **values)


def test_memories_come_back_as_they_were(store: AgentStore) -> None:
    """Every field; again with other values, in place of the first."""
    labels = (_text("Ana"), _text("billing"))
    memory = _memory(
        "a", "Ana owns billing.\n— 日本語", confidence=1, stored_at=1_800_000_000.25, at_turn=3,
        conversation_id="c1", project="-home-ada-harbor", entities=labels, tags=labels[:1],
        also=(_text("Billing is Ana's."),), contradicts=("memory::b",),
    )  # fmt: skip
    store.add([memory])
    assert store.get({}) == [memory]
    renewed = replace(memory, confidence=0.8, tags=(), also=())
    store.add([renewed, _memory("b", "Bob does.")])
    store.add([renewed])
    assert store.get({"memory_id": "memory::a"}) == [renewed]


def test_memories_are_found_by_meaning(store: AgentStore) -> None:
    """Best first, with the cosine of our model's vectors; in a collection that nobody has made
    there is nothing."""
    said = ["Payments go through Stripe.", "The user likes brief answers.", "Logs go to Loki."]
    assert store.query(_text("credit cards"), 3, {}) == []
    store.add([_memory(str(at), text) for at, text in enumerate(said)])
    found = store.query(_text("credit card provider"), 2, {})
    assert len(found) == 2 and found[0].memory.text == said[0]
    vectors = load_embedder().embed(["credit card provider", said[0]])
    assert found[0].similarity == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-5)


def test_memories_are_found_by_their_fields(store: AgentStore) -> None:
    """All conditions hold, equal or at least; the last one first, up to a limit."""
    kept = [
        _memory(str(at), f"Plan {at}.", confidence=at / 4, stored_at=10.0 - at, project="p" * at)
        for at in range(4)
    ]
    store.add(kept)

    def names(where: Where, limit: int | None = None) -> list[str]:
        return [each.memory_id[-1] for each in store.get(where, limit)]

    assert names({}) == ["0", "1", "2", "3"]
    assert names({}, 2) == ["0", "1"]
    assert names({"project": ""}) == ["0"]
    assert names({"confidence": {"$gte": 0.5}, "stored_at": {"$gte": 8}}) == ["2"]
    assert names({"confidence": {"$gte": 1}}) == []
    found = store.query(_text("Plan 3."), 5, {"confidence": {"$gte": 0.5}})
    assert {each.memory.memory_id[-1] for each in found} == {"2", "3"}
    with pytest.raises(ConfigurationError, match="heliotrope"):
        store.get({"heliotrope": 1})


def test_a_turn_is_stored_once(store: AgentStore) -> None:
    """The same one again changes nothing; another text at its place or under its id is refused
    with the ids, and quotes nothing."""
    turn = _turn(0, "hello")
    assert store.append_turn(turn) is True
    assert store.append_turn(turn) is False
    with pytest.raises(ConfigurationError, match=r"c1-m0.*c1-x") as refused:
        store.append_turn(_turn(0, "a heliotrope", message_id="c1-x"))
    assert "heliotrope" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="c1-m0"):
        store.append_turn(_turn(1, "a heliotrope", message_id="c1-m0"))
    assert store.tail("c1", 5) == [turn]


def test_the_last_turns_are_exact_and_in_order(store: AgentStore) -> None:
    """Of any conversation and number, with places left out, in whatever order they came."""
    places = [5, 0, 1, 2, 40, 3]
    for at in places:
        store.append_turn(_turn(at, f"turn {at}"))
    store.append_turn(_turn(7, "another", "c2", role="assistant", channel="cli"))
    for n in (1, 2, 3, 6, 100):
        assert [turn.turn_index for turn in store.tail("c1", n)] == sorted(places)[-n:]
    assert store.tail("c1", 0) == store.tail("c9", 3) == []
    assert (store.count("c1"), store.count("c2"), store.count("c9")) == (6, 1, 0)
    assert store.tail("c2", 3) == [_turn(7, "another", "c2", role="assistant", channel="cli")]


def test_writers_exclude_each_other(store: AgentStore) -> None:
    """What is done in the block is done, and the store can be used in it."""
    with store.exclusive():
        store.add([_memory("a", "Ana owns billing.")])
        assert len(store.query(_text("who owns billing"), 3, {})) == 1
