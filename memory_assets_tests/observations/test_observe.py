"""What is observed in a session, and what is not."""

from __future__ import annotations

import pytest

from memory_assets_tests.observations.conftest import Make

FAILED = "FAILED tests/test_a.py::test_gate - AssertionError: the gate is shut\n1 failed"


def test_an_error_and_what_ended_it_is_a_bugfix(script: Make) -> None:
    """With the failure, the files changed in between, why, and both turns."""
    session = (
        script().prompt("Why does the gate test fail?").run("pytest tests", FAILED, error=True)
    )
    session.say("The root cause is that the hinge was never oiled in the first place.")
    session.prompt("Then fix the hinge, please").touch("Edit", f"{ROOT}/src/hinge.py")
    (fix,) = session.run("pytest tests", "1 passed").observed("bugfix")
    assert "the gate is shut" in fix.title and "hinge.py" in fix.title
    assert "the hinge was never oiled" in fix.narrative
    assert fix.files_modified == ("src/hinge.py",)
    assert fix.turn_ids == ("session::s1::turn::0", "session::s1::turn::1")
    assert fix.prompt_ids == ("prompt::s1::0", "prompt::s1::1")
    assert fix.turn_id == "session::s1::turn::1"
    assert fix.id == f"observation::s1::{session.records[-1].seq}"
    assert fix.timestamp and fix.ended_at and fix.timestamp < fix.ended_at


ROOT = "/home/mara/code/harbor"


@pytest.mark.parametrize(
    ("path", "command", "kind"),
    [
        ("src/hinge.py", "pytest tests", "bugfix"),
        ("tests/test_a.py", "pytest tests", "change"),
        ("src/hinge.py", "npm run lint", "change"),
    ],
)
def test_the_type_of_a_fix_follows_its_files(
    script: Make, path: str, command: str, kind: str
) -> None:
    """Tests alone, or what a linter wanted, are no bug of the product."""
    session = script().prompt("Make it green please").run(command, FAILED, error=True)
    session.touch("Edit", f"{ROOT}/{path}").run(command, "all good")
    fixes = [one for one in session.observed() if "fixed by" in one.title]
    assert [one.type for one in fixes] == [kind]


def test_another_command_that_worked_after_failures_is_a_discovery(script: Make) -> None:
    """No file was changed: the command itself is what is worth knowing."""
    session = script().prompt("Push the branch please")
    session.run("git push", "error: failed to push some refs to 'origin'", error=True)
    session.run("git pull --rebase", "Successfully rebased").run("git push", "main -> main")
    (found,) = session.observed()
    assert found.type == "discovery"
    assert "git pull --rebase" in found.title and "failed to push" in found.title
    assert "gotcha" in found.concepts


@pytest.mark.parametrize(
    "case", ["by itself", "elsewhere", "moving about", "not ended", "says nothing"]
)
def test_an_error_that_nothing_ended_is_no_observation(script: Make, case: str) -> None:
    """Run again without a change, in another directory, or never well."""
    session = script().prompt("Run the tests please")
    command, output = "pytest tests", FAILED
    if case == "moving about":
        command, output = "git checkout -b gate", "fatal: a branch named 'gate' already exists"
    if case == "says nothing":
        output = "FAIL"
    session.run(command, output, error=True)
    if case in ("elsewhere", "moving about", "says nothing"):
        session.touch("Edit", f"{ROOT}/src/hinge.py")
    if case == "elsewhere":
        command = "cd other && pytest tests"
    if case != "not ended":
        session.run(command, "fine")
    assert [one for one in session.observed() if "fixed by" in one.title] == []


@pytest.mark.parametrize(
    ("subject", "path", "kind"),
    [
        ("feat(gate): open by voice", "src/gate.py", "feature"),
        ("fix: close the gate at night", "src/gate.py", "bugfix"),
        ("docs: say how the gate opens", "docs/gate.md", "change"),
        ("Add a gate", "src/gate.py", "feature"),
        ("Add a gate", "docs/gate.md", "change"),
        ("Add tests for the gate", "src/gate.py", "change"),
        ("Fix the hinge of the gate", "src/gate.py", "bugfix"),
        ("Don't drop the key of the caller", "src/gate.py", "bugfix"),
        ("Extract the hinge from the gate", "src/gate.py", "refactor"),
        ("gate: add a bell; update README", "src/gate.py", "feature"),
        ("Bump the version", "src/gate.py", "change"),
    ],
)
def test_a_commit_is_observed_with_its_type(
    script: Make, subject: str, path: str, kind: str
) -> None:
    """By conventional prefix, else by the verb and by what files were changed."""
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/{path}")
    session.run(f'git commit -am "{subject}"', f"[main 1a2b3c4] {subject}\n 1 file changed")
    (made,) = session.observed()
    assert (made.type, made.title) == (kind, subject)
    assert made.files_modified == (path,)
    assert made.facts[0] == "Commit 1a2b3c4 on main."
    assert "Let the gate open" in made.narrative


def test_a_commit_says_why_in_the_words_of_its_message(script: Make) -> None:
    """And of the request that was worked on before "commit it", with both turns."""
    session = script().prompt("The gate squeaks every night, do something about it")
    session.touch("Edit", f"{ROOT}/src/hinge.py").prompt("commit and push")
    message = "Oil the hinge\n\nThe hinge was dry since winter.\n\nCo-Authored-By: Claude <c@x>"
    command = f"git commit -am \"$(cat <<'EOF'\n{message}\nEOF\n)\""
    session.run(command, "[main 1a2b3c4] Oil the hinge")
    made = next(one for one in session.observed() if one.title == "Oil the hinge")
    assert "The hinge was dry since winter." in made.narrative
    assert "The gate squeaks every night" in made.narrative
    assert "Co-Authored" not in made.text
    assert len(made.turn_ids) == 2


def test_an_amended_commit_is_observed_once(script: Make) -> None:
    """As it last was."""
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/src/gate.py")
    session.run('git commit -am "Add a gate"', "[main 1a2b3c4] Add a gate")
    session.run("git commit --amend --no-edit", "[main 5d6e7f8] Add a gate")
    (made,) = session.observed()
    assert made.facts[0] == "Commit 5d6e7f8 on main."


def test_files_changed_without_a_commit_say_what_was_done_and_what_was_asked(script: Make) -> None:
    """In the agent's closing words."""
    session = (
        script()
        .prompt("Please let the gate open by voice")
        .touch("Edit", f"{ROOT}/src/gate.py", f"{ROOT}/src/voice.py")
    )
    (made,) = session.say("Added a voice lock that opens the gate on demand.").observed()
    assert made.type == "feature"
    assert made.title == "Added a voice lock that opens the gate on demand."
    assert "Please let the gate open by voice" in made.narrative
    assert made.files_modified == ("src/gate.py", "src/voice.py")


@pytest.mark.parametrize("prompt", ["why is that?", "go on", "commit it"])
def test_files_changed_without_a_why_are_no_observation(script: Make, prompt: str) -> None:
    """Neither the request nor the answer tells."""
    session = script().prompt(prompt).touch("Edit", f"{ROOT}/src/gate.py")
    assert session.observed() == []


ASKED = "Your questions have been answered: "


@pytest.mark.parametrize(
    ("question", "answer", "decided"),
    [
        ("Which lock should the gate use?", "Bolt (Recommended)", True),
        ("How would you like to proceed?", "Skip the design", False),
        ("Should I start now?", "Yes", False),
        ("What is the address of the gate?", "Harbor Street", False),
    ],
)
def test_a_choice_that_the_human_made_is_a_decision(
    script: Make, question: str, answer: str, decided: bool
) -> None:
    """Not whether to go on, and not a fact that was asked for."""
    session = script().prompt("Build a gate please")
    session.call("AskUserQuestion", "questions: ...", f'{ASKED}"{question}"="{answer}"')
    titles = [one.title for one in session.observed("decision")]
    assert titles == ([f"{question} → Bolt"] if decided else [])


def test_an_approved_plan_is_a_decision(script: Make) -> None:
    """Under its heading."""
    session = script().prompt("Plan a gate please")
    plan = "plan:\n# Plan: A gate of oak\nOak lasts longest in salt water. We start with the hinge."
    session.call("ExitPlanMode", plan, "User has approved your plan. You can now start coding.")
    (made,) = session.observed("decision")
    assert made.title == "Plan approved: A gate of oak"
    assert "Oak lasts longest" in made.narrative


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("Let's use oak instead of pine for the gate.", True),
        ("Should we use oak instead of pine?", False),
        ("Let's use oak if it is cheap enough maybe.", False),
    ],
)
def test_what_the_human_says_is_decided_is_a_decision(
    script: Make, said: str, decided: bool
) -> None:
    """A question or a doubt is none."""
    assert bool(script().prompt(said).say("All right then.").observed("decision")) is decided


def test_a_stated_cause_is_a_discovery(script: Make) -> None:
    """A guess is not."""
    sure = "The root cause is that winter salt eats the iron hinge."
    (found,) = script().prompt("Why does it squeak?").say(sure).observed()
    assert (found.type, found.title) == ("discovery", sure)
    doubt = "The root cause might be that winter salt eats the iron hinge."
    assert script().prompt("Why does it squeak?").say(doubt).observed() == []
