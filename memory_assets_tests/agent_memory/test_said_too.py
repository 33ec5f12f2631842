"""Forgetting one of several who said a memory: it stays, and nothing of that one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory_assets.agent_memory.ports import StoredMemory
from memory_assets.errors import StoreError
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets.pipeline.removal import forget as forgetting
from memory_assets_tests.agent_memory.conftest import NOW, Agents
from memory_assets_tests.agent_memory.test_tables import ingest

FIRST = "Timestamps are stored in UTC."
SECOND = "The timestamps are saved as UTC."
THIRD = "Timestamps are saved in UTC."


def begin(agents: Agents, *conversations: str) -> None:
    """Say a word in conversations, so that there are such."""
    for each in conversations:
        agents.gateway().append_history(each, "user", "hello", 0, NOW)


def only(agents: Agents) -> StoredMemory:
    """The only memory."""
    (memory,) = agents.components.journal.memories()
    return memory


def sources(agents: Agents) -> list[str]:
    """The conversations that the trail of the only memory names, in order."""
    trail = agents.components.journal.trail(only(agents).memory_id)
    return [each for entry in trail for each in entry.of if not each.startswith("memory::")]


def said_by_three(agents: Agents) -> None:
    """A memory of c-one, of which c-two and c-three have other wordings, in the lake."""
    begin(agents, "c-one", "c-two", "c-three")
    for text, conversation in ((FIRST, "c-one"), (SECOND, "c-two"), (THIRD, "c-three")):
        agents.gateway().write_memory(text, "fact", 0.9, NOW, conversation)
    assert only(agents).also == (SECOND, THIRD)
    assert sources(agents) == ["c-one", "c-two", "c-three"]
    ingest(agents.without_vectors())


def test_a_wording_goes_with_its_conversation(agents: Agents) -> None:
    """And so does its name in the trail, byte for byte; other wordings stay, and the memory is
    made into tables again."""
    said_by_three(agents)
    agents.without_vectors().forget(conversation="c-two")
    assert (only(agents).text, only(agents).also) == (FIRST, (THIRD,))
    assert sources(agents) == ["c-one", "c-three"]
    assert b"c-two" not in agents.bytes_at_rest() and SECOND.encode() not in agents.bytes_at_rest()
    ingest(agents.without_vectors())
    assert (only(agents).text, only(agents).also) == (FIRST, (THIRD,))
    assert b"c-two" not in agents.bytes_at_rest() and SECOND.encode() not in agents.bytes_at_rest()


@pytest.mark.parametrize(
    "step", ["forget_written", "_remove_files", "_remove_rows", "forget_keywords"]
)
def test_an_interrupted_forgetting_leaves_what_others_say(
    agents: Agents, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stopped."""
    said_by_three(agents)

    def stopped(*_: object) -> int:
        raise StoreError("stopped here")

    with monkeypatch.context() as patch:
        patch.setattr(forgetting, step, stopped)
        with pytest.raises(StoreError, match="stopped here"):
            agents.without_vectors().forget(conversation="c-two")
    forgetting.complete(agents.without_vectors().components, erase_traces=lambda names: 0)
    ingest(agents.without_vectors())
    assert only(agents).also == (THIRD,)
    assert b"c-two" not in agents.bytes_at_rest() and SECOND.encode() not in agents.bytes_at_rest()


def test_a_wording_that_another_conversation_has_stays(agents: Agents) -> None:
    """Until that is forgotten, too."""
    said_by_three(agents)
    agents.gateway().write_memory(SECOND, "fact", 0.9, NOW, "c-three")
    agents.without_vectors().forget(conversation="c-two")
    assert only(agents).also == (SECOND, THIRD)
    agents.without_vectors().forget(conversation="c-three")
    assert only(agents).also == ()


def test_wordings_of_a_version_that_named_none_go_together(agents: Agents) -> None:
    """Whose they are is not known."""
    said_by_three(agents)
    journal, memory_id = agents.components.journal, only(agents).memory_id
    trail = [
        replace(entry, of=entry.of[:1]) if entry.what == "merged" else entry
        for entry in journal.trail(memory_id)
    ]
    journal.replace_trail(memory_id, trail)
    agents.without_vectors().forget(conversation="c-two")
    assert only(agents).also == ()
    assert sources(agents) == ["c-one", "c-three"]


def test_who_said_it_again_goes_from_the_trail(agents: Agents) -> None:
    """In the same words; no wording is lost."""
    begin(agents, "c-one", "c-two")
    agents.gateway().write_memory(FIRST, "fact", 0.9, NOW, "c-one")
    agents.gateway().write_memory(FIRST, "fact", 0.9, NOW, "c-two")
    ingest(agents.without_vectors())
    agents.without_vectors().forget(conversation="c-two")
    assert (only(agents).text, sources(agents)) == (FIRST, ["c-one"])
    assert b"c-two" not in agents.bytes_at_rest()


def test_a_wording_that_upkeep_merged_goes_with_its_conversation(agents: Agents) -> None:
    """Also what was merged into that before."""
    begin(agents, "c-one", "c-two", "c-three")
    agents.without_vectors().gateway().write_memory(FIRST, "fact", 0.9, NOW, "c-one")
    agents.now += 60
    agents.without_vectors().gateway().write_memory(SECOND, "fact", 0.9, NOW, "c-two")
    second = agents.components.journal.memories(limit=1)[0]
    journal, wording = agents.components.journal, agents.gateway().redacted(THIRD)
    merged = replace(second, also=(wording,))
    journal.put_memories([merged])
    of = ("c-three", agents.gateway().id_of(THIRD))
    (stored,) = journal.trail(second.memory_id)
    journal.note(replace(stored, what="merged", of=of))
    assert keep_up(agents.components).merged == 1
    first = journal.memories({"conversation_id": "c-one"})[0]
    assert first.also == (SECOND, THIRD)
    agents.without_vectors().forget(conversation="c-two")
    assert only(agents).also == (THIRD,)
    agents.without_vectors().forget(conversation="c-three")
    assert only(agents).also == () and sources(agents) == ["c-one"]


@pytest.mark.parametrize("name", ["c-one", "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60"])
@pytest.mark.parametrize("appended", [True, False])
def test_a_name_alone_forgets_what_comes_from_it(agents: Agents, name: str, appended: bool) -> None:
    """As `--conversation` does, whether its turns were appended or not; also of a session, whose
    id the memory names. Others stay."""
    if appended:
        begin(agents, name, "c-two")
    agents.gateway("-srv-harbor").write_memory(FIRST, "fact", 0.9, NOW, name)
    agents.gateway().write_memory("The garden is in Lisbon.", "fact", 0.9, NOW, "c-two")
    ingest(agents.without_vectors())
    agents.without_vectors().forget(session=name)
    ingest(agents.without_vectors())
    assert only(agents).conversation_id == "c-two"
    assert FIRST.encode() not in agents.bytes_at_rest()


def test_the_id_of_what_is_forgotten_goes_from_what_contradicts_it(agents: Agents) -> None:
    """And from its trail, byte for byte; the memory stays, with all else of its trail."""
    gateway = agents.gateway()
    older = gateway.write_memory("Releases are on Monday.", "fact", 0.9, NOW, "c-one").memory_id
    newer = gateway.write_memory("Releases are on Friday.", "fact", 0.9, NOW, "c-two")
    assert newer.contradicts == (older,)
    ingest(agents.without_vectors())
    agents.without_vectors().forget(session=older.removeprefix("memory::"))
    assert (only(agents).text, only(agents).contradicts) == ("Releases are on Friday.", ())
    assert sources(agents) == ["c-two"]
    ingest(agents.without_vectors())
    assert older.encode() not in agents.bytes_at_rest()
    assert older.removeprefix("memory::").encode() not in agents.bytes_at_rest()
