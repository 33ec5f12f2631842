"""What users say in conversations, to be remembered, becomes memories; if a setting says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory_assets.agent_memory.promotion import promotable
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets_tests.agent_memory.conftest import NOW, TOKEN, Agents

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
