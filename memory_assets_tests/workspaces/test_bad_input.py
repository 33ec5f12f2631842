"""`memory index` over files and directories that are not as they should be."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli import exit_codes
from memory_assets_tests.command_line import run_here
from memory_assets_tests.unprivileged import without_privileges
from memory_assets_tests.workspaces.conftest import write

Index = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """`memory index` by words, with its exit code and what it says of the last workspace."""
    environment = {"MEMORY_DATA_DIR": str(tmp_path / "data"), "MEMORY_EMBEDDER": "none"}

    def run(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        with without_privileges():
            done = run_here(environment, "index", *map(str, arguments), "--json")
        assert "Traceback" not in done.stderr
        said = json.loads(done.stdout)["workspaces"][-1] if done.stdout else {"said": done.stderr}
        return done.returncode, said

    return run


def test_what_cannot_be_read_is_counted_and_the_others_go_on(tmp_path: Path, index: Index) -> None:
    """Files without text, of unusual names or not well-formed, and links out of the root and in
    circles: a number for each reason, and documents of all that has text; how many are embedded by
    their name is said."""
    root = tmp_path / "harbor"
    good: dict[str, str | bytes] = {
        "malformed.yaml": "a: [1\nb: }\n",
        "mark.md": b"\xef\xbb\xbf# Mark\r\n\r\nText\r\n",
        "latin.md": "größe".encode("latin-1"),
        "tag.yaml": "a: !!python/object/apply:os.abort []\n",
        "new\nline.md": "# Line feed\n",
        "snow ☃ 😀, all.md": "# Snow\n",
        "fixes/1.patch": "+lamp = 1\n",
    }
    write(root, {**good, "empty.md": "", "blank.md": " \n\t\n", "nul.txt": b"a\0b", "big.txt": ""})
    os.truncate(root / "big.txt", 50_000_000)
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(tmp_path)
    code, said = index(root)
    assert code == 0 and said["documents"] == len(good) and said["held_back"] == []
    assert said["skipped"] == {"binary": 1, "empty": 2, "larger than 10 MB": 1, "link": 2}
    assert said["by_name"] == 1


def test_only_where_nothing_could_be_read_is_it_an_error(tmp_path: Path, index: Index) -> None:
    """A file that may not be read is named, and the exit code is 0 while there is another one."""
    root = tmp_path / "harbor"
    write(root, {"a.md": "# Lamps\n", "b.md": "# Gates\n"})
    (root / "a.md").chmod(0)
    (root / "b.md").chmod(0)
    code, said = index(root)
    assert code == exit_codes.ERROR and said["documents"] == 0
    assert [each["file"] for each in said["held_back"]] == ["a.md", "b.md"]
    (root / "b.md").chmod(0o600)
    code, said = index(root)
    assert code == 0 and said["documents"] == 1
    assert [each["file"] for each in said["held_back"]] == ["a.md"]


def test_a_file_that_vanishes_while_it_is_read_is_no_document(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said of it: it is as if it had gone before."""
    root, real = tmp_path / "harbor", Path.read_bytes
    write(root, {"a.md": "# Lamps\n", "b.md": "# Gates\n"})

    def read(path: Path) -> bytes:
        if path.name == "b.md":
            path.unlink()
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    code, said = index(root)
    assert code == 0 and said["documents"] == 1 and said["held_back"] == []


def test_a_directory_of_very_many_files_needs_a_yes(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the number and the option."""
    monkeypatch.setattr("memory_assets.cli.ingesting.index_command._MANY_FILES", 2)
    write(tmp_path / "harbor", {f"{number}.md": "# A\n" for number in range(3)})
    code, said = index(tmp_path / "harbor")
    assert code == exit_codes.USAGE and "more than 2 files" in said["said"]
    assert "--yes" in said["said"]
    assert index(tmp_path / "harbor", "--yes")[0] == 0


def test_a_root_within_a_root_has_its_files_alone(tmp_path: Path, index: Index) -> None:
    """Also in a directory that the outer one ignores, whose rules are not its own. The outer one
    says that it was not entered."""
    outer = tmp_path / "harbor"
    write(outer, {"a.md": "# A\n", "quay/b.md": "# B\n"})
    write(outer, {".gitignore": "build/\n", "build/c.md": "# C\n", "build/build/d.md": "# D\n"})
    assert index(outer)[1]["documents"] == 3
    assert index(outer / "quay")[1]["documents"] == 1
    code, said = index(outer / "build")
    assert (code, said["name"], said["documents"]) == (0, "build", 2)
    _, said = index(outer)
    assert said["documents"] == 2
    assert said["skipped"] == {"directory of another workspace or memory": 1}


def test_a_strange_rule_or_name_costs_a_line_of_the_report(tmp_path: Path, index: Index) -> None:
    """The rest is indexed: rules that are not valid, and names that are not UTF-8, of a file and of
    a directory."""
    root = tmp_path / "harbor"
    rules = "*.[[:digit:]]\n*.[z-a]\n" + "a*" * 2_500 + "b\n[broken\n"
    write(root, {"a.md": "# A\n", "page.7": "B\n", ".gitignore": rules})
    odd = os.fsdecode(b"quay-\xff")
    write(root, {f"{odd}.md": "# C\n", f"{odd}/d.md": "# D\n"})
    code, said = index(root)
    assert (code, said["documents"]) == (0, 2)
    assert said["skipped"] == {
        "ignored": 1,
        "name that is not text": 2,
        "rule of an ignore file that is not valid": 2,
    }


def test_a_long_path_is_a_document_like_others(tmp_path: Path, index: Index) -> None:
    """223 characters with 15 slashes, as of a Java class, and one of over 1,000: indexed, changed,
    removed."""
    root = tmp_path / "harbor"
    java = "/".join(["java"] * 15) + "/" + "X" * 143 + ".java"
    deep = "/".join(["d" * 200] * 6) + "/a.md"
    write(root, {java: "class X {}\n", deep: "# A\n", "b.md": "# B\n"})
    assert index(root)[1]["documents"] == 3
    write(root, {java: "class Y {}\n"})
    code, said = index(root)
    assert (code, said["documents"], said["failed"]) == (0, 3, {})
    (root / java).unlink()
    assert index(root)[1]["documents"] == 2
