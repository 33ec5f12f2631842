"""How a command is declared: the options of one that asks are made from the arguments of its
request, those of other commands are click's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from memory_assets.requests.arguments import OF_WORDS, Argument, Arguments, declared

R = TypeVar("R", bound=Arguments)

PATH = click.Path(path_type=Path)
flag = partial(click.option, is_flag=True)
JSON = flag("--json", help="Print JSON; its fields are stable.")
PROJECTS = click.option("--project", multiple=True, help="Only this project; repeatable.")


def command(example: str = "") -> Callable[[Callable[..., object]], click.Command]:
    """Return a decorator that makes a command of a function, which has its name and its docstring
    as help. The help ends with an example: unless one is given, the command alone."""

    def declare(function: Callable[..., object]) -> click.Command:
        name = function.__name__.replace("_", "-")
        return click.command(name, epilog=f"Example: {example or f'memory {name}'}")(function)

    return declare


def takes(
    request: type[R], example: str = ""
) -> Callable[[Callable[[R, bool], object]], click.Command]:
    """Return a decorator that makes a command of a function that gets a request, and whether to
    print JSON. The request checks the values, so that errors are those of MCP and HTTP, too."""
    arguments = [spec for spec in declared(request) if spec.name_at("cli") is not None]

    def declare(function: Callable[[R, bool], object]) -> click.Command:
        def run(json: bool, **given: Any) -> None:
            given |= _placed(arguments, given)
            values = {name: given[key] for name, key in keys.items() if given[key] != ()}
            for name in OF_WORDS & values.keys():
                values[name] = " ".join(values[name])
            function(request.given("cli", values), json)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        asking = command(example)(JSON(run))
        asking.params[:0] = [option for spec in arguments for option in _options(spec)]
        return asking

    keys = {str(spec.name_at("cli")): spec.name for spec in arguments}
    keys |= {alias: alias for spec in arguments for alias in spec.aliases}
    return declare


def _placed(arguments: Sequence[Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the positional arguments where some are given by their earlier names: words without
    dashes are the others."""
    at = [spec for spec in arguments if not str(spec.name_at("cli")).startswith("-")]
    free = [spec.name for spec in at if all(given[alias] is None for alias in spec.aliases)]
    words = [given[spec.name] for spec in at if given[spec.name] is not None]
    fits = len(words) <= len(free) < len(at)
    return {spec.name: None for spec in at} | dict(zip(free, words, strict=False)) if fits else {}


def _options(argument: Argument) -> Iterator[click.Parameter]:
    """Yield an argument as click takes it, and the names that it had in earlier memories, which no
    help lists. None has a default, so that what was not given is None, or empty."""
    for alias in argument.aliases:
        spellings = {f"--{alias}", f"--{alias.replace('_', '-')}"}
        yield click.Option([alias, *spellings], hidden=True)
    key, name, text = argument.name, str(argument.name_at("cli")), argument.description
    if argument.choices and argument.flag is None:
        text += f" One of {', '.join(argument.choices)}."
    if not name.startswith("-"):
        shown = name.upper() if argument.required else f"[{name.upper()}]"
        if name in OF_WORDS:
            yield click.Argument([key], nargs=-1, metavar=f"{shown}...", help=text)
        else:
            yield click.Argument([key], required=False, metavar=shown, help=text)
    elif argument.flag is not None or argument.type is bool:
        both = f"{name}/--no-{name.removeprefix('--')}" if argument.default is True else name
        yield click.Option([key, both], default=None, is_flag=True, help=text)
    elif argument.repeatable:
        yield click.Option([key, name], multiple=True, help=f"{text} Repeatable.")
    else:
        limits, default = argument.limits, argument.default
        metavar = f"<{limits['ge']}-{limits['le']}>" if argument.type is int else None
        standard = default[0] if isinstance(default, tuple) else default
        text += "" if standard is None else f" [default: {standard}]"
        yield click.Option([key, name], metavar=metavar, help=text)
