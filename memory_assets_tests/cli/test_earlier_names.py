"""Names of arguments that earlier memories had, on the command line."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main

from memory_assets.cli.cli import app
from memory_assets.cli.earlier_names import RequestCommand, with_names_of_today
from memory_assets.errors import BadArgument
from memory_assets.requests.arguments import Arguments, declared
from memory_assets.requests.questions import LinkRequest, SessionRequest, TimelineRequest
from memory_assets.requests.search import SearchRequest

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("request_type", "given", "meant"),
    [
        (SearchRequest, "door --limit 3 --session_id=aaaa", "door -n 3 --session aaaa"),
        (TimelineRequest, "x --depth-before 2 --depth_after 3h", "x --before 2 --after 3h"),
        (TimelineRequest, "x --format full", "x --full"),
        (TimelineRequest, "x --format=index", "x"),
        (SessionRequest, "--session-id aaaa --json", "aaaa --json"),
        (LinkRequest, "--commit-sha c3a9d18 --session-id abc", "abc c3a9d18"),
        (LinkRequest, "abc --commit_sha c3a9d18 --force", "abc --force c3a9d18"),
        (LinkRequest, "--session_id abc c3a9d18", "abc c3a9d18"),
        (SearchRequest, "door -- --limit 3", "door -- --limit 3"),
    ],
)
def test_earlier_names_mean_those_of_today(
    request_type: type[Arguments], given: str, meant: str
) -> None:
    """With dashes or underscores, with `=` or a blank."""
    assert with_names_of_today(request_type, given.split()) == meant.split()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x --limit 3 -n 4", "--limit: is another name of -n"),
        ("x --limit", "--limit: needs a value"),
    ],
)
def test_a_name_is_refused_beside_todays_and_without_a_value(given: str, words: str) -> None:
    """As everywhere."""
    with pytest.raises(BadArgument, match=words):
        with_names_of_today(SearchRequest, given.split())
    with pytest.raises(BadArgument, match=r"--format: there is no 'xml'; choose from full, index"):
        with_names_of_today(TimelineRequest, ["x", "--format", "xml"])


def test_every_alias_of_a_request_is_an_option_and_in_no_help() -> None:
    """Of every command that a request is made of."""
    seen = set()
    for command in COMMANDS.values():
        assert isinstance(command, RequestCommand)
        request: Any = getattr(command.callback, "request", None)
        shown = {option for parameter in command.params for option in parameter.opts}
        aliases = [name for each in declared(request) for name in each.aliases] if request else []
        for alias in aliases:
            seen.add(alias)
            assert not {f"--{alias}", f"--{alias.replace('_', '-')}"} & shown
            value = "full" if alias == "format" else "7"
            assert f"--{alias}" not in with_names_of_today(request, [f"--{alias}", value])
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
