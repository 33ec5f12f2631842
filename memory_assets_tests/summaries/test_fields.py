"""The fields that are chosen from what the agent said, on branches that count."""

from __future__ import annotations

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import ABANDONED
from memory_assets.observations import observe
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets_tests.redacted_sessions import Script as Session
from memory_assets_tests.summaries.conftest import Make, Script
from memory_assets_tests.sweep import sweep

CAUSE = "The root cause is the idle transaction in the exporter."


def test_completed_holds_what_was_done_then_the_commits(script: Make) -> None:
    """What will, could or did not happen is left out, as is what a commit says already."""
    session = script().prompt("fix it").run("git commit -m x", "[main 4be91c7] Add lock timeouts")
    session.say(
        "Added a retry to the migration runner. Added lock timeouts. I could also add a metric. "
        "I haven't touched production."
    )
    assert session.summary().completed == (
        "Added a retry to the migration runner. Committed: Add lock timeouts."
    )


def test_without_a_word_or_commit_completed_names_the_changed_files(script: Make) -> None:
    """Something was done, even if nobody said so."""
    session = script().prompt("fix it").touch("Edit", "/home/mara/code/harbor/src/a.py")
    assert session.summary().completed == "Changed a.py."


def test_next_steps_come_from_the_last_message(script: Make) -> None:
    """By heading, lead-in or wording; what was next two turns ago is history."""
    session = script().prompt("one").say("Next step: remove the old lock file.").prompt("two")
    session.say("Removed it.\n\nStill to do:\n- deploy the image\n- rotate the token\n")
    assert session.summary().next_steps == "deploy the image. rotate the token."
    session.say("下一步：运行测试脚本并检查。").say("我改好了门。需要我继续吗？")
    assert session.summary().next_steps.endswith("下一步：运行测试脚本并检查。 需要我继续吗？")


def test_notes_hold_caveats_and_counts(script: Make) -> None:
    """Links, interruptions, compactions, subagents and redactions are worth knowing."""
    session = (
        script().note("attachment", "pr-link", "https://example.org/pull/218").prompt("fix it")
    )
    session.note("system", "interrupt", "[Request interrupted by user]")
    session.note("system", "compact-boundary", "Conversation compacted")
    session.say("Found one.", agent_id="b41").prompt("token is <redacted:x>")
    session.say("Fixed it. Keep in mind that the production database is older. Nothing was pushed.")
    session.records[-1:] = [session.records[-1]]
    notes = session.summary().notes
    assert notes == (
        "Keep in mind that the production database is older. "
        "Pull request: https://example.org/pull/218. Interrupted once. Compacted once. One "
        "subagent."
    )


def test_a_recap_is_a_source_but_never_a_request(script: Make) -> None:
    """The CLI's away-summary speaks of the work, not for the user."""
    session = script().prompt("make the migration safe")
    session.note("summary", "away-summary", "Fixed the migration with a lock_timeout of 3 s.")
    session.say("ok")
    summary = session.summary()
    assert summary.completed == "Fixed the migration with a lock_timeout of 3 s."
    assert summary.request == "make the migration safe"


def test_nothing_is_said_twice_in_learned_and_completed(script: Make) -> None:
    """Completed has it, then learned looks for something else."""
    session = script().prompt("fix the hang please")
    session.say("I fixed the migration because the lock queue was blocked by an idle reader.")
    summary = session.summary()
    assert summary.completed.startswith("I fixed the migration")
    assert summary.learned == ""


@sweep(
    "debris", ["```\ncode\n```", "| a | b |", "<!-- x -->", "───────", "", "   ", "> ", "#", "- "]
)
def test_debris_fills_no_field(script: Make, debris: str) -> None:
    """Empty rather than filler."""
    summary = script().prompt("fix it now please").say(debris).summary()
    fields = (summary.learned, summary.completed, summary.next_steps, summary.investigated)
    assert fields == ("", "", "", "")


def test_text_begins_with_what_matters_and_fits_a_window(script: Make) -> None:
    """Title, request, outcome; about 256 word pieces."""
    session = script().note("title", "ai-title", "Safe migrations").prompt("make it safe")
    session.say(CAUSE + " " + "Added a very long explanation of the lock queue. " * 60)
    summary = session.summary()
    assert summary.text.startswith("Safe migrations\nmake it safe\n")
    assert CAUSE in summary.text
    assert len(summary.text) <= 880
    assert summary.title == seal("Safe migrations")


def test_what_was_done_is_told_with_its_file_and_without_an_open_end(script: Make) -> None:
    """ "file — Replaced ..." is a report; one that leads to a list is told with it; where nothing
    is named, the changed files are."""
    session = script().prompt("why are ships let in?").touch("Edit", "gate.py")
    session.say("`gate.py` — Replaced the lamp by a bell that every ship hears.")
    assert session.summary().completed.startswith("gate.py — Replaced the lamp by a bell")
    session = script().prompt("why are ships let in?").touch("Edit", "gate.py")
    session.say("Fixed the gate that let in every ship without a flag by setting:\n- `ask = True`")
    assert "that let in every ship without a flag." in session.summary().completed
    session = script().prompt("why are ships let in?").touch("Edit", "gate.py")
    assert session.say("All of the tests pass now.").summary().completed == (
        "All of the tests pass now. Changed gate.py."
    )


@sweep(
    "said, left",
    [
        ("The gate opens.\n\nNow back to the lamp of the harbour?", "back to the lamp"),
        ("Proposed: ring the bell first.\n\nGo?", "Proposed: ring the bell first."),
        ("The gate opens. Rotate the key of the gate soon.", "Rotate the key of the gate soon."),
        ("The gate was stuck, so a ship could be left waiting on a bell that never rings.", ""),
        ("noDarkGates: Catches unresolved names of gates to prevent a fall.", ""),
        ("What would you like me to do?", ""),
        ("Oak is older than iron. Which gate do you prefer? I can hang either.", "Which gate"),
        ("**Option 2: a new bell (recommended):**\n- It rings at night, and by day.", ""),
        ("## Recommendation\nTwo gates are fine because:\n- They are alike to a ship.", ""),
        ("Replaced the bell of the gate.\n\nCommit this?", "Commit this?"),
        ("I refreshed the list of ships.", ""),
        ("The gate opens at night. Does it?\n\nIt does.", ""),
        ("The gate opens. Is there anything else I can help you with?", ""),
        ("The uncommitted `bell.o` is built and doesn't need to be committed.", ""),
        ("Drop the bell and ring it again.\n\nApprove it? (Nothing fell.)", "Drop the bell"),
        ("Still open: the bell did not ring after the last tide.", "Still open: the bell did not"),
        (
            "The bell did not ring, so you need to restart the tower yourself.",
            "you need to restart",
        ),
        ("The forge still warns about two cracks in the bell.", "still warns about two cracks"),
        ("The forge still warns about two cracks in the bell, which I filled.", ""),
        ("Refresh bells are rung by the tower now. Rotate the keys was added to the list.", ""),
        ("Relaunch is handled by the harbour. Nothing is still in flight at the quay.", ""),
        ("The bell was still running when I stopped it, and the gate is faster.", ""),
    ],
)
def test_what_the_last_message_leaves_to_the_person_is_next(
    script: Make, said: str, left: str
) -> None:
    """The question that it ends with, what is to be done; not what was done, nor
    what was not and is not left."""
    next_steps = script().prompt("open the gate").say(said).summary().next_steps
    assert (left in next_steps) if left else next_steps == ""


@sweep(
    "said",
    [
        "## 次の一手\n\n- 門の鐘: ガイドの手順をすべて実装",
        "## 下一步\n\n- 钟楼：全部改为新的钟声并且提交",
        "The bell of the tower isn't complete.",
        "The bell of the tower will be complete.",
        "The bell must be deployed.",
        "PR #12 for the bell can be merged.",
        "The pull request of the bell is waiting to be merged.",
        "The bell is expected to be live.",
        "The bell of the tower is far from done.",
        "The bell of the tower is partially complete.",
        "The bell of the tower was already live.",
        "The bell was already deployed.",
        "The bell of the tower is expected to go live.",
        "Ask the keeper to have the bell merged.",
        "## Remaining\n\nThe bell of the tower complete.",
    ],
)
def test_what_is_to_come_or_under_way_was_not_done(script: Make, said: str) -> None:
    """Whatever the language of the heading above it."""
    session = script().prompt("mend the bells").touch("Edit", "bell.py").say(said)
    assert session.summary().completed == "Changed bell.py."


def test_a_request_that_has_no_answer_is_next(script: Make) -> None:
    """Unless a message follows, the commit that it asks for, or it asks for nothing."""
    session = script().prompt("open the gate").say("The gate is open.").prompt("and fix the bell")
    session.touch("Read", "bell.py")
    asked = "Asked last, without an answer: and fix the bell."
    assert session.summary().next_steps == asked
    assert session.say("It rings.").summary().next_steps == ""
    session.prompt("commit it").run("git commit -m x", "[main 1234567] ring\n 1 file changed")
    assert session.summary().next_steps == ""
    session = script().prompt("open the gate").say("The gate is open.").prompt("a beautiful bell")
    assert session.touch("Read", "bell.py").summary().next_steps == ""


@pytest.mark.parametrize(
    "commands",
    ["git commit -m 'Hang the bell'", "cd a && git push origin", "gh pr create -t x", "ls *.py"],
)
def test_what_was_carried_out_does_not_wait_for_an_answer(script: Make, commands: str) -> None:
    """The record ends with the call, and says nothing of how that ended; files that were changed
    are told where the work was seen to be broken off, a plan of it is none of it."""
    for prompt, command in (
        ("please delete the old branch", "git branch -D old"),
        ("remove the lamp", "rm lamp.py"),
        ("thanks, please keep it like this", "ls"),
        ("please do not change anything", "ls"),
    ):
        removed = script().prompt("open the gate").say("It is open.").prompt(prompt)
        assert removed.run(command, "").summary().next_steps == ""
    prompt = "commit it and run ls *.py, please"
    done = script().prompt("open the gate").say("It is open.").prompt(prompt)
    assert done.run(commands, "").summary().next_steps == ""
    begun = script().prompt("open the gate").say("It is open.").prompt("please hang the bell")
    begun.touch("Write", "docs/PLAN.md")
    assert begun.summary().next_steps == "Asked last, without an answer: please hang the bell."
    begun.say("I have seen the tower. Now let me hang the bell:")
    assert begun.summary().next_steps == "Asked last, without an answer: please hang the bell."
    begun.touch("Edit", "bell.py")
    assert begun.summary().next_steps == ""
    begun.note("system", "interrupt", "[Request interrupted by user]")
    assert begun.summary().next_steps.startswith("Broken off, PLAN.md, bell.py changed: please")


@sweep(
    "notice",
    [
        "Tool budget soft limit reached after 18 tool calls (soft 18, hard 26). Stop searching.",
        "<system-reminder>Fix the list of tasks.</system-reminder>",
        "CRITICAL - MAXIMUM STEPS REACHED. Tools are disabled; write a summary.",
        "You have used 90% of your context window tokens, check what is left to do.",
        "[automated reminder] update the list of tasks",
        "Stop hook feedback: run the tests",
    ],
)
def test_a_notice_of_the_program_is_no_request(script: Make, notice: str) -> None:
    """Neither one of those told nor the last; a person who asks about one is a person."""
    session = script().prompt("paint the gate of the harbour").say("It is open.").prompt(notice)
    summary = session.touch("Read", "bell.py").summary()
    assert (summary.request, summary.next_steps) == ("paint the gate of the harbour", "")
    asked = script().prompt("paint the gate of the harbour").say("It is open.")
    asked.prompt("Token limit reached after 3 calls, why do we stop there?").say("It is set so.")
    assert "why do we stop" in asked.summary().request


def test_a_plan_that_nothing_follows_is_what_was_done(script: Make) -> None:
    """Under its title, and what is left to do; once files change, these are."""
    session = script().prompt("plan a bell").touch("Write", "~/.claude/plans/bell.md")
    session.call("ExitPlanMode", "plan:\n# Plan: Ring `bell` at night\n\n## Steps", "ok")
    assert session.summary().completed == "Wrote a plan: Ring bell at night."
    left = "Planned, no file changed since: Ring bell at night."
    assert session.summary().next_steps == left
    session.prompt("do it").touch("Edit", "bell.py")
    assert session.summary().completed == "Changed bell.py."
    plan = script().prompt("plan a bell").call("ExitPlanMode", "# Bell", "rejected", error=True)
    assert (plan.summary().completed, plan.summary().next_steps) == ("", "")


def test_a_plan_is_not_left_open_when_much_was_done_since(script: Make) -> None:
    """Nobody brought it up to date."""
    session = script().prompt("open the gate")
    session.call("TodoWrite", 'todos: [{"content":"Oil the gate","status":"pending"}]', "ok")
    assert session.say("Half of it.").summary().next_steps == "Open in the plan: Oil the gate."
    for _ in range(41):
        session.run("make gate")
    assert session.say("The gate is open.").summary().next_steps == ""


@pytest.mark.parametrize("after", ["Bash", "TodoWrite"])
def test_what_is_said_before_a_turn_breaks_off_is_no_report(script: Make, after: str) -> None:
    """Unless only the agent's list of tasks was brought up to date then."""
    session = script().prompt("open the gate").touch("Edit", "gate.py")
    session.say("The gate is now open at night.").touch(after, "").prompt("and the door")
    session.say("Fixed the door of the cellar.")
    told = session.summary().completed
    assert ("The gate" in told) == (after == "TodoWrite")
    assert "Fixed the door" in told


def test_what_the_next_prompt_takes_back_is_in_no_field(script: Make) -> None:
    """Neither as learned nor as completed."""
    session = script().prompt("why does it hang?").say(f"{CAUSE} I fixed the exporter's reader.")
    session.prompt("no, that's not it, it still hangs").say("Then I do not know it.")
    summary = session.summary()
    assert (summary.learned, summary.completed) == ("", "")
    session = script().prompt("why does it hang?").say(CAUSE)
    assert session.prompt("actually i'm fine with that").summary().learned == CAUSE
    for objection in ("sorry, it would be the importer", "this shouldn't be the exporter"):
        session = script().prompt("why does it hang?").say(CAUSE).prompt(objection)
        assert session.summary().learned == ""
    session = script().prompt("why does it hang?").say(CAUSE).prompt("it is not idle at night")
    assert session.say("You're right, and I apologize for the mistake.").summary().learned == ""


def test_an_item_that_ends_its_lead_in_is_told_after_it(script: Make) -> None:
    """The lead-in is told once; what it only wishes for was not done."""
    session = script().prompt("mend the gate").touch("Edit", "gate.py")
    session.say(
        "The gate of the harbour now:\n\n"
        "- Opens for each ship that shows a flag at the outer mole, and rings the bell twice\n"
        "- Closes behind the last of them by itself, also where the tide has turned meanwhile\n"
    )
    assert session.summary().completed.count("The gate of the harbour now: Opens for each") == 1
    assert session.summary().completed.count("The gate of the harbour now") == 1
    session = script().prompt("mend the gate").touch("Edit", "gate.py")
    session.say("The gate could have:\n\n- Replaced the lamp by a bell that every ship hears")
    assert "bell" not in session.summary().completed


def test_what_an_agent_thinks_is_no_report(script: Make) -> None:
    """Some exports give it as its words, after the report that ends the turn."""
    cause = "The root cause is that the exporter never closes the transaction of its reader."
    session = script().prompt("why does it hang?").touch("Edit", "a.py").say(cause)
    session.say("The user wants to know why it hangs, so it is the lamp that I moved.")
    assert session.summary().learned == cause


def test_a_report_that_leads_in_a_list_was_done(script: Make) -> None:
    """Without its colon; a word for courtesy, or TODO in a name, is no next step."""
    session = script().prompt("fix the reader").touch("Edit", "/home/mara/code/harbor/src/a.py")
    session.say(
        "Fixed the reader of the exporter by closing its transaction in two places:\n\n- a.py\n\n"
        "The TODO app is what it is. Let me know if you need anything else."
    )
    summary = session.summary()
    assert summary.completed.startswith("Fixed the reader of the exporter by closing its trans")
    assert summary.next_steps == ""


@sweep(
    "said, completed",
    [
        ("Lamp - Replaced the wick by a wire.", "Lamp - Replaced the wick by a wire."),
        (
            "`src/lamp.py` - Added a wick to it.\n\nIts bell is made of brass.",
            "src/lamp.py - Added a wick to it.",
        ),
        (
            "The fix is a one-line change in `lamp.py` that dries the wick.",
            "The fix is a one-line change in lamp.py that dries the wick.",
        ),
        ("Good — I hung the lamp. I moved it to the other gate.", "I moved it to the other gate."),
        ("Implemented the `Changes` list of the gate.", "Implemented the Changes list"),
        ("1. Copied 4 lamps into the tower\n2. Removed the bell", "Copied 4 lamps into the tower."),
        ("Here's what was hung: the lamps were moved to the tower.", "Changed gate.py."),
        ("It now points at the tower of the other harbour.", "Changed gate.py."),
        ("This means all lamps have been cleared of their oil and wicks.", "Changed gate.py."),
        (
            f"Added a wick to the lamp of the gate and the tower, which {'burns and ' * 30}burns.",
            "Added a wick to the lamp of the gate and the tower.",
        ),
        ("Now the lamp of the gate burns oil from the other harbour.", "Now the lamp of the gate"),
        (
            "Moved the lamps (gate, quay ...) to the tower of the harbour.",
            "Moved the lamps (gate, quay ...) to the tower of the harbour.",
        ),
        ("28 ships moved to the other harbour.", "28 ships moved to the other harbour."),
        ("Done. The gate now auto-opens for each ship.", "The gate now auto-opens"),
        ("I wrote that the lamp of the tower burns oil.", "Changed gate.py."),
        ("**`gate.py`** — two bolts, a hinge and a lock:\n- one", "gate.py — two bolts, a hinge"),
        ("Checks if a lamp is installed and lit.", "Changed gate.py."),
        ("gate.py: no longer needs a key for the hinge.", "gate.py: no longer needs a key"),
        (
            "I hung the lamp in the tower. I moved the wick to it and it is running now.",
            "I moved the wick to it and it is running now.",
        ),
        ("Added a check for lamps running in the rain.", "Added a check for lamps running in"),
        ("Fixed the in progress lamp of the tower.", "Fixed the in progress lamp"),
        ("Fixed that the gate failed on an empty quay.", "Fixed that the gate failed on an"),
        ("Resolved that the bell will fail in the rain.", "Resolved that the bell will"),
        (
            "**New files:**\n- `lamp.py` - the wick, and who may light it\n- `a.py`",
            "lamp.py - the wick, and who may light it.",
        ),
    ],
)
def test_reports_by_variations(script: Make, said: str, completed: str) -> None:
    """What was done is said behind a label, without an auxiliary, or by naming what is new; what
    misses its object is no report."""
    session = script().prompt("mend it").touch("Edit", "gate.py").say(said)
    assert session.summary().completed.split(" Changed gate.py")[0].startswith(completed)


def test_a_prompt_that_is_pasted_after_each_piece_of_work_tells_nothing(script: Make) -> None:
    """Neither as a request nor by its reports; one that is sent again at once is tried again."""
    session, routine = script(), f"Update the guide of the harbour. {'Say what is new. ' * 15}"
    for work in ("bell", "lamp"):
        session.prompt(f"hang a {work} in the tower of the harbour").touch("Edit", f"{work}.py")
        session.say(f"Added a {work} to the tower.").prompt(routine).touch("Edit", "guide.md")
        session.say(f"Updated the guide of the harbour with the {work}.")
    summary = session.summary()
    assert "the guide" not in summary.request + summary.completed
    again = script().prompt(routine).say("Failed.").prompt(routine).touch("Edit", "guide.md")
    assert "guide" in again.say("Updated the guide with the bell.").summary().completed


def test_a_long_prompt_that_a_session_begins_with_is_its_request(script: Make) -> None:
    """Though it is sent again between others."""
    asked = f"Update the guide of the harbour. {'Say what is new. ' * 15}"
    session = script().prompt(asked).touch("Edit", "guide.md").say("Updated the guide of the quay.")
    session.prompt("hang a bell in the tower").touch("Edit", "bell.py").say("Added the bell there.")
    session.prompt(asked).touch("Edit", "guide.md").say("Looked at the guide of the harbour again.")
    summary = session.summary()
    assert summary.request.startswith("Update the guide of the harbour")
    assert "guide of the quay" in summary.completed


@pytest.mark.parametrize(
    ("said", "learned", "completed"),
    [
        (
            "灯塔的油灯更新完成，全部换成了新的灯芯。原因是旧灯芯受潮，导致灯每晚都会熄灭。",
            "原因是旧灯芯受潮",
            "灯塔的油灯更新完成",
        ),
        (
            "港の灯台のランプを新しいものに交換しました。古い芯が湿っていたのが原因で、毎晩消えていました。",
            "古い芯が湿っていたのが原因",
            "港の灯台のランプ",
        ),
        (
            "Die Lampe am Tor wurde durch eine neue ersetzt. Das Problem war der feuchte Docht, "
            "weil der Hafen keinen trockenen Lagerraum hat.",
            "Das Problem war der feuchte Docht",
            "Die Lampe am Tor wurde",
        ),
    ],
)
def test_causes_and_deeds_are_told_in_other_languages(
    script: Make, said: str, learned: str, completed: str
) -> None:
    """Each in its field, where there is no blank between words as well."""
    session = script().prompt("mend the lamp").touch("Edit", "lamp.py").say(said).summary()
    assert session.learned.startswith(learned) and session.completed.startswith(completed)


def test_completed_names_the_weighty_commits_and_what_the_weighty_turns_report(
    script: Make,
) -> None:
    """Not the last ones: of many commits those of the most lines, without routine."""
    session = script().prompt("build the gate")
    for number in range(9):
        session.touch("Edit", f"gate{number}.py")
    sizes = {"Add the gate": 900, "docs: name the gate": 950, "Bump version to 2": 5}
    big = {f"Hang the very long and heavy door number {n} of the harbour": n for n in range(6)}
    for subject, lines in (sizes | big).items():
        printed = f"[main {lines:07x}] {subject}\n 1 file changed, {lines} insertions(+)"
        session.run(f"git commit -m '{subject}'", printed)
    session.say("Built the gate of the harbour out of oak and iron.")
    session.prompt("and the sign").touch("Edit", "sign.py").say("Painted one sign. Added a nail.")
    done = session.summary().completed
    assert done.startswith("Built the gate of the harbour")
    assert "Add the gate" in done and "number 5" in done and "Bump" not in done
    assert done.endswith(" more).")


@pytest.mark.parametrize("name", ["summary", "changeSummary", "change_summary"])
def test_a_report_in_json_is_read_by_its_summary(script: Make, name: str) -> None:
    """Programs ask for one."""
    report = f'{{"{name}": "Added a \\"lamp\\" to the gate of the harbour.", "files": ["a.py"]}}'
    session = script().prompt("light the gate").touch("Edit", "a.py").say(report)
    assert session.summary().completed.startswith('Added a "lamp" to the gate of the harbour.')
    block = script().prompt("light the gate").touch("Edit", "a.py").say(f"```json\n{report}\n```")
    assert block.summary().completed == session.summary().completed
    session = script().prompt("light the gate").touch("Edit", "a.py")
    session.say(
        f"Moved the wick of the lamp to the tower. Ask for it so:\n\n```json\n{report}\n```"
    )
    assert "Added a" not in session.summary().completed


def _went_back(session: Session) -> None:
    session.prompt("Store the sail plan in SQLite or in JSON, whichever is simpler?")
    session.say("SQLite is simpler, because of the joins that the race log needs.")
    session.add(
        "user", "prompt", "Let's use SQLite instead of JSON for the plan.", subtype=ABANDONED
    )
    session.say(
        "We decided to use SQLite for the sail plan because joins matter.", subtype=ABANDONED
    )
    session.prompt("Let's use JSON instead of SQLite for the plan.")
    session.say("I chose JSON over SQLite because people read the file by hand.")


def test_a_summary_tells_the_branch_that_counts(script: Make) -> None:
    """With the number of prompts that were abandoned; they are no prompts of the summary."""
    session: Script = script()
    _went_back(session)
    summary = session.summary()
    told = " ".join((summary.completed, summary.learned, summary.request, summary.investigated))
    assert "because joins matter" not in told and "JSON" in told
    assert "One prompt abandoned." in summary.notes
    assert (summary.turns, summary.prompts) == (3, 2)


def test_no_observation_comes_from_an_abandoned_branch() -> None:
    """A decision that was taken back is none."""
    session = Session()
    _went_back(session)
    turns = session_turns(session.records, build_turns(session.records))
    told = [str(one.text) for one in observe(turns)]
    assert any("use JSON instead" in text for text in told)
    assert not any("use SQLite instead" in text for text in told)
