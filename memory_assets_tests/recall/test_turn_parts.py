"""`get` tells of a turn what is read first, then what was said on the way and the calls; by short
ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import NotFound
from memory_assets.recall.ids import may_be_id
from memory_assets.recall.names import end_of_project, id_named, project_named, shortened
from memory_assets.recall.sessions.anchors import resolve_anchor
from memory_assets.recall.turn_parts import turn_parts
from memory_assets.requests.questions import GetRequest
from memory_assets.serving.tool_answers import answer_tool
from memory_assets_tests.recall.worked import Call, Worked, shell

HERE = "/home/mara/code/kiln"
EDIT = {"file_path": f"{HERE}/damper.py", "old_string": "a", "new_string": "b"}
CALLS = [
    Call(said="Let me look at the damper."),
    shell("grep -rn hinge ."),
    Call("Edit", EDIT),
    shell("git commit -am 'Fix the hinge'", "[main 1f2e3d4] Fix the hinge\n 1 file changed"),
    Call(said="The hinge was rusted. It opens now."),
]


def test_a_turn_begins_with_its_end(tmp_path: Path) -> None:
    """The prompt, the last message, what was changed and committed; then the rest."""
    worked = Worked(tmp_path)
    session = worked.session("a", *CALLS, cwd=HERE)
    memory = worked.memory()
    parts = turn_parts(memory, *memory.catalog.products.spans()[0][:2], 0)
    assert parts is not None
    assert parts.first == (
        "Work on a.\n\nThe hinge was rusted. It opens now.\n\n"
        "Changed: damper.py\nCommitted: 1f2e3d4 Fix the hinge"
    )
    assert parts.rest.startswith("Let me look at the damper.\n\nEdit: damper.py\nBash: git commit")
    assert turn_parts(memory, memory.catalog.products.spans()[0][0], session, 7) is None


@pytest.mark.parametrize(
    ("calls", "first"),
    [
        ([Call(said="It opens.")], "Work on a.\n\nIt opens."),
        ([Call(said="I'll look."), shell("ls")], "Work on a.\n\nI'll look."),
        (
            [Call(said="I'll test."), shell("make", "error: no rule to make it", failed=True)],
            "Work on a.\n\nI'll test.\n\nFailed last: error: no rule to make it",
        ),
    ],
)
def test_a_turn_that_broke_off_begins_with_what_was_said_last(
    tmp_path: Path, calls: list[Call], first: str
) -> None:
    """And with the failure that it ended with."""
    worked = Worked(tmp_path)
    worked.session("a", *calls, cwd=HERE)
    memory = worked.memory()
    parts = turn_parts(memory, *memory.catalog.products.spans()[0][:2], 0)
    assert parts is not None and parts.first == first


def test_get_tells_the_rest_on_a_page_of_its_own(tmp_path: Path) -> None:
    """The project once, the short id, and the call that gives the rest."""
    worked = Worked(tmp_path)
    worked.session("a", *CALLS, cwd=HERE)
    memory = worked.memory()
    structured, text = answer_tool(memory, "get", GetRequest(("0000000a:0",)))
    assert structured["project"] == "kiln" and structured["pages"] == 2
    assert text.splitlines()[1] == "Project kiln"
    assert text.splitlines()[2].startswith("## 0000000a:0  2026-03-30")
    assert 'get(ids=["0000000a:0"], page=2)' in text and "Let me look" not in text
    rest = answer_tool(memory, "get", GetRequest(("0000000a:0",), page=2))[1]
    assert "Let me look" in rest and "It opens now" not in rest


def test_a_short_id_is_taken_wherever_an_id_is(tmp_path: Path) -> None:
    """A turn as SESSION:TURN, other rows with the beginning of the session's id; what is no turn
    may be a file and its line."""
    worked = Worked(tmp_path)
    session = worked.session("a", *CALLS, cwd=HERE)
    memory = worked.memory()
    turn = f"session::{session}::turn::0"
    short = shortened(memory, f"{turn}::part::1", session)
    assert short == "0000000a:0" and id_named(memory, short).id == turn
    assert memory.show(short) == memory.show(turn)
    assert resolve_anchor(memory, short).item_id == turn
    assert may_be_id(short) and not may_be_id("hinge:12")
    commit = f"commit::{session}::1f2e3d4"
    assert shortened(memory, commit, session) == "commit::0000000a::1f2e3d4"
    assert shortened(memory, "kiln::docs/a.md::1", "docs/a.md") == "kiln::docs/a.md::1"
    with pytest.raises(NotFound, match="nothing in memory is called"):
        resolve_anchor(memory, "nowhere:12")


def test_the_end_of_a_project_means_it_alone(tmp_path: Path) -> None:
    """As few words as no other project ends with."""
    worked = Worked(tmp_path)
    for name, place in (("a", HERE), ("b", "/home/mara/old/kiln"), ("c", "/home/mara/code/door")):
        worked.session(name, *CALLS, cwd=place)
    catalog = worked.memory().catalog
    known = catalog.projects()
    ends = {end_of_project(known, project): project for project in known}
    assert sorted(ends) == ["code-kiln", "door", "old-kiln"]
    assert all(project_named(catalog, end) == project for end, project in ends.items())
