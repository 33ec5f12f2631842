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


def test_a_stated_cause_is_a_discovery(script: Make) -> None:
    """A guess is not."""
    sure = "The root cause is that winter salt eats the iron hinge."
    (found,) = script().prompt("Why does it squeak?").say(sure).observed()
    assert (found.type, found.title) == ("discovery", sure)
    doubt = "The root cause might be that winter salt eats the iron hinge."
    assert script().prompt("Why does it squeak?").say(doubt).observed() == []


def test_the_text_of_an_observation_says_each_sentence_once(script: Make) -> None:
    """Title, account and facts may be one sentence; the text is what is embedded and shown."""
    sure = "The root cause is that winter salt eats the iron hinge."
    (found,) = script().prompt("Why does it squeak?").say(sure).observed()
    assert found.facts == (sure,)
    assert found.text == f"{sure} Asked: Why does it squeak?"


def test_files_changed_after_a_complaint_that_the_agent_explains_are_a_bugfix(
    script: Make,
) -> None:
    """The title says what was broken and what was changed, without a commit or a failed run."""
    session = script().prompt("The gate doesn't open any more")
    session.say("Found the problem. The gate never opens because the hinge was dry.")
    session.touch("Edit", f"{ROOT}/src/hinge.py").say("Good to go.")
    (fix,) = session.observed("bugfix")
    assert fix.title.endswith("because the hinge was dry: fixed by changing hinge.py")
    assert fix.files_modified == ("src/hinge.py",)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("The gate should be blue, please", "You're right, blue it is."),
        ("This is dead code now, the bell is never rung: it has bugs", "Good catch."),
        ("The gate doesn't open any more", "I painted it blue."),
    ],
)
def test_a_wish_or_tidying_is_no_bugfix(script: Make, prompt: str, answer: str) -> None:
    """And nothing is one that the agent does not admit."""
    session = script().prompt(prompt).say(answer).touch("Edit", f"{ROOT}/src/gate.py")
    assert session.observed("bugfix") == []


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("Add an entry for the hinge", "bugfix"),
        ("feat: add an entry for the hinge", "feature"),
        ("Release 0.8.0", "change"),
    ],
)
def test_a_commit_that_repairs_what_somebody_complained_of_is_a_bugfix(
    script: Make, subject: str, kind: str
) -> None:
    """Unless its prefix or first word says otherwise."""
    session = script().prompt("The gate is broken since yesterday")
    session.say("Good catch. The hinge does not turn because its entry is missing.")
    session.touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f'git commit -am "{subject}"', f"[main 1a2b3c4] {subject}\n 1 file changed")
    assert [one.type for one in session.observed() if one.title == subject] == [kind]


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("ci: fix the build on Windows", "bugfix"),
        ("ci: add a matrix", "change"),
        ("fix: clarify a comment", "change"),
        ("fix(gate): remove unused bell", "change"),
    ],
)
def test_the_first_word_counts_where_the_prefix_says_too_little(
    script: Make, subject: str, kind: str
) -> None:
    """The build can be broken; a comment cannot."""
    session = script().prompt("Please do it").touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f'git commit -am "{subject}"', f"[main 1a2b3c4] {subject}\n 1 file changed")
    assert [one.type for one in session.observed() if one.title == subject] == [kind]


def test_what_linters_wanted_in_one_turn_is_one_change(script: Make) -> None:
    """With the errors of all, and the id of the last."""
    session = script().prompt("Make the checks green please")
    for name in ("gate", "hinge"):
        failed = f"error: {name}.py is not sorted"
        session.run(f"npm run lint {name}", failed, error=True)
        session.touch("Edit", f"{ROOT}/src/{name}.py").run(f"npm run lint {name}", "all good")
    (made,) = (one for one in session.observed("change") if "fixed by" in one.title)
    assert "gate.py is not sorted" in made.text and "hinge.py is not sorted" in made.text
    assert made.files_modified == ("src/gate.py", "src/hinge.py")
    assert made.id == f"observation::s1::{session.records[-1].seq}"


def test_a_small_change_to_files_not_committed_yet_is_part_of_the_one_before(
    script: Make,
) -> None:
    """Until a commit; a change to other files is one of its own."""
    session = script().prompt("Paint the harbor gate in the colors of the town, all of it")
    session.touch("Edit", f"{ROOT}/src/gate.py").say("Here it is.")
    session.prompt("make the blue a bit darker").touch("Edit", f"{ROOT}/src/gate.py").say("Here.")
    session.prompt("and paint the bell red too").touch("Edit", f"{ROOT}/src/bell.py").say("Here.")
    made = [one.files_modified for one in session.observed("change")]
    assert made == [("src/gate.py",), ("src/bell.py",)]
