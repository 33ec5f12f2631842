"""`memory restore`: the contents of a file, as sessions wrote, read and edited it; and one file of
Windows, however it is spelled, is one file in `restore`, `blame` and filters by file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.files.blame import blame, touching_turns
from memory_assets.recall.files.restore import FileText, Hunk, restore
from memory_assets.recall.memory import Memory
from memory_assets.requests.questions import RestoreRequest
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.worked import START, Call, Worked, shell

APP, SITE = "/work/app", "/work/site"
TIDE = f"{APP}/src/tide.py"
PATCH = """*** Begin Patch
*** Update File: src/reef.py
@@ def second():
-    return 1
+    return 2
*** End Patch"""


def _write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": path, "content": content}, "written")


def _edit(path: str, old: str, new: str, **more: Any) -> Call:
    given = {"file_path": path, "old_string": old, "new_string": new, **more}
    return Call("Edit", given, "updated")


def _read(path: str, output: str, **more: Any) -> Call:
    return Call("Read", {"file_path": path, **more}, output)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Worked:
    """Files written, edited, read in part, patched, deleted and cut by redaction."""
    made = Worked(tmp_path_factory.mktemp("restore"))
    made.session(
        "1",
        _write(TIDE, "high = 1\nlow = 1\n"),
        _edit(TIDE, "1", "2", replace_all=True),
        Call("Edit", {"file_path": TIDE, "old_string": "2", "new_string": "9"}, "no", failed=True),
        cwd=APP,
    )
    made.session("2", _edit(TIDE, "low = 2", "low = 3\nnever = 0"), cwd=APP, days=1)
    made.session(
        "3",
        shell("cat src/reef.py", "def first():\n    return 1\n\ndef second():\n    return 1"),
        shell(f"apply_patch <<'E'\n{PATCH}\nE"),
        _read("notes.md", "     3→third\n     4→fourth", offset=3, limit=2),
        _edit("notes.md", "third", "3rd"),
        _edit("notes.md", "seventh", "7th"),
        shell("sed -n '8,9p' notes.md", "eighth\nninth"),
        _edit("blind.md", "old", "new words"),
        _write("gone.md", "here"),
        shell("rm gone.md"),
        _write("big.md", "a long line\n" * 5_000),
        shell("cat tides.tsv", "20260101120000\t1.4\n20260101130000\t1.9"),
        _read("heights.tsv", "7\tseven\n1999999999999\tmany"),
        shell("nl gaps.py", "     1\tfirst = 1\n       \n     2\tsecond = 2"),
        shell("nl -ba gaps.py | sed -n '2,3p'", "     2\t\n     3\tsecond = 2"),
        _write("keys.env", "TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a\nPORT=1\n"),
        cwd=APP,
        days=2,
    )
    made.session("4", _write("notes.md", "of the site"), cwd=SITE, days=3)
    return made


@pytest.fixture(scope="module")
def memory(worked: Worked) -> Memory:
    """The memory of them."""
    return worked.memory()


def _restore(memory: Memory, file: str, **more: Any) -> dict[str, Any]:
    return restore(memory, RestoreRequest(file, **more), Path(APP))


def test_edits_are_applied_to_what_was_written(memory: Memory) -> None:
    """Over sessions; a call that failed did nothing. By path, end of a path, or name."""
    for name in (TIDE, "src/tide.py", "tide.py", "./src/tide.py"):
        found = _restore(memory, name)
        assert (found["file"], found["complete"], found["missing"]) == (TIDE, True, [])
        assert found["text"] == "high = 2\nlow = 3\nnever = 0\n"
    assert [each["kind"] for each in found["events"]] == ["written", "edited", "edited"]
    assert found["session_id"].startswith("00000002")


def test_a_time_or_a_session_says_which_state(memory: Memory) -> None:
    """After its last event then, or of that session."""
    assert _restore(memory, TIDE, session="00000001")["text"] == "high = 2\nlow = 2\n"
    first = START + timedelta(minutes=1, seconds=30)
    assert _restore(memory, TIDE, at=first)["text"] == "high = 1\nlow = 1\n"
    with pytest.raises(NotFound, match="another time or session"):
        _restore(memory, TIDE, at=START)
    with pytest.raises(NotFound, match="another time or session"):
        _restore(memory, TIDE, session="00000003")
    with pytest.raises(ConfigurationError, match="not both"):
        RestoreRequest(TIDE, at="7d", session="x")  # type: ignore[arg-type]


def test_a_patch_is_applied_below_its_header(memory: Memory) -> None:
    """To what a command printed."""
    found = _restore(memory, "reef.py")
    assert found["text"] == "def first():\n    return 1\n\ndef second():\n    return 2\n"
    assert found["complete"]


def test_lines_that_nobody_read_are_marked(memory: Memory) -> None:
    """And why they are not there; the file of the directory is meant before others."""
    found = _restore(memory, "notes.md")
    assert found["text"].splitlines() == [
        "<not on record: lines 1 to 2>", "3rd", "fourth",
        "<not on record: lines 5 to 7>", "eighth", "ninth", "<not on record: what follows>",
    ]  # fmt: skip
    edit, end = found["missing"]
    assert edit.startswith("an edit at") and end == "where the file ends is not known"
    assert not found["complete"]
    blind = _restore(memory, "blind.md")
    assert "new words" in blind["text"] and "<not on record: some lines>" in blind["text"]


def test_numbers_that_a_file_has_itself_are_no_numbers_of_lines(memory: Memory) -> None:
    """`cat` numbers nothing, tools number without a gap, and `nl` leaves out empty lines unless it
    is told not to."""
    assert _restore(memory, "tides.tsv")["text"] == "20260101120000\t1.4\n20260101130000\t1.9\n"
    assert _restore(memory, "heights.tsv")["text"] == "7\tseven\n1999999999999\tmany\n"
    found = _restore(memory, "gaps.py")
    assert found["text"] == "<not on record: line 1>\n\nsecond = 2\n<not on record: what follows>\n"


def test_what_was_deleted_or_cut_is_said(memory: Memory) -> None:
    """Contents over the limit of redaction, and a secret's tag in its place."""
    gone = _restore(memory, "gone.md")
    assert gone["text"] == "<not on record: what follows>\n"
    assert "changed by a command" in gone["missing"][0]
    assert _restore(memory, "gone.md", at="2026-04-01T08:08:30+00:00")["text"] == "here"
    assert "written" in _restore(memory, "big.md")["missing"][0]
    keys = _restore(memory, "keys.env")
    assert "ghp_" not in keys["text"] and not (keys["complete"] and keys["redactions"] == 0)


def test_several_files_are_listed_and_none_is_an_error(memory: Memory) -> None:
    """With their paths in full."""
    with pytest.raises(ConfigurationError, match=f"{APP}/notes.md, {SITE}/notes.md; give"):
        restore(memory, RestoreRequest("notes.md"), Path("/elsewhere"))
    for nothing in ("nobody.md", "/", "..", "src/"):
        with pytest.raises(NotFound, match="no session wrote or read a file"):
            _restore(memory, nothing)


def test_output_is_written_exactly_and_never_over_a_file_without_force(
    worked: Worked, memory: Memory, tmp_path: Path
) -> None:
    """What is said goes to standard error; without --output the text is printed."""
    own = worked.environment()
    target, text = tmp_path / "back.py", _restore(memory, TIDE)["text"]
    done = run_here(own, "restore", TIDE)
    assert (done.returncode, done.stdout) == (0, text)
    assert "whole" in done.stderr and TIDE in done.stderr
    done = run_here(own, "restore", TIDE, "--output", str(target))
    assert (done.returncode, done.stdout) == (0, "") and target.read_text() == text
    target.write_text("mine")
    refused = run_here(own, "restore", TIDE, "--output", str(target))
    assert refused.returncode == 2 and "--force" in refused.stderr
    assert target.read_text() == "mine"
    assert run_here(own, "restore", TIDE, "--output", str(target), "--force").returncode == 0
    assert target.read_text() == text
    assert run_here(own, "restore", TIDE, "--output", str(tmp_path / "no" / "x")).returncode == 2


@given(some.data())
def test_every_line_that_is_told_is_a_line_of_the_file(data: some.DataObject) -> None:
    """Read in parts and patched where it is known, in any order."""
    file, text = [f"line {number}" for number in range(8)], FileText()
    for step in range(6):
        first = data.draw(some.integers(0, len(file) - 1))
        end = data.draw(some.integers(first + 1, len(file)))
        new = [f"{step}.{number}" for number in range(data.draw(some.integers(1, 3)))]
        if data.draw(some.booleans()):
            assert text.overlay(dict(enumerate(file[first:end], first + 1)))
        elif text.patch([Hunk("", tuple(file[first:end]), tuple(new))]) == 0:
            file[first:end] = new
        elif not text.placed:
            text.forget()
    assert all(one in (None, other) for one, other in zip(text.lines, file, strict=False))
    text.overlay(dict(enumerate(file, 1)))
    assert text.lines == file


def test_hunks_are_found_in_order() -> None:
    """Equal lines further up are left alone."""
    text = FileText()
    text.replace("a\nx\nb\nx\nc\nx\n", exact=True)
    assert text.patch([Hunk("b", ("x",), ("y",)), Hunk("", ("x",), ("z",))]) == 0
    assert text.rendered() == "a\nx\nb\ny\nc\nz\n"
    assert text.patch([Hunk("", ("q",), ("r",))]) == 1


SHOP = r"C:\Users\ada\shop"
SPELLINGS = (
    r"C:\Users\ada\shop\conf\app.json",
    "c:/Users/ada/shop/conf/app.json",
    r"C:\Users\ada\shop/conf\app.json",
    r"conf\app.json",
)


@pytest.fixture(scope="module")
def of_windows(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A file that was written once in each spelling, and another file of its name."""
    worked = Worked(tmp_path_factory.mktemp("windows"))
    written = [
        Call("Write", {"file_path": path, "content": f'{{"a": {place}}}\n'}, "written")
        for place, path in enumerate(SPELLINGS)
    ]
    worked.session("1", shell("dir"), *written, cwd=SHOP)
    return worked.memory()


@pytest.mark.parametrize("name", ["app.json", "conf/app.json", *SPELLINGS])
def test_a_file_that_was_written_in_four_spellings_is_one(
    of_windows: Memory, name: str, tmp_path: Path
) -> None:
    """Each is a name of it, and what was written last is in it."""
    found = restore(of_windows, RestoreRequest(file=name), tmp_path)
    assert (found["text"], len(found["events"]), found["complete"]) == ('{"a": 3}\n', 4, True)


def test_it_is_one_file_of_its_turn(of_windows: Memory, tmp_path: Path) -> None:
    """In the turn's list of files, in search by file, and in blame."""
    projects = of_windows.lake.projects(TURN_CHUNKS)
    for name in ("conf/app.json", r"conf\app.json", "app.json"):
        (turn,) = touching_turns(of_windows.lake, projects, [name])
        assert [str(path) for path in turn["files"]] == ["conf/app.json"]
        assert [one["turn_id"] for one in blame(of_windows, name, tmp_path)["turns"]] == [
            turn["turn_id"]
        ]
