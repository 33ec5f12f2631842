"""What is observed of questions, reviews and advice: sessions that change nothing."""

from __future__ import annotations

import pytest

from memory_assets_tests.observations.conftest import Make

ROOT = "/home/mara/code/harbor"
ASKED = "Does the harbor-bell ring in fog?"
ANSWER = "The harbor-bell does not ring in fog, because its sensor needs a clear line of sight."
MORE = " Its clapper is of bronze, and the fog horn of the pier has a battery of its own for that."


@pytest.mark.parametrize(
    ("asked", "said", "told"),
    [
        (ASKED, ANSWER, 1),
        ("Please check if the bell rings in fog", ANSWER, 1),
        (
            "鐘は霧の中でも鳴りますか",
            "結論：harbor-bell は霧では鳴りません。センサーが必要。",
            1,
        ),
        ("Ring the bell", ANSWER, 0),
        (
            "Ring it in fog",
            "HarborBell doesn't support ringing in any fog at all, as its sensor is blind.",
            1,
        ),
        ("Is the branch of the bell pushed?", ANSWER, 0),
        ("What should we do next?", ANSWER, 0),
        (ASKED, "The harbor-bell might not ring in fog, because its sensor is blind.", 0),
        (ASKED, "The harbor-bell probably does not ring in fog at all.", 0),
        (ASKED, "I checked that the harbor-bell does not ring in fog.", 0),
        (ASKED, "Let me look at how the harbor-bell does not ring.", 0),
        (ASKED, "You need to mount the harbor-bell only on the pier.", 0),
        (ASKED, "The harbor-bell is in the yard of the harbor-master.", 0),
        (ASKED, "Bottom line: the harbor-bell is in the yard of the master.", 1),
        (ASKED, "The harbor-bell has no commit on this branch yet, only a stash.", 0),
        (ASKED, "Does the harbor-bell not ring because its sensor is blind?", 0),
    ],
)
def test_the_answer_to_a_question_is_a_discovery(
    script: Make, asked: str, said: str, told: int
) -> None:
    """One that says a limit or a reason, or is called the conclusion: not a guess, a plan, what
    the agent did, or what holds for the moment."""
    filler = "ベルの音は港の端まで届く大きさであり、霧笛は別の電源で動いています。" * 5
    session = script().prompt(asked).say(said + (MORE if said.isascii() else filler))
    assert [one.type for one in session.observed()] == ["discovery"] * told


def test_an_answer_is_told_with_its_question(script: Make) -> None:
    """It may need it: "No, ..." says nothing alone."""
    session = script().prompt(ASKED).say("No, it does not ring: HarborBell needs sight." + MORE * 2)
    (found,) = session.observed()
    assert found.title == f"{ASKED} → No, it does not ring: HarborBell needs sight."
    assert f"Asked: {ASKED}" in found.narrative


def test_a_question_without_a_reply_belongs_to_the_next_prompt(script: Make) -> None:
    """It was typed while the agent looked."""
    session = script().prompt(ASKED).run("cat bell.py").prompt("use the manual").say(ANSWER + MORE)
    assert [one.turn_index for one in session.observed()] == [1]
    assert ASKED in session.observed()[0].narrative


@pytest.mark.parametrize(
    ("path", "stays"), [("src/bell.py", True), ("src/harbor-bell", False), ("docs/bell.md", True)]
)
def test_what_a_later_turn_changes_is_no_answer_any_more(
    script: Make, path: str, stays: bool
) -> None:
    """If the answer names its file; documents change nothing."""
    session = script().prompt(ASKED).say(ANSWER + MORE).prompt("Mend it")
    session.touch("Edit", f"{ROOT}/{path}").say("Hm.")
    assert bool(session.observed("discovery")) is stays


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("no, that's not it", "Hm."),
        ("Are you sure?", "Yes."),
        ("That can't be right, I heard it", "Hm."),
        ("I heard it ring in fog", "You're right. The harbor-bell rings in fog, sensor or not."),
        ("Look again", "I was wrong: the harbor-bell does ring in fog; its sensor is for rain."),
        ("もう一度見て", "失礼しました。harbor-bell ring sensor fog は鳴ります。"),
    ],
)
def test_an_answer_that_is_doubted_or_taken_back_is_none(
    script: Make, prompt: str, reply: str
) -> None:
    """By the next prompt, or by the agent, also later."""
    session = script().prompt(ASKED).say(ANSWER + MORE)
    assert len(session.observed()) == 1
    assert session.prompt(prompt).say(reply).observed() == []


@pytest.mark.parametrize(
    ("end", "prompt", "title"),
    [
        ("", "ok, let's do that", "Agreed: hang the HarborBell on a chain of iron at the pier."),
        ("Shall I go on?", "yes", "Agreed: hang the HarborBell on a chain of iron at the pier."),
        ("Should I push first?", "yes", "Recommended: hang the HarborBell on a chain of"),
        ("", "Yes please", "Agreed: hang the HarborBell on a chain of iron at the pier."),
        ("", "And the pier?", "Recommended: hang the HarborBell on a chain of iron at the pier."),
        ("", "ok, but let's use rope", "Recommended: hang the HarborBell on a chain of iron"),
        ("", "nah, I'd rather use rope", ""),
        ("", "ok let's do option B", ""),
        ("", "yes, use rope", ""),
        ("", "ok, go with 2", ""),
        ("", "yes, use the chain", "Agreed: hang the HarborBell on a chain of iron at the pier."),
        ("", "ok, do as you suggest", "Agreed: hang the HarborBell on a chain of iron at"),
        ("", "Use rope instead", ""),
    ],
)
def test_what_is_recommended_is_told_as_that(
    script: Make, end: str, prompt: str, title: str
) -> None:
    """As a decision if the next prompt agrees to it, and to nothing else; not if it objects."""
    advice = "My recommendation: hang the HarborBell on a chain of iron at the pier. "
    session = script().prompt("How shall it hang?").say(advice + end).prompt(prompt).say("Hm.")
    found = session.observed()
    assert [one.type for one in found] == (
        [] if not title else ["decision" if title.startswith("Agreed") else "discovery"]
    )
    assert all(one.title.startswith(title) for one in found)


@pytest.mark.parametrize(
    "advice",
    [
        "I recommend B.",
        "My pick: (c) — there is no bell that anybody knows of in HarborYard.",
        "I recommend against the HarborBell at the pier of the yard.",
        "I'd recommend the chain for HarborBell at the pier. I'd use rope for HarborBell in rain.",
        "Recommendation: commit the HarborBell to the branch of the pier now.",
    ],
)
def test_advice_that_says_nothing_alone_is_none(script: Make, advice: str) -> None:
    """A letter, a step of the work, or one of several."""
    session = script().prompt("How shall it hang?").say(advice).prompt("yes").say("Fine.")
    assert session.observed() == []


def test_what_the_agent_would_do_is_told_if_it_is_agreed_to(script: Make) -> None:
    """And not taken back later; it is no conclusion else."""
    session = script().prompt("Is the rope misleading?").say("I'd drop the rope of the HarborBell.")
    assert session.observed() == []
    found = session.prompt("yes please").say("Fine.").observed()
    assert [one.title for one in found] == ["Agreed: drop the rope of the HarborBell."]
    session.prompt("Actually, let's keep the rope of the HarborBell").say("Fine.")
    assert "Agreed" not in "".join(one.title for one in session.observed())


def test_what_a_review_found_is_one_discovery(script: Make) -> None:
    """Of the listed findings; not once a later turn changes something."""
    session = script().prompt("Review the gate").run("cat gate.py")
    session.say(
        "## Findings\n- High: `gate.py` drops the key of the caller on error.\n"
        "- Medium: `hinge.py` leaks the oil.\n\n## Good\n- `yard.py` is well written."
    )
    (found,) = session.observed()
    assert found.title == "gate.py drops the key of the caller on error."
    assert "hinge.py leaks the oil" in found.narrative
    assert "yard.py" not in found.text
    session.prompt("Mend them").touch("Edit", f"{ROOT}/src/gate.py").say("Hm.")
    assert session.observed("discovery") == []
