"""Names that arguments had in earlier memories, as options of the command line. No help lists
them: MCP and HTTP accept them, too, and a habit works everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from memory_assets.errors import BadArgument
from memory_assets.requests.arguments import Argument, Arguments, declared


class RequestCommand(TyperCommand):
    """A command that takes the names of today and those of earlier memories."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words behind the command's name."""
        request = getattr(self.callback, "request", None)
        return super().parse_args(ctx, with_names_of_today(request, args) if request else args)


def with_names_of_today(request: type[Arguments], words: Sequence[str]) -> list[str]:
    """Return the words of a command line with the names that its options have today; the value of a
    positional argument stands where that does.

    Raises:
        BadArgument: a value is missing or not allowed, or an argument is given by both names.
    """
    earlier = {
        f"--{spelling}": (spec, name)
        for spec in declared(request)
        if (name := spec.name_at("cli")) is not None
        for alias in spec.aliases
        for spelling in {alias, alias.replace("_", "-")}
    }
    first: list[str] = []
    last: list[str] = []
    kept: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        option, equals, value = word.partition("=")
        if option not in earlier:
            kept.append(word)
            if word == "--":
                break
            continue
        argument, name = earlier[option]
        if not equals and not left:
            raise BadArgument(f"{option}: needs a value")
        value = value if equals else left.pop(0)
        if name in {word.partition("=")[0] for word in words}:
            raise BadArgument(f"{option}: is another name of {name}; give one of them")
        if name.startswith("-"):
            kept += _option(argument, name, option, value)
        else:
            (first if _is_first(request, argument) else last).append(value)
    return [*first, *kept, *left, *last]


def _option(argument: Argument, name: str, option: str, value: str) -> list[str]:
    if argument.flag is None:
        return [name, value]
    choices: dict[Any, list[str]] = {argument.flag[1]: [name], argument.default: []}
    if value not in choices:
        listed = ", ".join(map(str, choices))
        raise BadArgument(f"{option}: there is no {value!r}; choose from {listed}")
    return choices[value]


def _is_first(request: type[Arguments], argument: Argument) -> bool:
    names = (spec for spec in declared(request) if not str(spec.name_at("cli")).startswith("-"))
    return next(names).name == argument.name
