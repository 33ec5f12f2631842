"""Every record of a turn, as it was kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.paths import project_slug
from memory_assets.recall.memory import Memory
from memory_assets.recall.names import looks_like_id, resolve_id, shortest_id
from memory_assets.recall.rows import summary_text
from memory_assets.recall.sessions import records
from memory_assets.recall.sessions.records import as_diff, record_page, records_behind
from memory_assets.recall.sessions.timeline import resolve_anchor
from memory_assets.recall.show import turn_parts
from memory_assets.requests.questions import GetRequest, ShowRequest
from memory_assets.serving.answer_lines import page_note, record_lines
from memory_assets.serving.tool_answers import answer_tool
from memory_assets_tests.recall.conftest import LOGIN, REPORTS, Asked
from memory_assets_tests.recall.worked import Call, Worked, shell
from memory_assets_tests.sweep import sweep

TURN = f"session::{REPORTS}::turn::0"
SUBAGENT = "b41c07e"
Place = tuple[str | None, int]


def _places(entries: list[dict[str, Any]]) -> list[Place]:
    return [(each["agent_id"], each["seq"]) for each in entries]


def _kept(asked: Asked, session_id: str) -> dict[Place, dict[str, Any]]:
    rows = asked.rows("redacted_records")
    return {(row["agent_id"], row["seq"]): row for row in rows if row["session_id"] == session_id}


def test_every_record_of_a_turn_is_there_as_it_was_kept(asked: Asked) -> None:
    """From its prompt to the next one, a subagent's records behind the call that started it."""
    kept = _kept(asked, REPORTS)
    found = records_behind(asked.memory, TURN, subagents=True)
    second = next(
        seq for (agent, seq), row in kept.items() if row["kind"] == "prompt" and seq and not agent
    )
    assert sorted(_places(found), key=str) == sorted(
        (place for place in kept if place[0] or place[1] < second), key=str
    )
    for each in found:
        row = kept[each["agent_id"], each["seq"]]
        assert each["text"] == row["text"] and each["kind"] == row["kind"]
        assert each["turn_id"] == TURN and each["is_error"] == row["is_error"]
    call = next(at for at, each in enumerate(found) if each["agent_id"])
    assert found[call - 1]["tool"] == "Task"


def test_a_subagents_records_are_one_entry_unless_asked_for(asked: Asked) -> None:
    """Which says how many they are, and what was called."""
    whole = records_behind(asked.memory, TURN, subagents=True)
    folded = records_behind(asked.memory, TURN)
    entry = next(each for each in folded if each["agent_id"])
    own = [each for each in whole if each["agent_id"] == SUBAGENT]
    assert (entry["kind"], entry["agent_id"]) == ("subagent", SUBAGENT)
    assert entry["text"] == f"{len(own)} records, calls: Grep 1"
    assert [each for each in folded if each is not entry] == [
        each for each in whole if each not in own
    ]


def test_the_ids_of_other_things_lead_to_the_records_of_their_turns(asked: Asked) -> None:
    """A session's to all, an observation's and a commit's to where they come from."""
    everything = records_behind(asked.memory, REPORTS, subagents=True)
    assert len(everything) == len(_kept(asked, REPORTS))
    assert records_behind(asked.memory, f"summary::{REPORTS}", subagents=True) == everything
    assert records_behind(asked.memory, f"prompt::{REPORTS}::0") == records_behind(
        asked.memory, TURN
    )
    beside = records_behind(asked.memory, f"session::{REPORTS}::turn::1", 1, subagents=True)
    assert {each["turn_id"][-1] for each in beside} == {"0", "1", "2"}
    observed = next(row for row in asked.rows("observations") if row["session_id"] == REPORTS)
    turns = {each["turn_id"] for each in records_behind(asked.memory, observed["id"])}
    assert turns == set(observed["turn_ids"])
    commit = next(row for row in asked.rows("session_commits") if row["session_id"] == LOGIN)
    assert {each["turn_id"] for each in records_behind(asked.memory, commit["commit"])} == {
        commit["turn_id"]
    }


def test_a_turn_that_is_not_there_has_no_records(asked: Asked) -> None:
    """As it has no text."""
    with pytest.raises(NotFound, match="no turn is behind session::"):
        records_behind(asked.memory, f"session::{REPORTS}::turn::99")


def test_pages_hold_every_record_once(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole records, the longest alone; one page too many is refused."""
    everything = records_behind(asked.memory, REPORTS)
    monkeypatch.setattr(records, "PAGE_CHARACTERS", 300)
    first = record_page(asked.memory, ShowRequest(REPORTS, records=True))
    pages = [
        record_page(asked.memory, ShowRequest(REPORTS, records=True, page=number))
        for number in range(1, first["pages"] + 1)
    ]
    assert [each for page in pages for each in page["records"]] == everything
    assert len(pages) > 3 and all(page["records"] for page in pages)
    assert next(page_note(pages[0])) == f"Page 1 of {len(pages)}; --page 2 goes on."
    assert next(page_note(pages[-1])) == f"Page {len(pages)} of {len(pages)}."
    with pytest.raises(ConfigurationError, match=f"the last is {len(pages)}"):
        record_page(asked.memory, ShowRequest(REPORTS, records=True, page=len(pages) + 1))


def test_an_edit_is_printed_as_a_diff_of_its_file(asked: Asked) -> None:
    """Instead of the old text and the new one; the JSON has both forms."""
    found = records_behind(asked.memory, LOGIN)
    edit = next(each for each in found if each["tool"] == "Edit" and each["kind"] == "tool_use")
    assert "old_string" in edit["text"]
    lines = "\n".join(record_lines([edit]))
    assert "--- ~/work/tidepool-web/src/auth/state.ts\n@@\n-sameSite: 'strict'\n+sameSite:" in lines
    assert "old_string" not in lines


_EDITS = json.dumps([{"oldText": "a\nb", "newText": "a\nc"}, {"oldText": "x", "newText": "y"}])


@sweep(
    "call, diff",
    [
        ("file_path: a.py\nold_string: x\nnew_string: y", "@@\n-x\n+y"),
        ("file_path: a.py\nold_string:\na\nb\nnew_string:\na\nc", "@@\n a\n-b\n+c"),
        ("old_string: x\nnew_string: y\nreplace_all: true", "@@\n-x\n+y"),
        ("old_string: x\nnew_string:\nkey: y\nz", "@@\n-x\n+key: y\n+z"),
        ("path: a\nold_str:\nx\n\nnew_str: y", "@@\n-x\n+y"),
        ("path: a\noldText: gone\nnewText:", "@@\n-gone"),
        ("old_str: x\nold_str: y\nnew_str: z\npath: a", "@@\n-x\n-old_str: y\n+z"),
        ("new_str: x\nold_str: y\nold_str: z", None),
        (f"path: a\nedits: {_EDITS}", "@@\n a\n-b\n+c\n@@\n-x\n+y"),
        ('path: a\nedits: [{"oldText": "<redacted', None),
        ("path: a\nedits: [7]", None),
        ("file_path: a.py\nold_string: <redacted-file-contents-of-9-bytes>", None),
        ("file_path: a.py\ncontent:\nx", None),
        ("command: echo old_string: x", None),
    ],
)
def test_calls_that_replace_text_have_a_diff(call: str, diff: str | None) -> None:
    """In the forms in which the agents' tools write them; what was cut has none."""
    assert as_diff(call) == diff


HERE = "/home/mara/code/kiln"
SESSION = "0000000a-0000-4000-8000-000000000001"
EDIT = {"file_path": f"{HERE}/damper.py", "old_string": "a", "new_string": "b"}
CALLS = [
    Call(said="Let me look at the damper."),
    shell("grep -rn hinge ."),
    Call("Edit", EDIT),
    shell("git commit -am 'Fix the hinge'", "[main 1f2e3d4] Fix the hinge\n 1 file changed"),
    Call(said="The hinge was rusted. It opens now."),
]


@pytest.fixture(scope="module")
def kiln(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A memory of the session `SESSION`, which made these calls."""
    worked = Worked(tmp_path_factory.mktemp("kiln"))
    assert worked.session("a", *CALLS, cwd=HERE) == SESSION
    return worked.memory()


CAUSE = f"## Root cause\n\n{'The hinge of the damper is rusted. ' * 12}".rstrip()


def test_a_turn_begins_with_its_end(kiln: Memory) -> None:
    """The prompt, the last message, what was changed and committed; then the rest."""
    parts = turn_parts(kiln, project_slug(HERE), SESSION, 0)
    assert parts is not None
    assert parts["text"] == (
        "Work on a.\n\nThe hinge was rusted. It opens now.\n\n"
        "Changed: damper.py\nCommitted: 1f2e3d4 Fix the hinge"
    )
    assert parts["rest"].startswith(
        "Let me look at the damper.\n\nEdit: damper.py\nBash: git commit"
    )
    assert turn_parts(kiln, project_slug(HERE), SESSION, 7) is None


BEGINNINGS: list[tuple[list[Call], str]] = [
    ([Call(said="It opens.")], "It opens."),
    ([Call(said="I'll look."), shell("ls")], "I'll look."),
    ([Call(said=CAUSE), shell("oil"), Call(said="It opens.")], f"{CAUSE}\n\nIt opens."),
    (
        [Call(said="I'll test."), shell("make", "error: no rule to make it", failed=True)],
        "I'll test.\n\nFailed last: error: no rule to make it",
    ),
    (
        [*CALLS[1:4], Call(said='Committed 1f2e3d4: Fix the hinge\n\n::git-push{cwd="/kiln"}\n')],
        "Committed 1f2e3d4: Fix the hinge\n\nChanged: damper.py",
    ),
]


def test_a_turn_begins_with_what_was_said_last(tmp_path: Path) -> None:
    """After the report of a cause before the work on it; with the failure that it ended with; of
    commits only what that does not tell already."""
    worked = Worked(tmp_path)
    ids = [worked.session(str(at), *calls, cwd=HERE) for at, (calls, _) in enumerate(BEGINNINGS, 1)]
    memory = worked.memory()
    for at, (session, (_, first)) in enumerate(zip(ids, BEGINNINGS, strict=True), 1):
        parts = turn_parts(memory, project_slug(HERE), session, 0)
        assert parts is not None and parts["text"] == f"Work on {at}.\n\n{first}"


def test_get_tells_the_rest_on_a_page_of_its_own(kiln: Memory) -> None:
    """The project once, the short id, and the call that gives the rest."""
    structured, text = answer_tool(kiln, "get", GetRequest(("0000000a:0",)))
    assert structured["project"] == "kiln" and structured["pages"] == 2
    assert text.splitlines()[1] == "Project kiln"
    assert text.splitlines()[2].startswith("## 0000000a:0  2026-03-30")
    assert 'get(ids=["0000000a:0"], page=2)' in text and "Let me look" not in text
    rest = answer_tool(kiln, "get", GetRequest(("0000000a:0",), page=2))[1]
    assert "Let me look" in rest and "It opens now" not in rest


def test_get_tells_of_a_session_in_order_of_use(kiln: Memory) -> None:
    """Each field by its name; then how to go on."""
    lines = answer_tool(kiln, "get", GetRequest(("0000000a",)))[1].splitlines()
    assert lines[4:7] == [
        "Asked: Work on a.",
        "Committed: 1f2e3d4 Fix the hinge",
        "Changed: damper.py",
    ]
    assert lines[-1] == 'Next: summarize_session(session="summary::0000000a") for its turns.'


@pytest.mark.parametrize(
    ("completed", "done"),
    [
        ("Oiled it. Committed: Fix the hinge.", "Oiled it."),
        ("Oiled it. Committed: Fix the hinge. Wrote a plan: Air.", "Oiled it. Wrote a plan: Air."),
        ("Committed: Fix the hinge (and 2 more).", ""),
        ("Committed: all of it. Committed: Fix the hinge.", "Committed: all of it."),
        ("Said: Committed: yes. Oiled it.", "Said: Committed: yes. Oiled it."),
    ],
)
def test_what_was_done_is_told_without_the_list_of_commits(completed: str, done: str) -> None:
    """And with all that stands around it; the commits have a line of their own."""
    row = dict.fromkeys(("title", "request", "learned", "next_steps", "notes"), "")
    lists = {"errors": [], "files_modified": [], "commits": ["1f2e3d4 Fix the hinge"]}
    lines = summary_text({**row, **lists, "completed": completed}).splitlines()[1:]
    assert lines == [*([f"Done: {done}"] if done else []), "Committed: 1f2e3d4 Fix the hinge"]


def test_a_short_id_is_taken_wherever_an_id_is(kiln: Memory) -> None:
    """A turn as SESSION:TURN, other rows with the beginning of the session's id; what is no turn
    may be a file and its line."""
    turn = f"session::{SESSION}::turn::0"
    short = shortest_id(kiln, f"{turn}::part::1", SESSION)
    assert short == "0000000a:0" and resolve_id(kiln, short).id == turn
    assert kiln.show(short) == kiln.show(turn)
    assert resolve_anchor(kiln, short).item_id == turn
    assert looks_like_id(short) and not looks_like_id("hinge:12")
    commit = f"commit::{SESSION}::1f2e3d4"
    assert shortest_id(kiln, commit, SESSION) == "commit::0000000a::1f2e3d4"
    assert shortest_id(kiln, "kiln::docs/a.md::1", "docs/a.md") == "kiln::docs/a.md::1"
    with pytest.raises(NotFound, match="nothing in memory is called"):
        resolve_anchor(kiln, "nowhere:12")
