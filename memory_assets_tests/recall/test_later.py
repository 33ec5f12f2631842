"""A hit says what came of it in a later turn of its session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.cli.printing.hit_view import terminal_lines, what_to_type
from memory_assets.pipeline.indexes.keywords import index_keywords
from memory_assets.recall import Memory
from memory_assets.recall.search.later import SessionTurn as Turn
from memory_assets.recall.search.later import later_of
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.answer_lines import search_lines
from memory_assets.serving.layout import Layout
from memory_assets.serving.tool_answers import answer_tool
from memory_assets_tests.recall.conftest import components_of
from memory_assets_tests.recall.worked import Call, Worked, shell
from memory_assets_tests.sweep import sweep

ASKED = "The damper sticks. Want me to replace the hinge?"


def turn(number: int, prompt: str, reply: str, *edited: str, commands: str = "") -> Turn:
    """A turn of a session."""
    return Turn(f"session::a::turn::{number}", number, prompt, reply, frozenset(edited), commands)


def _indexed(worked: Worked) -> Memory:
    memory = worked.memory()
    for project in memory.catalog.projects():
        index_keywords(components_of(memory), project)
    return memory


@sweep(
    "reply, prompt, is_answered",
    [
        (ASKED, "yes", True),
        (ASKED, "go ahead, but keep the pin", True),
        ("Three ways:\n1. oil\n2. file\nWhich one?", "2", True),
        ("A is safer, B is faster. Which way would you go?", "let's use B", True),
        ("It is staged. Say the word and I push it.", "ok", True),
        ("Which would you like:\n1. oil\n2. file", "Never file it. Use oil.", True),
        (ASKED, "what does the hinge cost?", False),
        (ASKED, "I see the same in the other kiln", False),
        (ASKED, "yes. " + "And another thing is the door of the kiln. " * 9, False),
        ("The damper opens.", "yes", False),
        (f"{ASKED} {'I did, and it opens. ' * 30}", "yes", False),
    ],
)
def test_a_question_is_answered_by_the_next_prompt(
    reply: str, prompt: str, is_answered: bool
) -> None:
    """If the turn ends with it, and the prompt picks or agrees rather than asks or says more."""
    later = later_of("session::a::turn::0", [turn(0, "go", reply), turn(1, prompt, "Hm.")])
    assert (later is not None) is is_answered
    if later is not None:
        assert (later.how, later.turn_id) == ("answered", "session::a::turn::1")


def test_a_bare_answer_is_told_with_what_was_done() -> None:
    """Yes alone says nothing to a reader."""
    done = turn(1, "yes", "Let me look.\n\nReplaced the hinge of the damper.")
    later = later_of("session::a::turn::0", [turn(0, "go", ASKED), done])
    assert later is not None and later.text == "yes → Replaced the hinge of the damper."


def test_what_should_be_is_not_told_as_done() -> None:
    """A list of it is as short as one of what was done."""
    done = turn(1, "2", "After that it should be:\n- Opened without a key\n\nI replaced the lock.")
    later = later_of("session::a::turn::0", [turn(0, "go", ASKED), done])
    assert later is not None and later.text == "2 → I replaced the lock."


STICKS = "why does the damper of the kiln stick"
CAUSE = "Let me look.\n\nThe cause is the hinge: it is too long, so the damper of the kiln sticks."


@sweep(
    "reply, turns, answered_in",
    [
        ("Let me read the plans.", [turn(1, "try again", CAUSE)], 1),
        ("", [turn(1, "yes", "Let me read."), turn(2, "continue", CAUSE)], 2),
        ("The plans are here. Now let me read them.", [turn(1, "go on", CAUSE)], 1),
        ("", [turn(1, f"{STICKS}? It is cold.", "It is too long.")], 1),
        ("", [turn(1, "it did so yesterday", "Rain."), turn(2, "and today", CAUSE)], 2),
        ("", [turn(1, "paint the door", "Painted the door.")], None),
        ("The plans are here. Now let me read them.", [turn(1, "paint the door", CAUSE)], None),
        ("It is the hinge.", [turn(1, "try again", CAUSE)], None),
    ],
)
def test_what_breaks_off_is_answered_where_it_is_gone_on_with(
    reply: str, turns: list[Turn], answered_in: int | None
) -> None:
    """By a prompt that says nothing else, or the same again; what was not answered at all also by
    a reply that has its words."""
    asked = turn(0, STICKS, reply)
    later = later_of(asked.id, [asked, *turns], "damper")
    assert (later and later.turn_id) == (answered_in and f"session::a::turn::{answered_in}")
    assert later is None or later.how == "answered"


def test_a_hit_that_says_nothing_shows_the_report_of_its_task(tmp_path: Path) -> None:
    """As its text, with the turn that gives it, to which the next call leads."""
    worked = Worked(tmp_path)
    calls = [Call(text=STICKS), Call(said="Let me see."), Call(text="try again"), Call(said=CAUSE)]
    session = worked.session("a", *calls, cwd="/home/mara/kiln")
    memory = _indexed(worked)
    asked = SearchRequest(STICKS, n=1)
    answer = memory.ask(asked)
    (hit,) = answer["hits"]
    number = int(hit["turn_id"].rpartition("::")[2])
    assert hit["later"]["turn_id"] == f"session::{session}::turn::{number + 1}"
    short = memory.short_ids([session])[session]
    told = answer_tool(memory, "recall", asked)[1]
    assert f'get(ids=["{short}:{number}", "{short}:{number + 1}"])' in told
    (typed,) = what_to_type(memory, answer)
    assert typed.startswith(f"memory show {short}:{number + 1}:")
    shown = "\n".join(terminal_lines(memory, answer, Layout(100)))
    for text in (told, shown):
        assert "The cause is the hinge" in text.split("Answered in")[0]


@sweep(
    "prompt, reply, is_disputed",
    [
        ("no wait, this was the other kiln", "Then look at the flue.", True),
        ("That's not the hinge.", "Hm.", True),
        ("the pin is shorter, or?", "You’re right, the pin is shorter.", True),
        ("isn't it the pin?", "Good catch. It is.", True),
        ("now paint the door", "Painted.", False),
        ("no need to oil it, paint the door", "Painted.", False),
        ("why is it brass?", "You're right to ask. It does not rust.", False),
    ],
)
def test_what_is_objected_to_is_disputed(prompt: str, reply: str, is_disputed: bool) -> None:
    """By the next prompt, or as its reply concedes."""
    said = turn(0, "go", "The hinge is too long.")
    later = later_of(said.id, [said, turn(1, prompt, reply)])
    assert (later is not None) is is_disputed
    assert later is None or (later.how, later.text) == ("disputed", prompt)


EDIT = turn(0, "use brass", "The hinge is brass now.", "hinge.py")
BACK = "I reverted the hinge to steel."


@sweep(
    "turns, reverted_in",
    [
        ([turn(1, "revert that", BACK, "hinge.py")], 1),
        ([turn(1, "no, put it back", BACK)], 1),
        ([turn(1, "and the door?", "It shuts."), turn(2, "undo the brass", BACK, "hinge.py")], 2),
        ([turn(1, "hm", BACK, "hinge.py", commands="git checkout -- hinge.py")], 1),
        ([turn(1, "revert that", "I could not.", "hinge.py")], None),
        ([turn(1, "oil it", "Oiled.", "hinge.py"), turn(2, "revert that", BACK, "hinge.py")], None),
        (
            [turn(1, "and the door?", "It shuts."), turn(2, "revert the door", BACK, "door.py")],
            None,
        ),
    ],
)
def test_an_edit_is_reverted_by_the_next_one_of_its_files(
    turns: list[Turn], reverted_in: int | None
) -> None:
    """That was asked to take it back and says so; not by what takes back a later edit."""
    later = later_of(EDIT.id, [EDIT, *turns])
    assert (None if later is None else later.turn_id) == (
        None if reverted_in is None else f"session::a::turn::{reverted_in}"
    )
    assert later is None or later.how == "reverted"


FOUND = turn(0, "why?", "The bug is in hinge.py: turn_pin() reads old_angle before it is set.")


@pytest.mark.parametrize(
    ("other", "is_fixed"),
    [
        (turn(1, "fix it", "Fixed: turn_pin() sets old_angle first.", "hinge.py"), True),
        (turn(1, "fix it", "turn_pin() and old_angle: not fixed yet.", "hinge.py"), False),
        (turn(1, "fix it", "Fixed: turn_pin() sets old_angle first.", "door.py"), False),
        (turn(1, "fix the door", "Fixed the door.", "hinge.py"), False),
    ],
)
def test_a_finding_is_fixed_by_an_edit_of_its_file(other: Turn, is_fixed: bool) -> None:
    """That has its names of code, and says that it is done."""
    later = later_of(FOUND.id, [FOUND, other])
    assert (later is not None and later.how == "fixed") is is_fixed


def test_every_surface_tells_it(tmp_path: Path) -> None:
    """JSON, lines, the tool and a terminal."""
    worked = Worked(tmp_path)
    calls = [Call(said=ASKED), Call(text="yes"), Call(said="Replaced the hinge of the damper.")]
    session = worked.session("a", *calls, cwd="/home/mara/kiln")
    memory = _indexed(worked)
    asked = SearchRequest("why does the damper stick", n=2)
    answer = memory.ask(asked)
    first = next(hit for hit in answer["hits"] if hit["turn_id"].endswith("::0"))
    text = "yes → Replaced the hinge of the damper."
    later = {"turn_id": f"session::{session}::turn::1", "how": "answered", "text": text}
    assert json.loads(json.dumps(first["later"])) == later
    line = f"Answered in turn 1: {text}"
    shown = terminal_lines(memory, answer, Layout(100))
    for lines in (search_lines(answer), shown, answer_tool(memory, "recall", asked)[1].split("\n")):
        assert any(each.strip() == line for each in lines)


def test_a_commit_is_reverted_by_a_later_session(tmp_path: Path) -> None:
    """By a command that names it, or in words that do, and not where it is shown, where it might
    be, or where another one is; the hit that made it names the turn by its id."""
    worked, kiln = Worked(tmp_path), "/home/mara/kiln"
    made: dict[str, str] = {}
    for name, part, sha in (
        ("a", "hinge", "b81e40d"),
        ("b", "grate", "77aa01c"),
        ("c", "chimney", "9c0ffee"),
        ("d", "bellows", "1bad5ee"),
    ):
        said = Call(said=f"The kiln has a new {part}.\n\nCommitted as `{sha}`.")
        made[part] = worked.session(name, said, cwd=kiln)
    later = [
        (shell("git revert --no-edit b81e40d"), "Reverted it, because the damper fell out.", 1),
        (shell("make back"), "Reverted 77aa01c2, because no ash fell.", 2),
        (shell("git show 9c0ffee"), "I could revert 9c0ffee if you like.", 3),
        (shell("git revert --no-edit 1bad5ee"), "Reverted it.", -1),
    ]
    ids = [
        worked.session(f"e{place}", call, Call(said=said), cwd=kiln, days=days)
        for place, (call, said, days) in enumerate(later)
    ]
    memory = _indexed(worked)
    came = {}
    for part, session in made.items():
        answer = memory.ask(SearchRequest(f"new {part}", n=8))
        hit = next(
            one for one in answer["hits"] if one["turn_id"] == f"session::{session}::turn::0"
        )
        came[part] = hit["later"] and (hit["later"]["how"], hit["later"]["turn_id"])
        if came[part]:
            line = f"Reverted in {hit['later']['turn_id']}: {hit['later']['text']}"
            assert any(each.strip() == line for each in search_lines(answer))
    reverted = [("reverted", f"session::{one}::turn::0") for one in ids[:2]]
    assert came == {"hinge": reverted[0], "grate": reverted[1], "chimney": None, "bellows": None}
    memory.hidden.add([(memory.catalog.projects().pop(), ids[0])])
    told = [
        [hit.later for hit in memory.search("new hinge", hidden=both).hits]
        for both in (False, True)
    ]
    assert [ids[0] in str(later) for later in told] == [False, True]


def test_what_a_later_session_supersedes_is_told(tmp_path: Path) -> None:
    """If it edits a file of the hit's and says that something which the hit names is gone or
    another, not what it might do, of another file, in another project, or before."""

    def edits(file: str, said: str, cwd: str = "/home/mara/kiln", days: int = 0) -> str:
        edited = {"file_path": f"{cwd}/{file}", "old_string": "a", "new_string": "b"}
        name = f"s{next(count)}"
        return worked.session(name, Call("Edit", edited), Call(said=said), cwd=cwd, days=days)

    worked, count = Worked(tmp_path), iter(range(20))
    pairs = [
        ("hinge", "Removed `hinge_pin`, because the damper fell out.", "hinge.py", 1, "kiln"),
        ("grate", "`grate_pin` is no longer read: the grate holds itself.", "grate.py", 2, "kiln"),
        ("flue", "`flue_pin` could be removed one day.", "flue.py", 3, "kiln"),
        ("bell", "Removed `bell_pin` from the list.", "list.py", 4, "kiln"),
        ("door", "Removed `door_pin`, because it is heavy.", "door.py", -1, "kiln"),
        ("lid", "Removed `lid_pin`, because it is heavy.", "lid.py", 5, "mill"),
        ("vent", "Removed the dust of the vent.", "vent.py", 6, "kiln"),
    ]
    made = {
        part: edits(f"{part}.py", f"The {part} is held by a new pin, `{part}_pin`, from now on.")
        for part, *_ in pairs
    }
    later = {
        part: edits(file, said, f"/home/mara/{place}", days)
        for part, said, file, days, place in pairs
    }
    memory = _indexed(worked)
    came = {}
    for part, session in made.items():
        turn = f"session::{session}::turn::0"
        hits = memory.search(f"{part} held by new pin", n=9).hits
        told = next(hit.later for hit in hits if hit.turn_id == turn)
        came[part] = told and (told.how, told.turn_id)
    superseded = {part: ("superseded", f"session::{later[part]}::turn::0") for part in later}
    assert came == {part: superseded[part] if part in ("hinge", "grate") else None for part in made}
