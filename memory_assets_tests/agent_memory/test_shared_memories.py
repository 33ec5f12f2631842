"""Memories that agents wrote and sessions show, too: whose they are, and what forgetting one of
both leaves."""

from __future__ import annotations

from dataclasses import replace

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.memory import FROM_SESSIONS
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.redacted_text import seal
from memory_assets_tests.agent_memory.test_session_promotion import APP, PROJECT, Upkeep
from memory_assets_tests.agent_memory.test_session_promotion import upkeep as upkeep
from memory_assets_tests.recall.worked import Call, shell

SAID = "Never commit without signing."
THEN = "2026-03-01T09:00:00Z"


def says(upkeep: Upkeep, name: str = "1", said: str = SAID) -> str:
    """Write a session whose user says so."""
    return upkeep.session(name, Call(text=f"Look at it. {said}"), shell("ls"), cwd=APP)


def gateway(upkeep: Upkeep) -> MemoryGateway:
    """The gateway to what is about the project of the sessions."""
    return open_gateway(upkeep.components(), PROJECT)


def test_what_an_agent_wrote_outlives_a_session_that_says_it(upkeep: Upkeep) -> None:
    """It is not promoted, since it is on record, and the session is not named in its trail."""
    gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN, "c1")
    written = upkeep.remembered()
    session = says(upkeep)
    assert upkeep.night().promoted_from_sessions == 0
    upkeep.take_in()
    assert upkeep.remembered() == written
    upkeep.forget(session=session)
    assert upkeep.remembered() == written


def test_what_a_conversation_says_outlives_a_session_that_says_it(upkeep: Upkeep) -> None:
    """Also when upkeep promoted it from the conversation."""
    gateway(upkeep).append_history("c1", "user", SAID, 0, THEN)
    assert upkeep.night().promoted == 1
    session = says(upkeep)
    assert upkeep.night().promoted_from_sessions == 0
    upkeep.take_in()
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]


def test_what_was_promoted_is_an_agents_when_it_writes_it(upkeep: Upkeep) -> None:
    """Without the tag and the topic, and of the agent's conversation; it outlives the session."""
    session = says(upkeep)
    upkeep.night()
    written = gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN, "c1", tags=["git"])
    assert written.outcome == "renewed"
    upkeep.take_in()
    memory = upkeep.remembered()[SAID]
    assert (memory.tags, memory.entities, memory.source) == (("git",), (), "tool")
    assert memory.conversation_id == "c1"
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]


def test_what_was_promoted_is_a_conversations_when_it_says_it(upkeep: Upkeep) -> None:
    """And is forgotten with that."""
    session = says(upkeep)
    upkeep.night()
    gateway(upkeep).append_history("c1", "user", SAID, 0, THEN)
    assert upkeep.night().promoted == 1
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]
    upkeep.forget(conversation="c1")
    assert upkeep.remembered() == {}


def test_an_agents_memory_that_was_tagged_outlives_the_session(upkeep: Upkeep) -> None:
    """As an earlier version tagged what an agent had written and a session said again."""
    session = says(upkeep)
    upkeep.night()
    journal = upkeep.components().journal
    (promoted,) = upkeep.remembered().values()
    gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN)
    tagged = replace(promoted, tags=(seal(FROM_SESSIONS),))
    journal.put_memories([tagged])
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]


def test_what_an_agent_said_again_no_longer_names_a_forgotten_session(upkeep: Upkeep) -> None:
    """Its trail names the other session; no byte of the first is left."""
    gone, kept = says(upkeep, "1"), says(upkeep, "2")
    upkeep.night()
    gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN, "c1")
    upkeep.take_in()
    upkeep.forget(session=gone)
    (_, promoted, _) = upkeep.trail(SAID)
    assert promoted == ("promoted", "upkeep", (f"session::{kept}::turn::1",))
    upkeep.take_in()
    assert upkeep.files_with(gone) == []
    upkeep.forget(session=kept)
    assert [each[:2] for each in upkeep.trail(SAID)] == [("stored", "import"), ("renewed", "tool")]
