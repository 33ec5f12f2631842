"""The upkeep of what agents remember, what users say that becomes a memory, and its trail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.policy import MemoryPolicy
from memory_assets.agent_memory.promotion import promotable
from memory_assets.pipeline.agent_memory.upkeep import UpkeepReport, keep_up
from memory_assets.recall.agent_rows import trail_of
from memory_assets_tests.agent_memory.conftest import NOW, TOKEN, Agents

DAY = 86_400.0


def remembered(agents: Agents) -> list[str]:
    """The texts that a context has, the newest first."""
    return [str(each.memory.text) for each in agents.gateway().recall_memory("", 20)]


def trail(agents: Agents, memory_id: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """What happened to a memory: what, by whom, from what."""
    return [(each.what, each.who, each.of) for each in agents.components.journal.trail(memory_id)]


@pytest.mark.parametrize(
    ("confidence", "days", "faded"),
    [
        (0.7, 179.9, False),
        (0.7, 180.1, True),
        (1.0, 250, False),
        (1.0, 273, True),
        (0.9, -5, False),
    ],
)
def test_half_of_its_worth_goes_in_a_half_life(confidence: float, days: float, faded: bool) -> None:
    """What is worth less than half of what a memory must be to be stored has faded."""
    assert MemoryPolicy(half_life_days=180).has_faded(confidence, days) is faded
    assert not MemoryPolicy(half_life_days=None).has_faded(confidence, 10_000)


def test_what_has_faded_is_archived_and_comes_back(agents: Agents) -> None:
    """It is in no context, but listed, in the tables and not deleted; said again, it is back. What
    was said again stays."""
    gateway, journal = agents.gateway(), agents.components.journal
    agents.now = 1_795_424_400.0  # the time of NOW
    old = gateway.write_memory("The broker is RabbitMQ.", "fact", 0.9, NOW, "c1").memory_id
    for _ in range(2):  # of which the second is a retry, and no other mention
        kept = gateway.write_memory("The user likes tea.", "preference", 0.9, NOW).memory_id
    agents.now += 300 * DAY
    gateway.write_memory("The user likes tea.", "preference", 0.9, "2027-09-20T09:00:00Z")
    assert keep_up(agents.components) == UpkeepReport(2, 1, 1, 0)
    assert keep_up(agents.components) == UpkeepReport(2, 1, 0, 0)
    assert remembered(agents) == ["The user likes tea."]
    assert [each.memory_id for each in journal.memories(archived=False)] == [kept]
    assert len(journal.memory_states("")) == 2
    assert trail(agents, old) == [("stored", "tool", ("c1",)), ("archived", "upkeep", ())]
    assert [what for what, _, _ in trail(agents, kept)] == ["stored", "renewed"]
    shown = trail_of(agents.components, old)[1]
    assert shown["what"] == "archived" and "180 days" in shown["why"] and shown["at"][-1] == "Z"
    again = gateway.write_memory("The broker is RabbitMQ.", "fact", 0.9, "2027-09-20T09:00:00Z")
    assert (again.outcome, again.memory_id) == ("renewed", old)
    assert len(remembered(agents)) == 2 and journal.archived() == {}
    assert keep_up(agents.components).faded == 0


def test_what_was_stored_without_vectors_is_merged_with_them(agents: Agents) -> None:
    """Another wording goes into the oldest, with both in the trail; a contradiction and another
    type stay."""
    wordy = agents.without_vectors()
    stored = []
    for text, kind in (
        ("Timestamps are stored in UTC.", "fact"),
        ("The timestamps are saved as UTC.", "fact"),
        ("Timestamps are kept in UTC.", "decision"),
        ("Timestamps are stored in local time.", "fact"),
    ):
        written = wordy.gateway().write_memory(text, kind, 0.8, NOW)
        assert written.outcome == "stored"
        stored.append(written.memory_id)
        wordy.now += 2 * 3_600
    assert keep_up(wordy.components) == UpkeepReport(4, 0, 0, 0)
    assert keep_up(agents.components) == UpkeepReport(4, 1, 0, 1)
    oldest = agents.components.journal.memories({"memory_id": stored[0]})[0]
    assert oldest.also == ("The timestamps are saved as UTC.",)
    assert trail(agents, stored[0])[-1] == ("merged", "upkeep", (stored[1],))
    assert trail(agents, stored[1])[-1] == ("archived", "upkeep", (stored[0],))
    assert len(remembered(agents)) == 3


SAID = {
    "Never commit without signing.": "preference",
    "ok, please always answer in English": "preference",
    "From now on, run the linter before each commit.": "preference",
    "From now on always run the linter.": "preference",
    "From now on please use British spelling.": "preference",
    "I never want you to edit generated files.": "preference",
    "I want you to always sign commits.": "preference",
    "Make sure to never delete migrations.": "preference",
    "I prefer tabs over spaces in Makefiles.": "preference",
    "Remember that staging is in Frankfurt.": "fact",
    "In this project we use pnpm for packages.": "project",
    "We've decided to keep Postgres 15.": "decision",
    "Invalid themes must NEVER explode.": "project",
    "Do you remember that staging is in Frankfurt?": "",
    "never mind the tests": "",
    "Always happy to help with code.": "",
    "I would prefer not to wipe the database.": "",
    "I prefer that one over the others": "",
    "hm, i got a crash, that should never happen": "",
    "Always do it like the file above.": "",
    "From now on the build is broken.": "",
    "I never want to see this error again!": "",
    "Never worked for me either.": "",
    "You should never have deleted that file.": "",
    "We use it for now.": "",
    "If the build fails, never retry the upload.": "",
}
"""Sentences, and the types of memory that they are; "" is none."""


def test_a_sentence_says_for_itself_that_it_lasts() -> None:
    """In explicit words, understood alone; what leans on its moment or is not sure is none."""
    found = {said: promotable(said) for said in SAID}
    assert {said: each.type if each else "" for said, each in found.items()} == SAID


def test_promotion_is_asked_for_and_names_its_turn(tmp_path: Path, engines: dict[str, Any]) -> None:
    """Off, nothing is promoted. On, what a user typed is, once each, redacted, at most three in a
    window, with the turn in its trail; not what the assistant said. What was forgotten stays so."""
    given = {"embedder": "none"}
    agents = Agents(tmp_path / "memory", engines, given=given | {"promote": "off"})
    turns = (
        ("user", f"Never commit without signing. Remember that the key is {TOKEN}."),
        ("assistant", "Always run the linter before a commit."),
        ("user", "From now on, answer in English. I prefer tabs over spaces in Makefiles."),
    )
    for at, (role, text) in enumerate(turns):
        agents.gateway().append_history("c1", role, text, at, NOW)
    assert keep_up(agents.components).promoted == 0
    asked = Agents(agents.data_dir, engines, given=given | {"promote": "on"})
    assert keep_up(asked.components).promoted == 3
    journal = asked.components.journal
    made = {str(each.text): each for each in journal.memories()}
    assert len(made) == 3 and not any(TOKEN in text or "linter" in text for text in made)
    signing = made["Never commit without signing."]
    assert (signing.type, signing.conversation_id, signing.source) == ("preference", "c1", "chat")
    (turn,) = journal.tail("c1", 3)[:1]
    last = journal.trail(signing.memory_id)[-1]
    assert (last.what, last.of) == ("promoted", ("c1", f"message::{turn.message_id}"))
    journal.delete_memories([signing.memory_id])
    assert keep_up(asked.components).promoted == 0 and len(journal.memories()) == 2
