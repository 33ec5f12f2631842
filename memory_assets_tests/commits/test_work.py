"""What a session itself says: paths, written lines, names in trailers."""

from __future__ import annotations

import pytest

from memory_assets.commits.attribution import same_file
from memory_assets.commits.work import Written, telling_line, trailer_names
from memory_assets.models import Turn
from memory_assets.redacted_text import seal
from memory_assets_tests.commits.conftest import Session


def test_only_what_an_edit_wrote_counts_as_written(session: Session) -> None:
    """Not what it replaced, and no line that could stand anywhere."""
    text = (
        "file_path: a.py\nold_string:\nreplaced = compute_the_old_thing()\nnew_string:\n"
        "    written = compute_the_new_thing()\n}\n\nreplace_all: false"
    )
    session.add(
        "assistant", "tool_use", text, tool_name=seal("Edit"), tool_use_id="e",
        paths=(seal("a.py"),),
    )  # fmt: skip
    (written,) = session.work().written
    assert written.lines == {"written = compute_the_new_thing()"}


def test_the_added_lines_of_a_patch_count_as_written(session: Session) -> None:
    """For each file that it names."""
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@\n-gone = 'an old line of it'\n"
        "+fresh = 'a new line of it'\n*** End Patch"
    )
    session.add("assistant", "tool_use", patch, tool_name=seal("apply_patch"), tool_use_id="p")
    (written,) = session.work().written
    assert (written.path, written.lines) == (
        seal("src/a.py"),
        frozenset({"fresh = 'a new line of it'"}),
    )


def test_a_call_that_failed_wrote_nothing(session: Session) -> None:
    """Rejected by the human, or stale."""
    more = {"tool_name": seal("Edit"), "tool_use_id": "e", "paths": (seal("a.py"),)}
    session.add("assistant", "tool_use", "new_string: a_line_of_code()", **more)
    session.add("tool", "tool_result", "rejected", is_error=True, **more)
    assert session.work().written == []


@pytest.mark.parametrize(
    ("path", "cwd", "asked", "same"),
    [
        ("/home/mara/shop/src/a.py", "/home/mara/shop", "src/a.py", True),
        ("/home/mara/shop/lib/src/a.py", "/home/mara/shop", "src/a.py", False),
        ("~/shop/src/a.py", "~/shop", "src/a.py", True),
        ("/worktrees/shop-2/src/a.py", "/worktrees/shop-2", "src/a.py", True),
        ("/elsewhere/a.py", "/home/mara/shop", "a.py", False),
        ("src/a.py", "/home/mara/shop", "src/a.py", True),
        ("a.py", "/home/mara/shop/src", "src/a.py", True),
        ("b.py", "/home/mara/shop", "src/a.py", False),
    ],
)
def test_paths_are_matched_by_their_end_with_care(
    path: str, cwd: str, asked: str, same: bool
) -> None:
    """Below a known root exactly; from elsewhere only with a directory."""
    written = Written(Turn("s1", 0, None, ()), seal(path), seal(cwd), None, frozenset())
    root = "~/shop" if path.startswith("~") else "/home/mara/shop"
    assert same_file(written, root, asked) is same


def test_trailers_name_a_session_by_value_or_by_the_end_of_an_address() -> None:
    """Other trailers name none."""
    message = (
        "Add a gate\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n"
        "Claude-Session: https://claude.ai/code/session_01ABC\nReviewed-by: Mara"
    )
    assert trailer_names(message) == {"https://claude.ai/code/session_01ABC", "session_01ABC"}


@pytest.mark.parametrize("line", ["}", "", "else:", "    return None", "+ ]);"])
def test_lines_that_stand_in_any_file_tell_nothing(line: str) -> None:
    """Fewer than eight letters and digits, or a bare `return`."""
    assert telling_line(line) == "" or line.strip() == "return None"
