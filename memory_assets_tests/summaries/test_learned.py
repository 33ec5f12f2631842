"""What a summary says was learned."""

from __future__ import annotations

import pytest

from memory_assets_tests.summaries.conftest import Make
from memory_assets_tests.sweep import sweep

CAUSE = "The root cause is the idle transaction in the exporter."


def test_learned_holds_the_sentences_that_state_a_cause(script: Make) -> None:
    """Plans and progress reports are not findings."""
    session = script().prompt("why does it hang?")
    session.say("Let me look at the lock queue because it may tell. I'll check pg_stat_activity.")
    session.say(f"I looked around. {CAUSE} The weather is fine in most of the places.")
    assert session.summary().learned == CAUSE


def test_an_answer_is_what_was_learned_where_nothing_was_done(script: Make) -> None:
    """A question and its answer are a whole session."""
    session = script().prompt("how do I rename the remote?")
    session.say("Run git remote set-url with the new address of the repository.")
    assert session.summary().learned.startswith("Run git remote set-url")


def test_work_need_not_have_taught_anything(script: Make) -> None:
    """What git says of it is learned only where that is explained."""
    session = script().prompt("paint the lamp").touch("Edit", "lamp.py")
    assert session.say("The lamp of the gate is red.").summary().learned == ""
    found = "The root cause was that `reader.py` never closed the idle transaction of the export."
    stale = "The pre-commit hook had failed because two clones were left in the working tree."
    session.say(f"{found} Only the two lamps are committed, the rest is unstaged. {stale}")
    learned = session.summary().learned
    assert "never closed" in learned
    assert "two clones" in learned
    assert "unstaged" not in learned


def test_subagents_prose_is_not_the_agents(script: Make) -> None:
    """Only what came back to the main conversation was said to the user."""
    session = script().prompt("why?").say(CAUSE, agent_id="b41")
    assert session.summary().learned == ""


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("I found no blockers in the two gates.", "I found no blockers in the two gates."),
        ("Note: All prior comments look addressed there.", "Note: All prior"),
        ("No lamp burns at the gate, except at night.", "No lamp burns at the gate"),
    ],
)
def test_the_verdict_of_a_review_that_finds_nothing_is_learned(
    script: Make, said: str, learned: str
) -> None:
    """Also where a notice of the program stands between the request and the report."""
    session = script().prompt("Review the two gates of the harbour. Read only.")
    session.touch("Read", "gate.py").prompt("Tool budget limit reached after 18 calls. Finish.")
    told = session.say(said).summary().learned
    assert told.startswith(learned)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("write a short message to the harbour master", "The gate is closed because of the ice."),
        ("how about a poem? compose a poem", "The light of the harbour is pewter at night there."),
    ],
)
def test_what_stands_in_a_text_for_somebody_else_was_not_found_out(
    script: Make, asked: str, said: str
) -> None:
    """The agent wrote it for the person to send; nor what stands in its next version."""
    session = script().prompt(asked).say(said)
    assert session.summary().learned == ""
    session.prompt("can you make it more formal?").say("The gate is closed because of storms.")
    assert session.summary().learned == ""


@sweep(
    "said",
    [
        "It looks like it half works because the reader is idle all day.",
        "But it waits behind the reader because the queue is first come first served.",
        '::code-comment{title="The reader hangs because it is idle" file="a.py"}',
        "Option 1: the reader is closed because it is idle for the whole day.",
        "Keeps the reader open because it is idle for the whole day.",
        'It says "the reader is closed because it is idle." And it means that.',
        "No, the reader of the harbour was idle for the whole day because of the ice.",
        "I changed the harbour:\n\n- the reader was idle because nobody ever called the other one.",
        "`reader was idle because nobody ever called the other one`",
        "decision of the harbour, because the reader is idle for the whole day.",
        "Adding a reader to the harbour because the other one is idle.",
    ],
)
def test_what_cannot_be_read_alone_is_not_learned(script: Make, said: str) -> None:
    """Its subject stands elsewhere, it is an option or over when the work is, or was
    written for a program."""
    session = script().prompt("look at the reader").run("cat a.py").say(said)
    assert session.summary().learned == ""


def test_a_review_is_learned_by_its_findings(script: Make) -> None:
    """What is listed below such a heading and says that something is amiss, before what is well."""
    session = script().prompt("can you review the branch?")
    session.say(
        "I read the changes of the branch.\n\n"
        "## Findings\n\n"
        "- High: `gate.py:12` opens the gate for every ship that has no flag, because the check "
        "is never called.\n"
        "- Medium: `tide.py` reads the table of the tides twice without a cache.\n\n"
        "## Strengths\n\n- Good names.\n- Nice bell."
    )
    learned = session.summary().learned
    assert "opens the gate for every ship" in learned
    assert "reads the table of the tides twice" in learned
    assert "bell" not in learned


@pytest.mark.parametrize("said", ["Do you want me to close the reader because it is idle?"])
def test_an_offer_or_a_question_is_not_learned(script: Make, said: str) -> None:
    """Whatever reason it gives."""
    session = script().prompt("why does it hang?").say(f"{CAUSE} {said}")
    assert session.summary().learned == CAUSE


def test_one_sentence_of_each_piece_of_work_comes_before_a_second_one(script: Make) -> None:
    """Each further one of a turn counts less."""
    session = script().prompt("why does it hang?")
    session.say(f"{CAUSE} The problem is that the reader of the harbour is closed too late.")
    session.prompt("why is the lamp dark?")
    session.say("The root cause is the wet wick in the lamp of the tower.")
    learned = session.summary().learned
    assert "exporter" in learned and "wick" in learned


def test_a_state_that_a_later_turn_tells_anew_is_not_told(script: Make) -> None:
    """Sentences on how the same thing is, by their first words."""
    session = script().prompt("why is it dark?")
    session.say("The lamp of the gate is dark because the wick is wet.")
    session.prompt("and today?").say("The lamp of the gate is bright because the wick was dried.")
    learned = session.summary().learned
    assert learned == "The lamp of the gate is bright because the wick was dried."


def test_an_option_is_told_below_its_heading(script: Make) -> None:
    """What it says is of the option, not of the lamp as it is."""
    said = "## Option 2: Dry the wick\n\nThe cause is the wet wick, because the store leaks."
    learned = script().prompt("why is the lamp out?").say(said).summary().learned
    assert learned.startswith("Option 2: Dry the wick: The cause is the wet wick")


def test_a_guess_before_changes_is_not_told(script: Make) -> None:
    """The work showed what it was."""
    session = script().prompt("why is the lamp out?")
    session.say("The cause is probably the wet wick, because the store leaks.")
    assert not session.prompt("mend it").touch("Edit", "lamp.py").say("It is on.").summary().learned
