"""A command's options, made from the arguments that its request declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from memory_assets.requests.arguments import OF_WORDS, Argument, Arguments, declared

Projects = Annotated[
    list[str] | None, typer.Option("--project", help="Only this project; repeatable.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON; its fields are stable.")]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer takes it: one that takes a request gets its arguments, and
    `--json`, as options.

    The values are checked by the request, so that errors are those of every other way in.
    """
    request: type[Arguments] | None = getattr(command, "request", None)
    if request is None:
        return command
    of_request = request
    names = {spec.name: name for spec in declared(request) if (name := spec.name_at("cli"))}

    @wraps(command)
    def run(ctx: typer.Context, json: bool, **given: Any) -> None:
        said = {name: value for name, value in given.items() if _was_given(ctx, name)}
        values = {names[name]: value for name, value in said.items() if value != []}
        for name in OF_WORDS & values.keys():
            values[name] = " ".join(values[name] or ())
        command(of_request.given("cli", values), json)

    options = [_option(spec, names[spec.name]) for spec in declared(request) if spec.name in names]
    options.append(_parameter("json", Json, default=False))
    options.append(_parameter("ctx", typer.Context, default=inspect.Parameter.empty))
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _was_given(ctx: typer.Context, name: str) -> bool:
    """Return whether a command line has an option, rather than it has its default."""
    source = ctx.get_parameter_source(name)
    return source is not None and not source.name.startswith("DEFAULT")


def _option(argument: Argument, name: str) -> inspect.Parameter:
    """Return the parameter that typer makes an option, or an argument without dashes, of."""
    text = argument.description
    if argument.choices and argument.flag is None:
        text += f" One of {', '.join(argument.choices)}."
    if not name.startswith("-"):
        default = inspect.Parameter.empty if argument.required else argument.default
        if name in OF_WORDS:
            words: Any = list[str] if argument.required else list[str] | None
            words = Annotated[words, typer.Argument(help=text)]
            return _parameter(argument.name, words, default if argument.required else None)
        return _parameter(argument.name, Annotated[str, typer.Argument(help=text)], default)
    if argument.flag is not None or argument.type is bool:
        on = argument.default is True
        decl = f"{name}/--no-{name.removeprefix('--')}" if on else name
        return _parameter(argument.name, Annotated[bool, typer.Option(decl, help=text)], on)
    if argument.repeatable:
        many = Annotated[list[str] | None, typer.Option(name, help=f"{text} Repeatable.")]
        return _parameter(argument.name, many, None)
    default = argument.default[0] if isinstance(argument.default, tuple) else argument.default
    limits = argument.limits
    metavar = f"<{limits['ge']}-{limits['le']}>" if argument.type is int else None
    one = Annotated[str | None, typer.Option(name, help=text, metavar=metavar)]
    return _parameter(argument.name, one, None if default is None else str(default))


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)
