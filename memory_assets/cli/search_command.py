"""`memory search`: asking and printing. Imported without typer, which takes longer than a
search by words, when the arguments are plain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory_assets.cli import exit_codes, rendering

_VALUES = {
    "--in": "kind",
    "--mode": "mode",
    "--project": "project",
    "--agent": "agent",
    "--since": "since",
    "--until": "until",
    "--tool": "tool",
    "--file": "file",
    "--session": "session",
    "-n": "n",
}
_FLAGS = {"--recent": "recent", "--json": "json"}


@dataclass(frozen=True)
class SearchArguments:
    """What `memory search` was given, with its defaults."""

    query: str
    kind: str = "sessions"
    mode: str = "hybrid"
    project: str | None = None
    agent: str | None = None
    since: str | None = None
    until: str | None = None
    tool: str | None = None
    file: str | None = None
    session: str | None = None
    recent: bool = False
    n: int = 10
    json: bool = False


def plain_arguments(given: Sequence[str]) -> SearchArguments | None:
    """Return what these arguments mean, or None where it takes the command line's own parser
    to know: a help text, a mistake, a short option with its value attached."""
    values: dict[str, Any] = {}
    queries = []
    left = list(given)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in _FLAGS:
            values[_FLAGS[word]] = True
        elif word in _VALUES and left:
            values[_VALUES[word]] = left.pop(0)
        elif equals and name.startswith("--") and name in _VALUES:
            values[_VALUES[name]] = value
        elif word.startswith("-"):
            return None
        else:
            queries.append(word)
    number = values.get("n", "10")
    if len(queries) != 1 or not (number.isascii() and number.isdecimal() and len(number) < 9):
        return None
    return replace(SearchArguments(queries[0]), **{**values, "n": int(number)})


def run_search(asked: SearchArguments) -> int:
    """Search, print the answer, and return the exit code."""
    from memory_assets.recall import open_memory
    from memory_assets.recall.search.request import parse_kinds, parse_time

    answer = open_memory().search(
        asked.query,
        kinds=parse_kinds(asked.kind),
        mode=asked.mode,
        project=asked.project,
        agent=asked.agent,
        since=parse_time(asked.since) if asked.since else None,
        until=parse_time(asked.until) if asked.until else None,
        tool=asked.tool,
        file=asked.file,
        n=asked.n,
        session=asked.session,
        recent=asked.recent,
    )
    if asked.json:
        rendering.print_json(answer.to_dict())
    else:
        rendering.print_answer(answer)
    return exit_codes.FINE if answer.hits else exit_codes.NOTHING_FOUND
