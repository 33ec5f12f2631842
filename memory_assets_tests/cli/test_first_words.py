"""What somebody sees who types `memory`, asks for help, or uses a name that earlier memories
had."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from memory_assets.cli.cli import memory
from memory_assets.cli.commands import request_command
from memory_assets.cli.ingesting.report import question_of, suggested_questions, words_of
from memory_assets.errors import BadArgument
from memory_assets.pipeline.stage.components import Components
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.questions import (
    LinkRequest,
    SessionRequest,
    ShowRequest,
    TimelineRequest,
)
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import load_settings
from memory_assets_tests.cli.commands_reference import commands
from memory_assets_tests.cli.terminal import Terminal
from memory_assets_tests.cli.test_cli import Cli
from memory_assets_tests.command_line import run_here
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, run_stages
from memory_assets_tests.recall.worked import START, Worked
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import claude_line, write_lines

COMMANDS = commands()


def test_memory_alone_says_what_to_type_first(tmp_path: Path) -> None:
    """Before anything was ingested that is one thing; afterwards what can be asked. It fits a small
    terminal, and every command in it exists."""
    cli = Cli(tmp_path / "first")
    before = _alone(cli)
    assert "memory ingest" in "\n".join(before) and "Nothing is in memory" in "\n".join(before)
    cli.own["MEMORY_EMBEDDER"] = "none"
    ingested = cli.run("ingest")
    assert ingested.returncode == 0
    after = _alone(cli)
    assert "sessions in memory" in "\n".join(after)
    for lines in (before, after):
        assert len(lines) <= 24 and all(len(line) < 80 for line in lines)
        named = [line.split()[1] for line in lines if line.startswith("  memory ")]
        assert named and set(named) <= COMMANDS.keys()
    _says_what_came_from_where_and_what_to_ask(cli, ingested.stdout)


def _alone(cli: Cli) -> list[str]:
    own = {name: value for name, value in cli.environment.items() if name != "NO_COLOR"}
    code, shown = Terminal({**own, "PAGER": ""}).end()
    assert code == 0, shown
    return shown.splitlines()


def _says_what_came_from_where_and_what_to_ask(cli: Cli, report: str) -> None:
    """The report of the first ingest: sessions by agent, three questions that have hits, and what
    to type next."""
    assert "Claude Code: " in report and " sessions of 20" in report
    lines = report.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Try: "))
    questions = [line.removeprefix("Try:").strip() for line in lines[first : first + 3]]
    assert len(set(questions)) == 3
    for question in questions:
        asked = shlex.split(question)[2:]
        assert shlex.join(asked) == " ".join(asked), "no word needs quotes"
        assert cli.run("search", *asked).returncode in (0, 3)
        assert "Nothing found" not in cli.run("search", *asked).stdout
    assert "memory sessions" in lines[first + 3] or "sessions:" in lines[first + 3]
    again = cli.run("ingest").stdout
    assert again.count("memory search") <= 1 and " sessions of 20" not in again


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_has_an_example_that_can_be_typed(name: str) -> None:
    """Its options and arguments are those of the command."""
    shown = " ".join(CliRunner().invoke(memory, [name, "--help"]).output.split())
    example = shown.partition(" Example: ")[2]
    program, said, *arguments = shlex.split(example)
    assert (program, said) == ("memory", name)
    assert COMMANDS[name].make_context(name, list(arguments)).args == []


TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@sweep(
    "title, words",
    [
        ("Rotate <redacted:github-token:0123456789ab> in CI", "Rotate in CI"),
        ("<command-name>/review</command-name> the **harbor** code", "/review the harbor code"),
        ("# Fix `parse_id` in [docs](https://x.example/a)", "Fix parse_id in docs"),
        ("![shot](a.png) a < b and __init__.py", "shot a < b and __init__.py"),
        ("Cut off <redacted:github-tok", "Cut off"),
        ("Plan the extraction of a new…", "Plan the extraction of a new"),
        ("- _why_ does it fail > here", "why does it fail here"),
        ("fix &lt;img src=x&gt; &amp; the&nbsp;gate &#60;b>", "fix & the gate"),
        ("\x1b[31mred\x1b[0m <\u200bb>alert</b>", "red alert"),
    ],
)
def test_a_suggestion_has_words_alone(title: str, words: str) -> None:
    """Names with underscores stay whole."""
    assert words_of(title) == words


@sweep(
    "title, question",
    [
        ("แก้รายงานยอดขาย ประจำเดือน", "แก้รายงานยอดขาย ประจำเดือน"),
        ("निर्यात में गलती?", "निर्यात में गलती"),
        ("Fix $HOME; (again) - now", "how did we fix HOME again now"),
        (" ".join(TEN) + " eleven", " ".join(TEN)),
        ("feat(tide)!: add --depth to the soundings", "how did we add depth to the soundings"),
        ("Could you please rename harbor to port, then push?", "how did we rename harbor to port"),
        ("please-release: bump the chart for", "please-release bump the chart"),
        ("Why is the ferry late? It left at nine", "why is the ferry late"),
        ("Replace the buoys in the northern bay of Oban and of the…", "how did we replace the "
         "buoys in the northern bay of Oban"),
        ("Update available!", "Update available"),
        ("docs: tide tables", "tide tables"),
        ("Add Quay’s cranes — two of them", "how did we add Quay cranes"),
    ],
)  # fmt: skip
def test_a_title_that_tells_a_deed_or_asks_is_a_question_without_quotes(
    title: str, question: str
) -> None:
    """Whole words, also of scripts whose vowels are marks; without what begins a commit's subject,
    what is polite, what a shell or an option takes for its own, and what would lead on."""
    assert " ".join(question_of(title)) == question


def test_what_several_sessions_asked_is_suggested_once(tmp_path: Path) -> None:
    """Also where it is the question of a project's newest session and of an older one; what has
    only words that any question has is not, and what reads as a question stands first."""
    prompts = (
        "Rename the tables",
        "Ferry times",
        "Drop the views",
        "Rename the tables",
        "Tell me now",
    )
    questions = list(suggested_questions(_sessions_of(tmp_path, prompts)))
    assert sorted(questions[:2]) == ["how did we drop the views", "how did we rename the tables"]
    assert questions[2:] == ["Ferry times"]


def test_a_question_about_a_named_thing_is_suggested_first(tmp_path: Path) -> None:
    """Before newer ones that point at what only their session showed, name nothing, or are cut."""
    cut = "Add A-1 to " + " ".join(TEN)
    prompts = "Rotate the keys of Oban-9", "Update this branch to Main", "Drop the views", cut
    questions = suggested_questions(_sessions_of(tmp_path, prompts))
    assert next(questions) == "how did we rotate the keys of Oban-9"


def _sessions_of(tmp_path: Path, prompts: Iterable[str]) -> Components:
    """Return a memory in which each prompt is a session of one project."""
    worked = Worked(tmp_path)
    for number, prompt in enumerate(prompts):
        session_id = f"{number:0>8}-0000-4000-8000-000000000001"
        line = claude_line(session_id, 0, prompt, "/srv/shop", START)
        write_lines(tmp_path / "projects" / "-srv-shop" / f"{session_id}.jsonl", [line])
    components = Components(load_settings(**worked.settings()))
    run_stages(components, UP_TO_SUMMARIES)
    return components


@sweep(
    "request_type, given, meant",
    [
        (SearchRequest, "door --limit 3 --session_id=aaaa", "door -n 3 --session aaaa"),
        (TimelineRequest, "x --depth-before 2 --depth_after 3h", "x --before 2 --after 3h"),
        (TimelineRequest, "x --format full", "x --full"),
        (TimelineRequest, "x --format=index", "x"),
        (SessionRequest, "--session-id aaaa --json", "aaaa --json"),
        (LinkRequest, "--commit-sha c3a9d18 --session-id abc", "abc c3a9d18"),
        (LinkRequest, "abc --commit_sha c3a9d18 --force", "abc --force c3a9d18"),
        (LinkRequest, "--session-id abc c3a9d18", "abc c3a9d18"),
        (SearchRequest, "door knob -n3", "-n 3 door knob"),
        (SearchRequest, "door -- --limit 3", "-- door --limit 3"),
    ],
)
def test_what_is_typed_in_different_ways_means_the_same(
    request_type: type[Arguments], given: str, meant: str
) -> None:
    """Earlier names with dashes or underscores, with `=` or a blank; words without quotes."""
    assert _asked(request_type, given) == _asked(request_type, meant)


@sweep(
    "request_type, given, words",
    [
        (SearchRequest, "x --limit 3 -n 4", "--limit: is another name of -n"),
        (TimelineRequest, "x --format xml", "--format: there is no 'xml'; choose from index, full"),
        (SessionRequest, "abc --session_id abc", "--session-id: is another name of session"),
        (LinkRequest, "abc c3a9d18 --session-id abc", "--session-id: is another name of session"),
        (ShowRequest, "", "id: is missing; give the id of a turn"),
        (SearchRequest, "x -n many", "-n: give a whole number from 1 to 200, not 'many'"),
    ],
)
def test_a_mistake_is_told_by_the_name_on_the_command_line(
    request_type: type[Arguments], given: str, words: str
) -> None:
    """By the request, as to whoever asks by MCP or HTTP."""
    with pytest.raises(BadArgument, match=words):
        _asked(request_type, given)


def _asked(request_type: type[Arguments], words: str) -> tuple[Arguments, bool]:
    """Return the request that a command line makes, and whether to print JSON."""
    asked: list[tuple[Arguments, bool]] = []
    command = request_command(request_type)(
        lambda request, as_json: asked.append((request, as_json))
    )
    command.main(shlex.split(words), "memory", standalone_mode=False)
    return asked[0]


def test_the_earlier_names_are_in_no_help() -> None:
    """Of all commands, these are accepted."""
    seen = set()
    for name, command in COMMANDS.items():
        shown = command.get_help(click.Context(command, info_name=name)).split()
        earlier = [each for each in command.params if getattr(each, "hidden", False)]
        assert not {option for each in earlier for option in each.opts} & set(shown)
        seen |= {each.name for each in earlier}
    assert seen == {
        *("file_path", "filePath"),
        "session_id",
        "commit_sha",
        "conversation_id",
        "depth_before",
        "depth_after",
        "format",
        "latest_user_text",
        "limit",
    }


def test_a_shell_completes_what_is_typed_once_it_is_told_to(tmp_path: Path) -> None:
    """`--install-completion` adds the line that `--show-completion` prints, and only once. Values
    of options are completed as commands and options are."""
    home = {"HOME": str(tmp_path), "SHELL": "/bin/bash", "MEMORY_DATA_DIR": str(tmp_path / "data")}
    line = run_here(home, "--show-completion").stdout
    for _ in range(2):
        assert run_here(home, "--install-completion").returncode == 0
    assert (tmp_path / ".bashrc").read_text().count(line) == 1
    completing = {**home, "_MEMORY_COMPLETE": "bash_complete"}
    for typed, completed in {
        "memory sea": "plain,search",
        "memory search --sess": "plain,--session",
        "memory search --mode key": "plain,keyword",
        "memory ingest --agent gem": "plain,gemini",
        "memory restore a": "file,a",
        "memory sessions --project a": "",  # nothing is in memory
    }.items():
        words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        assert run_here({**completing, **words}).stdout.strip() == completed
    refused = run_here({**home, "SHELL": "/bin/csh"}, "--show-completion")
    assert refused.returncode == 2 and "bash, zsh, fish" in refused.stderr
