"""`memory search`. Plain arguments are parsed here without typer, whose import takes longer
than a search by words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_assets.cli import exit_codes, rendering
from memory_assets.requests.arguments import declared
from memory_assets.requests.questions import SearchRequest


def plain_arguments(given: Sequence[str]) -> dict[str, str | bool] | None:
    """Return the values of a search by option, or None if typer has to parse them: `--help`, a
    mistake, a short option with its value attached."""
    options = {name: each for each in declared(SearchRequest) if (name := each.name_at("cli"))}
    booleans = {name: each.default is True for name, each in options.items() if each.type is bool}
    flags = {("--no-" + name[2:] if on else name): (name, not on) for name, on in booleans.items()}
    flags["--json"] = ("--json", True)
    values: dict[str, str | bool] = {}
    queries = []
    left = list(given)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in flags:
            name, values[name] = flags[word]
        elif not word.startswith("-"):
            queries.append(word)
        elif word in options.keys() - booleans and left:
            values[word] = left.pop(0)
        elif equals and name.startswith("--") and name in options.keys() - booleans:
            values[name] = value
        else:
            return None
    return {**values, "query": queries[0]} if len(queries) == 1 else None


def search_plainly(values: Mapping[str, str | bool]) -> int:
    """Search with the values of plain arguments, and return the exit code."""
    asked = {name: value for name, value in values.items() if name != "--json"}
    return run_search(SearchRequest.given("cli", asked), as_json="--json" in values)


def run_search(asked: SearchRequest, *, as_json: bool) -> int:
    """Search, print the answer, and return the exit code."""
    from memory_assets.recall import open_memory

    answer = open_memory().ask(asked)
    (rendering.print_json if as_json else rendering.print_answer)(answer)
    return exit_codes.FINE if answer["hits"] else exit_codes.NOTHING_FOUND
