"""What is observed in a session, and what is not."""

from __future__ import annotations

import pytest

from memory_assets.session_analysis.statements import is_objection
from memory_assets_tests.observations.conftest import Make
from memory_assets_tests.sweep import sweep

ROOT = "/home/mara/code/harbor"


def test_an_error_that_the_agent_met_and_ended_is_no_observation(script: Make) -> None:
    """It is its own of a minute ago, or told by the commit; what of it lasts is the cause."""
    session = script().prompt("Let the gate open, please")
    session.run("pytest tests", "FAILED tests/test_a.py - the gate is shut", error=True)
    session.touch("Edit", f"{ROOT}/src/hinge.py").run("pytest tests", "1 passed")
    session.run("git push", "error: failed to push some refs", error=True)
    session.run("git pull --rebase", "ok").run("git push", "main -> main").say("All is well.")
    assert session.observed() == []


@sweep(
    "subject, path, kind",
    [
        ("feat(gate): open by voice", "src/gate.py", "feature"),
        ("fix: close the gate at night", "src/gate.py", "bugfix"),
        ("Add a gate", "src/gate.py", "feature"),
        ("Fix the hinge of the gate", "src/gate.py", "bugfix"),
        ("Don't drop the key of the caller", "src/gate.py", "bugfix"),
        ("Extract the hinge from the gate", "src/gate.py", "refactor"),
        ("gate: add a bell; update README", "src/gate.py", "feature"),
        ("Turn the gate around", "src/gate.py", "change"),
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


@sweep(
    "subject, path, explained",
    [
        ("Release v0.8.0", "src/gate.py", False),
        ("Merge branch 'yard' into main", "src/gate.py", False),
        ("style: format the gate", "src/gate.py", False),
        ("Remove unused import of the hinge", "src/gate.py", False),
        ("docs: say how the gate opens", "docs/gate.md", True),
        ("ci: build the gate on Windows", "src/gate.py", True),
        ("Hang a picture of the gate", "README.md", True),
        ("Add tests for the gate", "src/gate.py", True),
        ("Update the gate", "src/gate.py", True),
        ("fix(gate): address review feedback", "src/gate.py", True),
        ("Bump oak to 2.0", "src/gate.py", True),
        ("gate#12: Add PR description", "src/gate.py", False),
        ("Update the task document of the gate", "src/gate.py", False),
        ("yard#3: Mark implementation steps as complete", "src/gate.py", False),
        ("yard#3: Update the hinge", "src/gate.py", True),
        ("ci: trigger Pages deploy [touch]", "src/gate.py", False),
    ],
)
def test_a_commit_that_tells_nothing_is_observed_only_if_its_message_says_why(
    script: Make, subject: str, path: str, explained: bool
) -> None:
    """And one that nobody asks for later is not, whatever its message says."""
    body = "\n\nThe old one squeaked in the salt wind."
    for message, observed in ((subject, False), (subject + body, explained)):
        session = script().prompt("Please do it").touch("Edit", f"{ROOT}/{path}")
        session.run(f'git commit -am "{message}"', f"[main 1a2b3c4] {subject}\n 1 file changed")
        assert bool(session.observed()) is observed


@pytest.mark.parametrize(("subject", "stays"), [("Fix the squeak", 0), ("Add a second hinge", 1)])
def test_a_repair_that_the_next_prompt_objects_to_needs_a_reason(
    script: Make, subject: str, stays: int
) -> None:
    """Without one it tells that something was tried; what was added is there."""
    session = script().prompt("The gate squeaks").touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f'git commit -am "{subject}"', f"[main 1a2b3c4] {subject}")
    assert len(session.observed()) == 1
    assert len(session.prompt("it's still not working").say("Hm.").observed()) == stays


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


@pytest.mark.parametrize("how", ["another subject", "a reset"])
def test_a_commit_that_the_session_replaced_is_not_observed(script: Make, how: str) -> None:
    """By an amendment of a later turn, or by another one after a reset to before it; the message
    of an amended one still says why."""
    why = "Add a gate\n\nThe wall had no way through."
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f'git commit -am "{why}"', "[main 1a2b3c4] Add a gate").prompt("and a bell")
    session.touch("Edit", f"{ROOT}/src/bell.py")
    if how == "a reset":
        session.run("git reset --soft HEAD~1")
    amend = " --amend" if how == "another subject" else ""
    session.run(f'git commit{amend} -am "Ring the bell"', "[main 5d6e7f8] Ring the bell")
    assert [one.title for one in session.observed()] == ["Ring the bell"]


@pytest.mark.parametrize(
    "reset",
    [
        "git reset HEAD~1 -- src/gate.py",
        "git reset HEAD^ src/gate.py",
        "git reset -p HEAD~1",
        "git reset --hard",
    ],
)
def test_a_reset_of_paths_takes_no_commit_back(script: Make, reset: str) -> None:
    """It moves no branch."""
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/src/gate.py")
    session.run('git commit -am "Add a gate"', "[main 1a2b3c4] Add a gate").run(reset)
    assert [one.title for one in session.observed()] == ["Add a gate"]


@pytest.mark.parametrize("back", ["HEAD^^", "@~2", "HEAD~2 2>&1"])
def test_a_reset_takes_back_as_many_commits_as_it_names(script: Make, back: str) -> None:
    """However it writes their number."""
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/src/gate.py")
    session.run('git commit -am "Add a gate"', "[main 1a2b3c4] Add a gate")
    session.run('git commit -am "Add a bell"', "[main 2b3c4d5] Add a bell")
    session.run(f"git reset --hard {back}")
    assert session.observed() == []


@sweep(
    "answer, holds",
    [
        ("Great, that works. Next: the search does not work on Safari, please fix it", True),
        ("Thanks, merged. Now there is a flaky test error in CI", True),
        ("I still think that was good, go on", True),
        ("actually, one more thing: bump the version", True),
        ("Good, but it still fails on the second try", False),
        ("it still fails with the same error", False),
        ("actually that is the wrong file", False),
        ("thanks but the button does not work", False),
        ("that looked odd, I undid your changes. Read the file first", False),
        ("I've reverted all of it by hand", False),
        ("I reverted to the older Safari and it works there", True),
        ("I reverted the lock file by accident, please restore it", True),
        ("I reverted it by accident, please restore it", True),
        ("I reverted that line myself, the rest is perfect", True),
        ("I've reverted the database to the snapshot; run the migration again", True),
        ("should I have reverted the commit from bob?", True),
        ("What happens if I undid this?", True),
        ("I reverted the package to 1.2 and it works now", True),
        ("I undid your changes", False),
        ("I rolled it back", False),
        ("ugly, so I rolled your last edits back", False),
        ("I just reverted it", False),
        ("I reverted that, look at the other file", False),
        ("I've discarded your changes", False),
    ],
)
def test_a_prompt_that_approves_takes_nothing_back(answer: str, holds: bool) -> None:
    """Whatever it asks for next; one that objects does."""
    assert is_objection(answer) is not holds


def test_files_changed_without_a_commit_say_what_was_done_and_what_was_asked(script: Make) -> None:
    """In the agent's closing words, if they name something."""
    session = (
        script()
        .prompt("Please let the gate open by voice")
        .touch("Edit", f"{ROOT}/src/gate.py", f"{ROOT}/src/voice.py")
    )
    (made,) = session.say("Added a voice_lock that opens the gate on demand.").observed()
    assert made.type == "feature"
    assert made.title == "Added a voice_lock that opens the gate on demand."
    assert "Please let the gate open by voice" in made.narrative
    assert made.files_modified == ("src/gate.py", "src/voice.py")


@sweep(
    "said, title",
    [
        ("Both gates now include the keeper's name, as in `quay.py`:", "Both gates now include"),
        ("Now the `ring()` call waits for the ship to land:", "Now the ring() call waits"),
        ("gate.py now properly handles a missing key of the keeper.", "gate.py now properly"),
        ("The fix is a one-line change in gate.py that oils it.", "The fix is a one-line change"),
        ("Done — I added a lock to gate.py that opens by voice.", "I added a lock to gate.py"),
        ("The left gate now opens for ships that come into the harbour.", ""),
        ("Your gate.py config is now set up for the harbour of the yard.", ""),
        ("Stopped after gate.py and voice.py, as you had asked.", ""),
        ("Now run gate.py again to see whether it opens for ships.", ""),
        ("It now uses the words of `gate.py` for each ship.", ""),
    ],
)
def test_what_the_product_does_now_is_told_of_files_changed(
    script: Make, said: str, title: str
) -> None:
    """As well as what was done; not what points to a sentence before it, nor what is to be done."""
    session = script().prompt("Please let the gate open by voice")
    session.touch("Edit", f"{ROOT}/src/gate.py").touch("Edit", f"{ROOT}/src/voice.py")
    titles = [one.title for one in session.say(said).observed()]
    assert len(titles) == bool(title) and all(one.startswith(title) for one in titles)


def test_files_of_a_commit_that_says_little_are_told_by_the_report(script: Make) -> None:
    """Its subject tells nothing, but what it holds was done."""
    session = script().prompt("Please let the gate open by voice")
    session.touch("Edit", f"{ROOT}/src/gate.py", f"{ROOT}/src/voice.py")
    session.say("Added a voice_lock that opens the gate on demand.")
    session.prompt("commit").run('git commit -am "Improvements"', "[main 1a2b3c4] Improvements")
    assert [one.title[:18] for one in session.observed()] == ["Added a voice_lock"]


@sweep(
    "path, said",
    [
        ("src/gate.py", ""),
        ("src/gate.py", "All tests pass and the build is green."),
        ("src/gate.py", "I fixed both of the review comments on gate.py."),
        ("src/gate.py", "- src/gate.py - Added two bolts:\n- src/bell.py - Added two bells:"),
        ("src/gate.py", "The voice_lock (of oak) now includes:\n- a bolt"),
        ("src/gate.py", "Changed gate.width from 3 to 4 as you wanted."),
        ("docs/gate.md", "Added a voice_lock that opens the gate on demand."),
        ("../.zshrc", "Added a voice_lock that opens the gate on demand."),
    ],
)
def test_files_changed_of_which_nothing_lasting_is_said_are_no_observation(
    script: Make, path: str, said: str
) -> None:
    """A request is no title: it says what was wanted, not what was done. Nor are documents, and
    files that are not the project's."""
    session = script().prompt("Please let the gate open by voice")
    session.touch("Edit", f"{ROOT}/{path}").touch("Edit", f"{ROOT}/{path}")
    assert (session.say(said) if said else session).observed() == []


def test_files_changed_are_told_by_the_commit_once_there_is_one(script: Make) -> None:
    """And by the agent until then."""
    session = script().prompt("Please let the gate open by voice")
    session.touch("Edit", f"{ROOT}/src/gate.py", f"{ROOT}/src/voice.py")
    session.say("Added a voice_lock that opens the gate on demand.")
    assert [one.type for one in session.observed()] == ["feature"]
    session.prompt("commit").run('git commit -am "Open by voice"', "[main 1a2b3c4] Open by voice")
    assert [one.title for one in session.observed()] == ["Open by voice"]


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Added a voice_lock that opens the gate on demand.", "Added a voice_lock"),
        ("It is all there now.", "Build the gate of oak"),
    ],
)
def test_a_plan_that_was_carried_out_is_told_by_the_report_or_its_heading(
    script: Make, said: str, title: str
) -> None:
    """A plan may have been carried out in part: the heading is for want of a report."""
    plan = "Implement the following plan:\n\n# Build the gate of oak\n\nOak lasts in salt water."
    session = script().prompt(plan).touch("Edit", f"{ROOT}/src/a.py", f"{ROOT}/src/b.py")
    assert [one.title.startswith(title) for one in session.say(said).observed()] == [True]


SURE = "Root cause: winter salt eats the iron hinge."
SALT = "winter salt eats the iron hinge."


@sweep(
    "said, title",
    [
        (SURE, SALT),
        ("Problem: winter salt eats the iron hinge.", "winter salt eats the iron hinge."),
        ("That was a bug. Winter salt eats the hinge in gate.py.", "Winter salt eats the hinge"),
        ("The root cause is that winter salt eats it.", "The root cause is that winter salt"),
        ("The only blocker is that winter salt eats the iron hinge.", ""),
        ("The difference is that the other gate has an iron hinge.", ""),
        ("The hinge squeaks because the salt eats it.", ""),
        ("Problem: winter salt probably eats the iron hinge.", ""),
        ("The issue is that the tests use a gate of iron in the yard.", ""),
        ("Problem: this gate is not in the yard of the harbor.", ""),
        ("The fix is working: the gate opens in a second, which is why it rings.", ""),
    ],
)
def test_a_sentence_called_the_cause_is_a_discovery(script: Make, said: str, title: str) -> None:
    """A guess is not, nor what concerns the agent's own checks, or points to something, nor a
    reason that nothing calls the cause, nor what stands in the way of the next step."""
    session = script().prompt("Why does it squeak?").run("cat gate.py").say(said)
    found = session.observed()
    assert len(found) == bool(title)
    assert all(one.type == "discovery" and title in one.title for one in found)


def test_a_cause_is_observed_once(script: Make) -> None:
    """The first time; an agent tells it again in a later turn, or in its recap."""
    session = script().prompt("Why does it squeak?").run("cat gate.py").say(SURE)
    session.prompt("and the other gate?").run("cat other.py").say(f"The same. {SURE}")
    assert [one.turn_index for one in session.observed()] == [0]


def test_a_cause_is_observed_by_itself_if_its_turn_has_several_commits(script: Make) -> None:
    """Nobody can tell which of them it is the reason for."""
    session = script().prompt("The gate is broken since yesterday").run("cat gate.py")
    for sha, name in (("1a2b3c4", "gate"), ("5d6e7f8", "bell")):
        session.touch("Edit", f"{ROOT}/src/{name}.py")
        session.run(
            f'git commit -am "Turn the {name} around"', f"[main {sha}] Turn the {name} around"
        )
    titles = [one.title for one in session.say(SURE).observed()]
    assert titles == ["Turn the gate around", "Turn the bell around", SALT]


def test_a_cause_needs_a_look_and_no_objection(script: Make) -> None:
    """What the agent says from memory may be an example; what the next prompt objects to may be
    wrong."""
    assert script().prompt("How do I oil it?").say(SURE).observed() == []
    looked = script().prompt("Why does it squeak?").run("cat gate.py").say(SURE)
    assert len(looked.observed()) == 1
    assert looked.prompt("ok. no, it still squeaks, so that's not it").say("Hm.").observed() == []


def test_the_text_of_an_observation_says_each_sentence_once(script: Make) -> None:
    """Title, account and facts may be one sentence; the text is what is embedded and shown."""
    (found,) = script().prompt("Why does it squeak?").run("cat gate.py").say(SURE).observed()
    assert found.facts == (SALT,)
    assert found.text == f"{SALT} Asked: Why does it squeak?"


def test_files_changed_after_a_cause_was_stated_are_a_bugfix(script: Make) -> None:
    """The title says what was broken and what was changed, without a commit."""
    session = script().prompt("The gate doesn't open any more").run("cat hinge.py")
    session.touch("Edit", f"{ROOT}/src/hinge.py").say(f"{SURE} Good to go.")
    (fix,) = session.observed()
    assert fix.type == "bugfix"
    assert fix.title == f"{SALT[:-1]}: fixed by changing hinge.py"
    assert fix.files_modified == ("src/hinge.py",)


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("Turn the hinge around", "bugfix"),
        ("Add an entry for the hinge", "feature"),
        ("Simplify the hinge", "refactor"),
    ],
)
def test_a_commit_of_work_whose_cause_was_stated_is_a_bugfix(
    script: Make, subject: str, kind: str
) -> None:
    """Unless its prefix or first verb says otherwise."""
    session = script().prompt("The gate is broken since yesterday").run("cat gate.py")
    session.touch("Edit", f"{ROOT}/src/gate.py").say(SURE).prompt("commit it")
    session.run(f'git commit -am "{subject}"', f"[main 1a2b3c4] {subject}\n 1 file changed")
    assert [one.type for one in session.observed() if one.title == subject] == [kind]


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("ci: fix the build on Windows", "bugfix"),
        ("ci: add a matrix", "change"),
        ("fix: document the bell", "change"),
        ("fix(gate): remove unused bell", "change"),
    ],
)
def test_the_first_word_counts_where_the_prefix_says_too_little(
    script: Make, subject: str, kind: str
) -> None:
    """The build can be broken; a document cannot."""
    session = script().prompt("Please do it").touch("Edit", f"{ROOT}/src/gate.py")
    session.run(
        f'git commit -am "{subject}\n\nNobody had told the pilots of it."',
        f"[main 1a2b3c4] {subject}\n 1 file changed",
    )
    assert [one.type for one in session.observed() if one.title == subject] == [kind]


@pytest.mark.parametrize("body", ["", "\n\nThe old one squeaked in the salt wind."])
def test_a_commit_without_a_message_is_told_by_the_report(script: Make, body: str) -> None:
    """Of its only commit; what the report says of the commit itself tells nothing."""
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/src/gate.py")
    session.run(f'git commit -am "Open the gate{body}"', "[main 1a2b3c4] Open the gate\n 1 file")
    session.say("Committed to branch main. Added a chain of iron to HarborGate in gate.py.")
    (made,) = session.observed()
    assert ("chain of iron" in made.narrative) is not bool(body)
    assert "branch main" not in made.text
    assert made.title == "Open the gate"


def test_a_report_that_is_denied_tells_nothing_of_a_commit(script: Make) -> None:
    """The prompt after it objected to it."""
    session = script().prompt("Let the gate open, please").touch("Edit", f"{ROOT}/src/gate.py")
    session.say("Added a chain of iron to HarborGate in gate.py.").prompt("no, it's still shut")
    session.touch("Edit", f"{ROOT}/src/hinge.py")
    session.run('git commit -am "Open the gate"', "[main 1a2b3c4] Open the gate\n 1 file")
    (made,) = session.say("Fine.").observed()
    assert "chain" not in made.text


@pytest.mark.parametrize(
    ("asked", "told"), [("Let it ring", 1), ("Make some random changes to try the tool on", 0)]
)
def test_items_that_name_their_files_tell_what_was_done(
    script: Make, asked: str, told: int
) -> None:
    """Where nothing else does; not of changes to try something on."""
    session = script().prompt(asked).touch("Edit", f"{ROOT}/src/gate.py")
    session.touch("Edit", f"{ROOT}/src/bell.py")
    session.say("- `src/gate.py` - Fixed the squeak\n- `src/bell.py` - Added a clapper of iron")
    found = session.observed()
    assert len(found) == told
    assert all("clapper of iron" in one.text for one in found)


def test_what_is_otherwise_now_is_told_without_what_follows(script: Make) -> None:
    """A name may be one by its code mark alone."""
    session = script().prompt("Make it optional").touch("Edit", f"{ROOT}/src/gate.py")
    session.say("`checkpoints` is now optional in the schema — leaving it out will do.")
    (found,) = session.observed()
    assert found.title.startswith("checkpoints is now optional in the schema")
    assert "leaving" not in found.title
