"""Rules of `.gitignore` files match what Git says that they match, at a bounded cost."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from memory_assets.documents.ignore_rules import RuleFile, parsed

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


@pytest.mark.parametrize(
    "pattern",
    [
        *("*" * 5_000, "a*" * 2_000, "*a" * 2_000 + "b", "**/a/" * 800 + "b"),
        *("[a-z]*" * 600, "?*" * 2_000, "x/" + "*" * 5_000 + "/y", "*a*/" * 900 + "c"),
    ],
)
def test_no_rule_is_expensive(pattern: str) -> None:
    """Neither many wildcards nor long paths; tried one after the other, they would take years."""
    paths = ("a" * 255, "/".join(["a"] * 2_000), "/".join(["a" * 250] * 16))
    started = time.process_time()
    rules = parsed(pattern.encode())
    for path in paths:
        rules.verdict(path.encode(), False)
    assert time.process_time() - started < 2.0
