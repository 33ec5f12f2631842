"""Declaring commands. A command that asks gets its options from the arguments of its request; other
commands declare click's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from memory_assets.errors import MemoryAssetsError
from memory_assets.project_names import short_name
from memory_assets.requests.arguments import OF_WORDS, Argument, Arguments, declared

_OF_FILES = ("file", "output", "target")
"""Arguments whose values are paths of files."""
R = TypeVar("R", bound=Arguments)

PATH = click.Path(path_type=Path)
flag = partial(click.option, is_flag=True)
JSON = flag("--json", help="Print JSON; its fields are stable.")


def completed(values: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return click's `shell_complete` for an option with these values."""
    return lambda ctx, param, begun: [value for value in values() if value.startswith(begun)]


def project_names() -> list[str]:
    """Return the names of the projects in memory; none while it cannot be read."""
    from memory_assets.settings import load_settings
    from memory_assets.stores.catalog.catalog import catalog_of

    try:
        with closing(catalog_of(load_settings().data_dir)) as catalog:
            roots = catalog.sources.project_roots()
            return sorted({short_name(project, root) for project, root in roots.items()})
    except MemoryAssetsError:
        return []


def _file(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    return PATH.shell_complete(ctx, param, begun)


PROJECTS = click.option(
    "--project",
    multiple=True,
    shell_complete=completed(project_names),
    help="Only this project; repeatable.",
)


def command(example: str = "") -> Callable[[Callable[..., object]], click.Command]:
    """Return a decorator that makes a command of a function, with the function's name, and its
    docstring as help. The help ends with the example, by default the command alone."""

    def declare(function: Callable[..., object]) -> click.Command:
        name = function.__name__.replace("_", "-")
        return click.command(name, epilog=f"Example: {example or f'memory {name}'}")(function)

    return declare


def request_command(
    request: type[R], example: str = ""
) -> Callable[[Callable[[R, bool], object]], click.Command]:
    """Return a decorator that makes a command of a function of a request and of whether to print
    JSON. The request checks the values, so errors are the same as those of MCP and HTTP."""
    arguments = [spec for spec in declared(request) if spec.name_at("cli") is not None]

    def declare(function: Callable[[R, bool], object]) -> click.Command:
        def run(json: bool, **given: Any) -> None:
            given |= _shifted_positionals(arguments, given)
            values = {name: given[key] for name, key in keys.items() if given[key] != ()}
            for name in OF_WORDS & values.keys():
                values[name] = " ".join(values[name])
            function(request.from_values("cli", values), json)

        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        click_command = command(example)(JSON(run))
        click_command.params[:0] = [option for spec in arguments for option in _options(spec)]
        return click_command

    keys = {str(spec.name_at("cli")): spec.name for spec in arguments}
    keys |= {alias: alias for spec in arguments for alias in spec.aliases}
    return declare


def _shifted_positionals(arguments: Sequence[Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the positional arguments if some of them are given as options, by their
    earlier names: the words without dashes then belong to the others, in order. Empty if the
    words are as many as click expects."""
    positionals = [spec for spec in arguments if not str(spec.name_at("cli")).startswith("-")]
    free = [
        spec.name for spec in positionals if all(given[alias] is None for alias in spec.aliases)
    ]
    words = [given[spec.name] for spec in positionals if given[spec.name] is not None]
    if not len(words) <= len(free) < len(positionals):
        return {}
    return {spec.name: None for spec in positionals} | dict(zip(free, words, strict=False))


def _options(argument: Argument) -> Iterator[click.Parameter]:
    """Yield click's parameter for an argument, and hidden ones for its names in earlier versions.
    They have no defaults, so that what was not given is None or empty."""
    for alias in argument.aliases:
        spellings = {f"--{alias}", f"--{alias.replace('_', '-')}"}
        yield click.Option([alias, *spellings], hidden=True)
    key = argument.name
    complete = _completion_of(argument)
    name = str(argument.name_at("cli"))
    text = argument.description
    if argument.choices and argument.flag is None:
        text += f" One of {', '.join(argument.choices)}."
    if not name.startswith("-"):
        shown = name.upper() if argument.required else f"[{name.upper()}]"
        if name in OF_WORDS:
            yield click.Argument([key], nargs=-1, metavar=f"{shown}...", help=text)
        else:
            yield click.Argument(
                [key], required=False, metavar=shown, help=text, shell_complete=complete
            )
    elif argument.flag is not None or argument.type is bool:
        both = f"{name}/--no-{name.removeprefix('--')}" if argument.default is True else name
        yield click.Option([key, both], default=None, is_flag=True, help=text)
    elif argument.repeatable:
        text += " Repeatable."
        yield click.Option([key, name], multiple=True, help=text, shell_complete=complete)
    else:
        limits = argument.limits
        metavar = f"<{limits['ge']}-{limits['le']}>" if argument.type is int else None
        default = argument.default
        standard = default[0] if isinstance(default, tuple) else default
        text += "" if standard is None else f" [default: {standard}]"
        yield click.Option([key, name], metavar=metavar, help=text, shell_complete=complete)


def _completion_of(argument: Argument) -> Callable[..., Any] | None:
    """Return what completes an argument's value in a shell: one of a list, a project, a file."""
    if argument.choices:
        return completed(lambda: argument.choices)
    if argument.name == "project":
        return completed(project_names)
    return _file if argument.name in _OF_FILES else None
