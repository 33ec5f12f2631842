"""Which files of a workspace are documents, and rules of `.gitignore` that match what Git says."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from memory_assets.documents.ignore_rules import RuleFile, parsed, rules_of_state
from memory_assets.documents.walk import found_at, walk
from memory_assets_tests.sweep import sweep
from memory_assets_tests.workspaces.conftest import FILES, write


def _found(root: Path, **given: object) -> set[str]:
    return set(walk(root, lambda path: path.endswith(".env"), **given).files)  # type: ignore[arg-type]


def test_ignored_files_and_those_that_hold_secrets_are_left_out(tmp_path: Path) -> None:
    """By rules, by a sensitive name; a negation brings one back."""
    write(tmp_path, FILES)
    assert _found(tmp_path) == FILES.keys() - {"build/out.txt", "trace.log", ".env"}


def test_what_git_tracks_though_a_rule_names_it_is_counted_apart(tmp_path: Path) -> None:
    """Also where the directory is never entered."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    write(tmp_path, FILES)
    git("init", "--quiet")
    git("add", "--force", "build", "trace.log", "README.md", "docs")
    write(tmp_path, {"other.log": "x"})
    skipped = walk(tmp_path, lambda path: False).skipped
    assert skipped == {"ignored": 1, "ignored though Git tracks them": 2}


def test_rules_of_inner_directories_win(tmp_path: Path) -> None:
    """As Git reads nested rules; `.memoryignore` is read alike. No negation brings back what is
    in a directory that is left out."""
    write(
        tmp_path,
        {
            ".gitignore": "*.md\n/only-here.txt\nbuild/\n!build/kept.txt\n",
            "build/kept.txt": "x",
            "a/.gitignore": "!kept.md\n",
            "a/kept.md": "x",
            "a/other.md": "x",
            "a/only-here.txt": "x",
            "only-here.txt": "x",
            "a/.memoryignore": "b/\n",
            "a/b/c.txt": "x",
            ".git/info/exclude": "private/\n",
            "private/d.txt": "x",
        },
    )
    kept = {".gitignore", "a/.gitignore", "a/.memoryignore", "a/kept.md", "a/only-here.txt"}
    assert _found(tmp_path) == kept


@pytest.mark.parametrize("name", ["node_modules", ".venv", "__pycache__", ".mypy_cache", "site"])
def test_directories_of_tools_are_not_entered(tmp_path: Path, name: str) -> None:
    """Whatever is in them was made, not written."""
    write(tmp_path, {f"{name}/a.md": "x", f"inner/{name}/a.md": "x", "a.md": "x"})
    assert _found(tmp_path) == {"a.md"}


def test_rules_are_read_again_only_when_their_file_changes(tmp_path: Path) -> None:
    """A watcher asks for them at each save."""
    write(tmp_path, {".gitignore": "*.log\n", "a/.gitignore": "b/\n", "a/c.log": "x", "a/d": "x"})
    assert _found(tmp_path) == {".gitignore", "a/.gitignore", "a/d"}
    before = rules_of_state.cache_info().misses
    for _ in range(3):
        assert found_at(tmp_path, "a/d", lambda path: False)
        assert "a/d" in _found(tmp_path)
    assert rules_of_state.cache_info().misses == before
    write(tmp_path, {"a/.gitignore": "d\n"})
    assert found_at(tmp_path, "a/d", lambda path: False) is None
    assert rules_of_state.cache_info().misses == before + 1


def test_the_walk_ends_at_a_number_of_files(tmp_path: Path) -> None:
    """A home directory is not walked to its end to be refused."""
    write(tmp_path, {f"{number // 10}/{number}.md": "x" for number in range(100)})
    assert 15 <= len(_found(tmp_path, most=15)) < 40


_NAMES = (
    "a",
    "b",
    "ab",
    "a.1",
    "a.b",
    "foo",
    "foobar",
    "]",
    "A",
    "a b",
    "\u00e9",
    "a[b",
    "z9",
    "^q",
)
_ATOMS = (
    *(
        "*",
        "**",
        "***",
        "?",
        "a",
        "b",
        "/",
        "/",
        "foo",
        "foo**",
        ".",
        "1",
        "-",
        " ",
        "\\ ",
        "#",
        "!",
    ),
    *("[a-c]", "[!a]", "[^b]", "[]a]", "[]-a]", "[z-a]", "[a\\-c]", "[a", "[a-]", "[-a]", "[--9]"),
    *("[[:digit:]]", "[[:alpha:][:digit:]]", "[![:space:]]", "[[:upper:]]", "[[:punct:]]"),
    *("[[:nope:]]", "[[:]", "[[a]", "[*]", "\\*", "\\a", "\\[", "\\\\", "\u00e9", "[\u00e9]"),
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of Git without files."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    return root


def _ignored_by_git(repository: Path, rules: str, paths: Iterable[str]) -> set[str]:
    (repository / ".gitignore").write_text(rules, "utf-8")
    command = ["git", "-C", str(repository), "check-ignore", "--no-index", "-z", "--stdin"]
    said = subprocess.run(
        command, input="\0".join(paths).encode(), capture_output=True, check=False
    )
    assert said.returncode in (0, 1), said.stderr
    return set(filter(None, said.stdout.decode().split("\0")))


def _is_left_out(rules: RuleFile, path: str) -> bool:
    parts = path.split("/")
    places = ["/".join(parts[: number + 1]).encode() for number in range(len(parts))]
    return any(rules.verdict(place, place != places[-1]) for place in places[:-1]) or bool(
        rules.verdict(places[-1], False)
    )


def test_rules_match_what_git_says(repository: Path) -> None:
    """300 files of rules put together from what the syntax has, POSIX classes and mistakes
    included, each for 25 paths."""
    dice = random.Random(28)
    left_out = 0
    for _ in range(300):
        paths = {"/".join(dice.choices(_NAMES, k=dice.randint(1, 4))) for _ in range(25)}
        lines = ["".join(dice.choices(_ATOMS, k=dice.randint(1, 5))) for _ in range(2)]
        rules = "\n".join(line for line in lines if "\\/" not in line) + "\n"
        expected = _ignored_by_git(repository, rules, sorted(paths))
        assert {path for path in paths if _is_left_out(parsed(rules.encode()), path)} == expected, (
            rules
        )
        left_out += len(expected)
    assert left_out > 300


@pytest.mark.parametrize(
    ("rules", "path", "is_left_out"),
    [
        ("*.[[:digit:]]", "man/page.7", True),
        ("*.[[:digit:]]", "man/page.x", False),
        ("*.[z-a]", "a.m", False),
        ("*" * 5_000, "a", True),
        ("\ufeff*.log\r\n", "a.log", True),
        ("a \\ ", "a  ", True),
        ("*.log\n!keep.log", "keep.log", False),
    ],
)
def test_rules_that_once_stopped_an_index(
    repository: Path, rules: str, path: str, is_left_out: bool
) -> None:
    """POSIX classes, an empty range, many asterisks, and the marks of other systems."""
    assert _is_left_out(parsed(rules.encode()), path) is is_left_out
    assert (path in _ignored_by_git(repository, rules, [path])) is is_left_out


@pytest.mark.timeout(60)
@sweep(
    "pattern",
    [
        *("*" * 5_000, "a*" * 2_000, "*a" * 2_000 + "b", "**/a/" * 800 + "b"),
        *("[a-z]*" * 600, "?*" * 2_000, "x/" + "*" * 5_000 + "/y", "*a*/" * 900 + "c"),
    ],
)
def test_no_rule_is_expensive(pattern: str) -> None:
    """Neither many wildcards nor long paths; tried one after the other, they would take years."""
    paths = ("a" * 255, "/".join(["a"] * 2_000), "/".join(["a" * 250] * 16))
    rules = parsed(pattern.encode())
    for path in paths:
        rules.verdict(path.encode(), False)
