"""What the agent found out by the way, and what is left open."""

from __future__ import annotations

import pytest

from memory_assets_tests.observations.conftest import Make

ROOT = "/home/mara/code/harbor"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (
            "The gate_latch only reads the tide at noon. Let me fix that.",
            "The gate_latch only reads",
        ),
        (
            "Found the bug: ring() drops the keeper's name. I'm adding it.",
            "ring() drops the keeper's",
        ),
        ("gate.py 缺少 keeper 参数，导致铃不响。", "gate.py 缺少 keeper 参数"),
        ("`gate.py` では潮の値を読んでいないのが原因です。", "gate.py では潮の値を"),
        ("Der Riegel in `gate.py` fehlt, weil die Liste leer ist.", "Der Riegel in gate.py fehlt"),
        ("The hinge_pin needs `oil=True` — switching to that:", "The hinge_pin needs oil=True"),
    ],
)
def test_what_is_said_between_a_look_and_a_change_is_found(
    script: Make, said: str, title: str
) -> None:
    """In any message, of any turn; without its announcement, and what the agent does thereupon."""
    session = script().prompt("Let the gate open, please").touch("Read", f"{ROOT}/src/gate.py")
    session.say(said).touch("Edit", f"{ROOT}/src/gate.py")
    assert [one.title.startswith(title) for one in session.observed()] == [True]


@pytest.mark.parametrize(
    "said",
    [
        "Let me look at the gate_latch, which only reads the tide.",
        "Tests fail as expected, since ring() is not there.",
        "Now the gate_latch needs a test.",
        "The gate_latch might be too small because of the tide.",
        "I need to pass the keeper, because ring() requires it.",
    ],
)
def test_plans_progress_and_guesses_are_no_findings(script: Make, said: str) -> None:
    """Wherever they stand."""
    session = script().prompt("Let the gate open, please").touch("Read", f"{ROOT}/src/gate.py")
    assert session.say(said).touch("Edit", f"{ROOT}/src/gate.py").observed() == []


@pytest.mark.parametrize(
    "said",
    [
        "Hinge 2.0 is too heavy for oak_post.",
        "The push was refused because tide.bin exceeds 100 MB.",
        "`tide.bin` 超过 100MB 限制。",
    ],
)
def test_the_reason_of_a_failure_is_found_whatever_follows(script: Make, said: str) -> None:
    """With the failure as a fact; a failure without its reason tells nothing."""
    session = script().prompt("Please hang it").run("make gate", "error: no", error=True)
    (made,) = session.say(said).run("ls").say("Done.").observed()
    assert made.type == "discovery"
    assert made.facts[1].startswith("Failed before: make gate")
    other = script().prompt("Please hang it").run("make gate", "error: no", error=True)
    assert other.say("make gate still fails with exit 1.").run("ls").say("Hm.").observed() == []


def test_a_message_is_one_observation_with_all_that_it_found(script: Make) -> None:
    """A review's findings by their labels, and what is to be noted."""
    session = script().prompt("Please review it").touch("Read", f"{ROOT}/src/gate.py")
    review = (
        "Here it is.\n\n- Critical: ring() in gate.py:12 drops the name\n"
        "- Low: the name of bell_rope\n\nNote: hinge.py is not wired to the gate."
    )
    (made,) = session.say(review).observed()
    assert made.title == "ring() in gate.py:12 drops the name"
    assert "hinge.py is not wired to the gate." in made.facts


@pytest.mark.parametrize(
    ("closing", "left"),
    [
        ("The gate opens. `hinge.py` is not tested yet.", "Left open: hinge.py is not tested yet."),
        ("All done. The tag v1.2 is not pushed.", "Left open: The tag v1.2 is not pushed."),
        ("The latch_test was failing before, not yet fixed then.", None),
    ],
)
def test_what_the_last_message_leaves_open_is_told_until_a_later_turn(
    script: Make, closing: str, left: str | None
) -> None:
    """In its words, if it stands alone."""
    session = script().prompt("Let the gate open, please").say(closing)
    assert [one.title for one in session.observed()] == ([left] if left else [])
    assert session.prompt("Please go on").say("Fine.").observed() == []


@pytest.mark.parametrize(
    "asked",
    ["Add a bell that rings at night", "Implement the list of keepers", "请 add"],
)
def test_work_that_no_report_tells_is_told_by_its_request(script: Make, asked: str) -> None:
    """If it was much, and the request names it."""
    session = script().prompt(asked)
    for name in ("bell", "rope", "post"):
        session.touch("Edit", f"{ROOT}/src/{name}.py")
    titles = [one.title for one in session.observed()]
    assert titles == ([] if asked == "请 add" else [asked])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Hang a red bell", 'Revert "Hang a red bell"'),
        ("probe: deliberately failing gate", "probe: shut again, expected to fail"),
    ],
)
def test_commits_that_the_session_reverts_are_no_observations(
    script: Make, first: str, second: str
) -> None:
    """Nor those that are to fail."""
    session = script().prompt("Please try").touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f"git commit -am '{first}'", f"[main 1a2b3c4] {first}\n 1 file changed")
    session.touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f"git commit -am '{second}'", f"[main 2b3c4d5] {second}\n 1 file changed")
    assert session.observed() == []


@pytest.mark.parametrize(
    ("said", "is_one"),
    [
        ("the only thing is i dont want to pay for a key", True),
        ("gtコマンドは使わないで。", True),
        ("教我怎么开门，但不要直接给出代码", True),
        ("Bitte den Riegel nicht ölen", True),
        ("as always never push private names, and be quick", True),
        ("Don't push it yet", False),
        ("why don't the gates open?", False),
        ("这个门能不能打开吗？", False),
    ],
)
def test_what_a_person_rules_out_is_a_decision(script: Make, said: str, is_one: bool) -> None:
    """In any language."""
    assert bool(script().prompt(said).say("Fine.").observed("decision")) is is_one


def test_what_a_long_prompt_rules_out_is_an_instruction_of_the_moment(script: Make) -> None:
    """Most are written by programs."""
    long = "Do not use a chain for the gate.\n" + "The harbour has a gate. " * 40
    assert script().prompt(long).say("Fine.").observed() == []
