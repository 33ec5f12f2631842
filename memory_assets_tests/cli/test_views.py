"""Answers on a terminal of 80 by 24 and of 120 by 40."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any
from unittest.mock import MagicMock

import pytest

from memory_assets.serving.layout import Layout, cells
from memory_assets.serving.views import Terminal, blame_view, session_view
from memory_assets.serving.visible_text import without_tool_names
from memory_assets_tests.cli.terminal import STYLE, on_terminal
from memory_assets_tests.cli.test_cli import Cli
from memory_assets_tests.command_line import run_here

FLAKY = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
TURN = f"session::{FLAKY}::turn::2"
COMMANDS: dict[str, tuple[str, ...]] = {
    "a turn": ("show", TURN),
    "its records": ("show", TURN, "--records"),
    "figures": ("status",),
    "a search": ("search", "lock_timeout", "migration"),
    "exact text": ("search", "--exact", "lock"),
    "a summary": ("show", FLAKY),
    "an observation": ("show", "OBSERVATION"),
    "a session": ("summarize", FLAKY),
    "around it": ("timeline", TURN),
    "its origin": ("audit", TURN),
    "a tool": ("how", "git push"),
    "errors": ("friction", "--sessions", "2"),
    "a file": ("blame", "CHANGED"),
    "memories": ("memories",),
    "sessions": ("sessions",),
    "upkeep": ("upkeep",),
}
_WITH_IDS = ("its origin", "its records")
"""Answers in which an id is looked up, or may be in a text."""
_WHOLE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def _json(cli: Cli, *arguments: str) -> Any:
    return json.loads(cli.run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def meant(by_words: Cli) -> dict[str, str]:
    """The session's first observation, and a file that it changed."""
    session = _json(by_words, "summarize", FLAKY)
    return {
        "OBSERVATION": session["observations"][0]["id"],
        "CHANGED": session["summary"]["files_modified"][0],
    }


@pytest.mark.parametrize(
    ("name", "columns", "lines"),
    [
        *((name, 80, 24) for name in COMMANDS),
        *((name, 120, 40) for name in ("a turn", "a session", "its origin", "figures")),
    ],
)
def test_no_line_is_wider_than_the_terminal_and_colours_are_its_own(
    by_words: Cli, meant: dict[str, str], name: str, columns: int, lines: int
) -> None:
    """And none is wrapped by it; recalled escapes are gone; ids are short but in an audit, where
    they are looked up; times name their zone."""
    given = [meant.get(word, word) for word in COMMANDS[name]]
    shown = on_terminal(by_words, *given, columns=columns, lines=lines, codes=(0, 3))
    plain = [STYLE.sub("", line) for line in shown]
    assert len(plain) > 0 and all(cells(line) < columns for line in plain), plain
    assert not any("\x1b" in line for line in plain)
    if columns == 120:
        again = on_terminal(by_words, *given, columns=columns, codes=(0, 3), NO_COLOR="1")
        assert again == plain
    text = "\n".join(plain)
    assert name in _WITH_IDS or not _WHOLE_ID.search(text)
    assert not re.search(r"\d-\d\d \d\d:\d\d(?: ·|, \d+ [a-z])", text)


def test_what_was_verified_fits_the_terminal(by_words: Cli) -> None:
    """A line for each check, behind the progress that was shown."""
    shown = on_terminal(by_words, "verify", columns=80)
    behind = max(at for at, line in enumerate(shown) if "\x1b" in line) + 1
    checks = [line for line in shown[behind:] if line.startswith("ok    ")]
    assert len(checks) > 50 and all(cells(line) < 80 for line in shown[behind:])


def test_a_turn_is_what_was_asked_and_answered_without_loss(by_words: Cli) -> None:
    """Every word of its passages is there, wrapped at blanks, without the marks of Markdown;
    commands stand in a list."""
    words = " ".join(
        " ".join(STYLE.sub("", line) for line in on_terminal(by_words, "show", TURN, columns=80))
        .replace("Asked", " ")
        .replace("Answer", " ")
        .split()
    )
    row = _json(by_words, "show", TURN)["rows"][0]
    said, _, digest = "\n".join(row["passages"]).rpartition("\n\n")
    assert "`day_bounds`" in said and " ".join(said.replace("`", "").split()) in words
    assert digest and all(command in words for command in row["commands"])


def test_what_is_the_same_of_the_rows_of_a_turn_is_said_once(by_words: Cli) -> None:
    """A turn of several passages, whose digest has a command of several lines."""
    rows = _json(by_words, "audit", TURN)["rows"]
    shown = "\n".join(on_terminal(by_words, "audit", TURN, columns=100))
    assert shown.count("made by version") == 1
    assert (f"and {len(rows) - 1} more" in shown) == (len(rows) > 1)


def test_a_session_is_asked_learned_done_and_changed(by_words: Cli) -> None:
    """Long lists are folded, and --full unfolds them."""
    plain = [STYLE.sub("", line) for line in on_terminal(by_words, "summarize", FLAKY, columns=80)]
    summary = _json(by_words, "summarize", FLAKY)["summary"]
    assert plain[0] == summary["title"]
    assert [line.split()[0] for line in plain if line.startswith(("Asked", "Learned", "Done"))] == [
        name
        for name, key in (("Asked", "request"), ("Learned", "learned"), ("Done", "completed"))
        if summary[key]
    ]
    assert any(line.startswith("Changed   ") for line in plain)
    assert any(FLAKY[:8] in line for line in plain)
    full = on_terminal(by_words, "summarize", FLAKY, "--full", columns=80)
    assert len(full) >= len(plain)


def test_a_timeline_that_goes_on_says_what_to_type(by_words: Cli) -> None:
    """On the sides that were cut alone."""
    answer = by_words.run("timeline", TURN, "--before", "1", "--after", "50")
    assert answer.stderr == "There is more before: --before 50\n"


def test_where_no_error_is_met_often_it_says_how_to_ask_for_rarer_ones(by_words: Cli) -> None:
    """Until there are none that are rarer."""
    often, rarest = (by_words.run("friction", "--sessions", number) for number in ("900", "2"))
    assert often.returncode == 3 and "--sessions 2 " in often.stderr
    assert "--sessions" not in rarest.stderr


def test_all_commits_of_a_session_are_listed_once(by_words: Cli) -> None:
    """Those that its summary leaves out, too, with --full."""
    answer = _json(by_words, "summarize", FLAKY)
    texts = [f"{number:07} Paint buoys" for number in range(60)]
    answer["commits"] = [{"id": f"commit::{text}", "text": text} for text in texts]
    answer["summary"]["commits"] = texts[:8]
    memory = MagicMock(short_ids=lambda ids: {each: each[:8] for each in ids})
    for full, count in ((True, 60), (False, 5)):
        shown = list(session_view(Terminal(memory, Layout(80, full=full)), answer))
        assert sum("Paint buoys" in line for line in shown) == count
        assert full or any("60 commits in all" in line for line in shown)


def test_a_commit_is_told_with_its_proof_in_words() -> None:
    """And with a doubt where there is one, whatever the grade is called in the table."""
    session: dict[str, Any] = {"turn_id": None, "session_id": FLAKY, "title": "Paint buoys"}
    commit: dict[str, Any] = {
        "commit": "1a2b3c4",
        "committed_at": None,
        "subject": "Buoys",
        "lines": [],
    }
    answer = {"commits": [{**commit, "sessions": [session]}], "turns": [], "notes": []}
    memory = MagicMock(short_ids=lambda ids: {each: each[:8] for each in ids})
    for evidence, score, told in (
        ("printed", 0.95, ", committed in the session"),
        ("time-and-files", 0.7, ", probably: its lines were written in the session"),
    ):
        session |= {"evidence": evidence, "score": score}
        head, _, line = blame_view(Terminal(memory, Layout(80)), answer)
        assert head == "1a2b3c4  Buoys" and line.endswith(told)


def test_times_are_those_of_the_clock_on_the_wall(by_words: Cli) -> None:
    """Of the zone that the terminal is in, which they name."""
    row = _json(by_words, "show", TURN)["rows"][0]
    moment = datetime.fromisoformat(row["timestamp"])
    for zone, hours, said in (("UTC", 0, "Z"), ("Etc/GMT-5", 5, "+05:00")):
        lines = on_terminal(by_words, "show", TURN, columns=80, TZ=zone)
        hour = (moment.hour + hours) % 24
        assert any(f" {hour:02}:{moment.minute:02}{said} ·" in line for line in lines)


def test_long_lists_are_folded_unless_all_is_wanted() -> None:
    """What is folded is counted in its own word; one item more than is shown is shown as well."""
    items = [f"step {number}" for number in range(30)]
    folded = list(Layout(80).labelled_list("Ran", items, "command"))
    assert folded[0] == "Ran       step 0" and len(folded) == 6
    assert folded[-1].strip() == "… 30 commands in all; --full lists them"
    assert len(list(Layout(80, full=True).labelled_list("Ran", items, "command"))) == 30
    assert len(list(Layout(80).labelled_list("Ran", items[:6], "command"))) == 6
    assert list(Layout(80).labelled_list("Ran", [], "command")) == []


@pytest.mark.parametrize(
    "text", ["word " * 60, "x" * 300, "新聞" * 80, "a-b/c_d" * 40, "\t- " + "y " * 90]
)
def test_any_text_keeps_its_characters_and_the_width(text: str) -> None:
    """Words are cut only where one is longer than a line."""
    for width in (40, 80, 300):
        lines = list(Layout(width).labelled_text("Asked", text))
        assert all(cells(line) < width for line in lines)
        assert "".join(lines).replace("Asked", "").replace(" ", "") == "".join(text.split())


@pytest.mark.parametrize(
    "line, said",
    [
        ("All green. [Bash]", "All green."),
        ("Two fixed… [Bash, Edit: a.py, [id].tsx]", "Two fixed… (a.py, [id].tsx)"),
        ("Bash: git commit [Bash]", "Ran git commit"),
        ("Note: done [mcp__git.log, Read]", "Note: done"),
        ("See note [1]", "See note [1]"),
    ],
)
def test_a_turn_in_a_list_names_no_tools(line: str, said: str) -> None:
    """Its files stay, and what was done where nothing was said."""
    assert without_tool_names(line) == said


def test_lines_of_code_keep_their_indent() -> None:
    """And what of them does not fit goes on below it."""
    lines = Layout(40).paragraphs("if tide:\n    " + "wade " * 9 + "\n\nswim", 30)
    assert lines[0] == "if tide:" and all(line.startswith("    wade") for line in lines[1:3])
    assert lines[3:] == ["", "swim"]


def test_a_shell_completes_names_of_projects(by_words: Cli) -> None:
    """As people use them."""
    typed = {"COMP_WORDS": "memory sessions --project har", "COMP_CWORD": "3"}
    done = run_here({**by_words.own, **typed, "_MEMORY_COMPLETE": "bash_complete"})
    assert done.stdout == "plain,harbor-api\n"


@pytest.mark.parametrize(
    "command",
    [
        ("search", "lock", "--project", "harbor-api"),
        ("search", "lock", "--project", "harbor-api", "--exact"),
        ("forget", FLAKY, "--dry-run"),
        ("export", FLAKY, "--format", "markdown"),
    ],
)
def test_people_read_names_of_projects_that_they_use(
    by_words: Cli, command: tuple[str, ...]
) -> None:
    """On a terminal and in a pipe; the keys of partitions are for programs."""
    piped = by_words.run(*command)
    lines = [*on_terminal(by_words, *command, columns=80), piped.stdout, piped.stderr]
    assert "harbor-api" in "".join(lines) and "-code-harbor-api" not in "".join(lines)
