"""Paths as stored, and when a path that is asked for is the same file."""

from __future__ import annotations

from memory_assets.chunking import file_matches, touched_by
from memory_assets.chunking.digest import stored_path, without_root
from memory_assets.redacted_text import RedactedText, seal
from memory_assets_tests.sweep import sweep


@sweep(
    "path, root, cwd, stored",
    [
        ("/home/ada/app/src/a.py", "/home/ada/app", "/home/ada/app/src", "src/a.py"),
        ("/home/ada/app-wt/src/a.py", "/home/ada/app", "/home/ada/app-wt", "src/a.py"),
        ("/home/ada/app2/a.py", "/home/ada/app", "", "/home/ada/app2/a.py"),
        ("C:\\app\\src\\a.py", "C:\\app", "", "src/a.py"),
        ("c:/app/src\\a.py", "C:\\app", "", "src/a.py"),
        ("./src/a.py", "", "", "src/a.py"),
        ("src/a.py", "/home/ada/app", "", "src/a.py"),
    ],
)
def test_paths_are_stored_relative(path: str, root: str, cwd: str, stored: str) -> None:
    """To the project's root where it is under it, else to the working directory, else as is."""
    found = stored_path(seal(path), root, cwd)
    assert found == stored
    assert isinstance(found, RedactedText)


@sweep(
    "stored, asked, same",
    [
        ("src/a.py", "a.py", True),
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "./src/a.py", True),
        ("src/a.py", "/home/ada/app/src/a.py", True),
        ("src\\a.py", "src/a.py", True),
        ("src/data.py", "a.py", False),
        ("src/a.py", "lib/a.py", False),
        ("src/a.py", "src", False),
        ("src/a.py", "", False),
    ],
)
def test_files_match_by_their_last_parts(stored: str, asked: str, same: bool) -> None:
    """One path ends with the other at a directory's boundary."""
    assert file_matches(stored, asked) is same


def test_commands_lose_the_projects_root() -> None:
    """Every path under the root becomes relative; other text stays."""
    text = seal("cp /home/ada/app/a /home/ada/app/b /home/ada/other/c")
    assert without_root(text, "/home/ada/app") == "cp a b /home/ada/other/c"
    assert without_root(text, "/") == text
    assert without_root(text, "") == text


@sweep(
    "asked, found",
    [
        ("src/a.py", {"src/a.py"}),
        ("src", {"src/a.py", "src/deep/b.py", "/home/ada/lib/src/c.py"}),
        ("src/", {"src/a.py", "src/deep/b.py", "/home/ada/lib/src/c.py"}),
        ("src/deep", {"src/deep/b.py"}),
        ("/home/ada/app/src/deep", {"src/deep/b.py"}),
        ("lib/src", {"/home/ada/lib/src/c.py"}),
        ("deep/b.py/x", set()),
        ("docs", {"docs"}),
        (".", set()),
    ],
)
def test_a_directory_stands_for_the_files_in_it(asked: str, found: set[str]) -> None:
    """At any depth, unless there is a file of that name."""
    paths = ("src/a.py", "src/deep/b.py", "/home/ada/lib/src/c.py", "docs", "old/docs/x.md")
    assert touched_by(paths, asked) == found
