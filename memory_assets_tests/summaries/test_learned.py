"""What a summary says was learned."""

from __future__ import annotations

import pytest

from memory_assets.redacted_text import seal
from memory_assets_tests.summaries.conftest import Make

CAUSE = "The root cause is the idle transaction in the exporter."


def test_learned_holds_the_sentences_that_state_a_cause(script: Make) -> None:
    """Plans and progress reports are not findings."""
    session = script().prompt("why does it hang?")
    session.say("Let me look at the lock queue because it may tell. I'll check pg_stat_activity.")
    session.say(f"I looked around. {CAUSE} The weather is fine in most of the places.")
    assert session.summary().learned == CAUSE


def test_a_sentence_that_points_back_brings_what_it_points_to(script: Make) -> None:
    """ "That is why" alone says nothing."""
    session = script().prompt("why does it hang?")
    session.say("The ALTER waits behind an idle reader. That is why the whole API times out.")
    assert session.summary().learned == (
        "The ALTER waits behind an idle reader. That is why the whole API times out."
    )


def test_an_answer_is_what_was_learned_where_nothing_was_done(script: Make) -> None:
    """A question and its answer are a whole session."""
    session = script().prompt("how do I rename the remote?")
    session.say("Run git remote set-url with the new address of the repository.")
    assert session.summary().learned.startswith("Run git remote set-url")


def test_subagents_prose_is_not_the_agents(script: Make) -> None:
    """Only what came back to the main conversation was said to the user."""
    session = script().prompt("why?").say(CAUSE, agent_id="b41")
    assert session.summary().learned == ""


REVIEW = """Reviewed the branch.

**Findings**
1. Low: the help of the pump names a flag that is gone.
2. High: the gate opens for every ship that has no flag. It should ask first.
3. The tide table is read twice without a cache.
4. The bell is made of brass.
"""


def test_a_review_is_learned_by_its_findings(script: Make) -> None:
    """The gravest first, one sentence each; of those without a label, what says that something is
    amiss. After another request only a heading that says that it was found makes it one."""
    session = script().prompt("can you review the branch?").say(REVIEW)
    learned = session.summary().learned
    assert learned.startswith(
        "High: the gate opens for every ship that has no flag. Low: the help of the pump names a "
        "flag that is gone. The tide table is read twice without a cache."
    )
    assert "brass" not in learned
    merged = script().prompt("merge the branch").say(REVIEW.replace("Findings", "Ships"))
    assert "High" not in merged.summary().learned
    table = (
        "3 bugs found, all fixed:\n| bug | file |\n|--|--|\n| the gate never asks a ship | g.py |"
    )
    assert (
        script().prompt("hm").say(table).summary().learned == "the gate never asks a ship — g.py."
    )
    graded = (
        "### 1. The gate lets every ship in without a flag\n\n**Severity: Medium**\n\n"
        "Places:\n- `gate.py:12`\n\n**2. The bell is not rung at night.** `bell.py` is silent."
    )
    learned = script().prompt("review it").say(f"## Worth fixing\n{graded}").summary().learned
    assert learned.startswith("The gate lets every ship in without a flag.")


@pytest.mark.parametrize(
    ("said", "changed", "is_past"),
    [
        ("gate.py never asks a ship for its flag at night.", "src/gate.py", True),
        (
            "There is no lamp in gate.py, so each ship waits because of it.",
            "src/gate.py",
            True,
        ),
        ("ringBell() is never called at night because the tower is closed.", "tower.py", True),
        ("gate.py never asks a ship for its flag at night.", "src/door.py", False),
        ("gate.py never asked, and was closed to each ship.", "src/gate.py", False),
        ("Ships do not read the lamp that gate.py hangs out.", "src/gate.py", False),
        ("gate.py asks a ship for its flag at noon and at night.", "src/gate.py", False),
    ],
)
def test_a_state_that_later_turns_changed_is_told_as_past(
    script: Make, said: str, changed: str, is_past: bool
) -> None:
    """If a sentence says of a file, or of a name in a replaced text, that something is amiss."""
    session = script().prompt("what does the gate do?").say(said).prompt("do the next thing")
    edit = f"file_path: {changed}\nold_string: ringBell()\nnew_string: x"
    session.call("Edit", edit, "ok", paths=(seal(changed),)).say("Done.")
    told = f"{said[:-1]} (before later changes)." if is_past else said
    denies_elsewhere = not is_past and " not " in said
    assert session.summary().learned == ("" if denies_elsewhere else told)


def test_the_findings_of_a_review_that_later_turns_changed_are_told_as_past(script: Make) -> None:
    """All of them: they were found before that."""
    text = "**Findings**\n1. High: gate.py opens for every ship.\n2. Low: the bell is too quiet.\n"
    session = script().prompt("can you review the branch?").say(text)
    found = "High: gate.py opens for every ship. Low: the bell is too quiet."
    assert session.summary().learned == found
    session.prompt("fix the first one").touch("Edit", "src/gate.py").say("Fixed the gate.")
    assert session.summary().learned == f"Before later changes: {found}"


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("I found no blockers in the two gates.", "I found no blockers in the two gates."),
        ("Note: All prior comments look addressed there.", "Note: All prior"),
        ("No issues, except that the gate is open at night.", ""),
    ],
)
def test_the_verdict_of_a_review_that_finds_nothing_is_learned(
    script: Make, said: str, learned: str
) -> None:
    """Also where a notice of the program stands between the request and the report."""
    session = script().prompt("Review the two gates of the harbour. Read only.")
    session.touch("Read", "gate.py").prompt("Tool budget limit reached after 18 calls. Finish.")
    told = session.say(said).summary().learned
    assert told.startswith(learned) if learned else told == ""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("write a short message to the harbour master", "The gate is closed because of the ice."),
        ("how about a poem? compose a poem", "The light of the harbour is pewter at night there."),
        ("why is it dark?", "Here's a reply you can send:\n\nIt is dark because the wick is wet."),
        ("why is it dark?", "**Draft:**\n\nThe lamp is dark because the wick of it is wet."),
    ],
)
def test_what_stands_in_a_text_for_somebody_else_was_not_found_out(
    script: Make, asked: str, said: str
) -> None:
    """The agent wrote it for the person to send; nor what stands in its next version."""
    session = script().prompt(asked).say(said)
    assert session.summary().learned == ""
    if asked != "why is it dark?":
        session.prompt("can you make it more formal?").say("The gate is closed because of storms.")
        assert session.summary().learned == ""


@pytest.mark.parametrize(
    "said",
    [
        "It looks like it half works because the reader is idle all day.",
        "But it waits behind the reader because the queue is first come first served.",
        '::code-comment{title="The reader hangs because it is idle" file="a.py"}',
        "Option 1: the reader is closed because it is idle for the whole day.",
        "Keeps the reader open because it is idle for the whole day.",
        'It says "the reader is closed because it is idle." And it means that.',
        "The issue is that the Edit tool wants the whole line of the reader.",
        "The issue is that mypy takes the reader of the harbour for a string.",
        "decision of the harbour, because the reader is idle for the whole day.",
        "Adding a reader to the harbour because the other one is idle.",
        "I incorrectly assumed that the reader is closed because it is idle.",
        "Once you deploy the exporter the reader is closed because it is idle.",
    ],
)
def test_what_cannot_be_read_alone_is_not_learned(script: Make, said: str) -> None:
    """Its subject stands elsewhere, it is an option or over when the work is, or was
    written for a program."""
    session = script().prompt("look at the reader").run("cat a.py").say(said)
    assert session.summary().learned == ""


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("**Problem:** The exporter read every ship of a harbour twice.", "Problem: The exporter"),
        ("**Bug 1 - the gate**: It took every ship for its own.", "Bug 1 - the gate: It took"),
        ("## Root cause\n\nThe lamp and the bell share one wire.", "The lamp and the bell"),
        ("## What it does well\n\nIt never asks twice because it is patient.", ""),
        ("1. **List** - Added a guard so the lamp is never lit twice.", ""),
        ("The gate now asks the bell instead of the lamp.", ""),
        ("The export failed because the tide (low, ebb, etc.) was not set.", "The export failed"),
        ("The issue is likely that the exporter closes the reader of the harbour.", ""),
        ("The problem is almost certainly that two harbours share one reader.", ""),
        ("## Changes\n\n- `lamp.py` asks the bell, so the gate is never lit twice.", ""),
        ("The fix is a one-line change in lamp.py because the wick was wet.", ""),
        ("Bottom line: the lamp and the bell share one wire.", "Bottom line: the lamp and"),
    ],
)
def test_what_is_called_a_problem_is_learned(script: Make, said: str, learned: str) -> None:
    """By its label or heading, without a causal word; not what was praised, guessed or changed."""
    session = script().prompt("mend the harbour").touch("Edit", "harbour.py").say(said)
    summary = session.summary().learned
    assert summary.startswith(learned) if learned else summary == ""


@pytest.mark.parametrize(
    "question", ["how does the gate know a ship?", "look into how the gate knows a ship"]
)
def test_an_earlier_question_is_answered_too(script: Make, question: str) -> None:
    """Where nothing was done, by sentences of its own turn that are neither options nor offers."""
    answer = "The gate knows a ship by its flag. Option 2 is a bell. I can paint it.\n- Red it is."
    session = script().prompt(question).say(answer).prompt("thank you").say("You are welcome.")
    assert session.summary().learned == "The gate knows a ship by its flag."


@pytest.mark.parametrize(
    ("question", "answer", "is_told"),
    [
        ("Please explain how it knows one", "The gate knows a ship by its flag.", True),
        ("does the gate know a ship?", "The gate knows a ship by its flag.", True),
        ("does the gate ring?", "The gate does not ring when a ship comes in.", False),
        ("Is there a bell?", "There is no bell at the gate of the harbour.", False),
        ("Gibt es eine Glocke?", "Am Tor des Hafens ist keine Glocke montiert.", False),
        ("有钟吗？", "港口的大门上现在没有安装任何的钟。", False),
    ],
)
def test_a_no_is_told_only_if_no_later_turn_changes_anything(
    script: Make, question: str, answer: str, is_told: bool
) -> None:
    """What is built next makes it untrue; what something is or does, stays."""
    session = script().prompt(question).say(answer)
    assert session.summary().learned.rstrip("。.") == answer.rstrip("。.")
    session.prompt("paint the gate").touch("Edit", "gate.py").say("Painted the gate red.")
    assert bool(session.summary().learned) is is_told


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("The reader kept one handle open for all ships. I now close it.", "The reader kept one"),
        ("Two ships shared one berth in the table. Added a key.", "Two ships shared one"),
        ("I closed the handle of the reader. It works.", ""),
        ("Here is how the export looks from today on.", ""),
    ],
)
def test_how_the_report_on_a_problem_begins_is_its_explanation(
    script: Make, said: str, learned: str
) -> None:
    """In any words, if it tells neither of the deed nor of what follows."""
    session = script().prompt("the export crashes with an error").touch("Edit", "a.py").say(said)
    told = session.summary().learned
    assert told.startswith(learned) if learned else told == ""


def test_a_table_says_by_the_names_of_its_columns_what_was_a_cause(script: Make) -> None:
    """A row has no words for that."""
    for names in ("Symptom | Cause", "现象 | 原因", "Symptom | Ursache"):
        table = f"| {names} |\n|--|--|\n| The lamp is dark at night | a wet wick in the lamp |"
        session = script().prompt("look at it").touch("Edit", "a.py").say(f"Done.\n\n{table}")
        assert session.summary().learned.startswith("The lamp is dark at night")
