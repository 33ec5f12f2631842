"""`memory search -i` and the pager, on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets_tests.cli.terminal import Terminal
from memory_assets_tests.cli.test_cli import Cli
from memory_assets_tests.command_line import run_here

QUERY = ("search", "lock_timeout", "migration", "--mode", "keyword", "-n", "5")
_PAGING = ("PAGER", "LESS")


def _terminal(cli: Cli, *arguments: str, **more: str) -> Terminal:
    own = {name: value for name, value in cli.environment.items() if name not in _PAGING}
    return Terminal({**own, "NO_COLOR": "1", **more}, *arguments)


@pytest.fixture
def pager(tmp_path: Path) -> Iterator[str]:
    """A pager that marks what it gets."""
    script = tmp_path / "pager"
    script.write_text("#!/bin/sh\nsed 's/^/paged: /'\necho end of pages\n")
    script.chmod(0o755)
    yield str(script)


def test_keys_go_through_the_hits_and_open_them(by_words: Cli, pager: str) -> None:
    """The chosen one is marked, Enter opens it in the pager, q ends with the code of a search."""
    listed = by_words.run(*QUERY).stdout
    turns = re.findall(r"^\d+\. (session::[0-9a-f-]+::turn::\d+)", listed, re.M)
    terminal = _terminal(by_words, *QUERY, "-i", PAGER=pager)
    assert f"1 of {len(turns)}" in terminal.until("> 1. ")
    terminal.press("n")
    terminal.until("2 of ")
    terminal.press("\x1b[A")
    terminal.until("1 of ")
    terminal.press("\r")
    opened = terminal.until("Press Enter to go back.")
    assert "paged: Turn " in opened and _short(turns[0]) in opened and "end of pages" in opened
    terminal.press("\n")
    terminal.until("1 of ")
    terminal.press("q")
    code, _ = terminal.end()
    assert code == by_words.run(*QUERY).returncode == 0


def _short(turn_id: str) -> str:
    """The id of a turn as a terminal shows it."""
    return re.sub(r"session::([0-9a-f]{8})[0-9a-f-]+::turn", r"\1", turn_id).replace("::", ":")


def test_interrupting_ends_it_too(by_words: Cli) -> None:
    """Ctrl-C, and Escape alone."""
    for key in ("\x03", "\x1b"):
        terminal = _terminal(by_words, *QUERY, "-i")
        terminal.until("q quit")
        terminal.press(key)
        assert terminal.end()[0] == 0


def test_without_a_terminal_it_is_refused(by_words: Cli) -> None:
    """Instead of waiting for keys that nobody presses."""
    done = by_words.run(*QUERY, "-i")
    assert done.returncode == 2 and "needs a terminal" in done.stderr


def test_answers_use_the_pager_on_a_terminal_alone(by_words: Cli, pager: str) -> None:
    """Unless the user wants none; a pager that does not exist is none."""
    hit = re.search(r"session::[0-9a-f-]+::turn::\d+", by_words.run(*QUERY).stdout)
    assert hit is not None
    for command in (("show", hit[0]), ("sessions",), ("timeline", hit[0])):
        code, paged = _terminal(by_words, *command, PAGER=pager).end()
        assert code == 0 and "paged: " in paged and "end of pages" in paged
    for named, options in (("", ()), ("no-such-pager", ()), (pager, ("--no-pager",))):
        code, plain = _terminal(by_words, "show", hit[0], *options, PAGER=named).end()
        assert code == 0 and _short(hit[0]) in plain and "paged: " not in plain
    assert "paged: " not in run_here({**by_words.own, "PAGER": pager}, "show", hit[0]).stdout
