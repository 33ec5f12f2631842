"""Forms: a field for each argument that a request declares for HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from memory_assets.errors import ConfigurationError, MemoryAssetsError
from memory_assets.requests.arguments import Argument, Arguments, declared
from memory_assets.requests.times import parse_time
from memory_assets.serving.answer_lines import project_name
from memory_assets.serving.http_api import status_of

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_MOST_LISTED = 500
"""More projects than these are typed, not chosen."""


@dataclass(frozen=True)
class Field:
    """One field. `choices` are pairs of a value and its label, empty for a text field; `usual` is
    the value that applies if nothing is chosen; `limits` are attributes of HTML."""

    name: str
    value: str
    description: str
    choices: Sequence[tuple[str, str]]
    usual: str
    kind: str
    limits: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name as a person reads it."""
        return self.name.replace("_", " ")


def given_arguments(query: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of a form that were filled in."""
    return {name: value for name, value in query.items() if value.strip()}


@contextmanager
def filled_form(
    memory: Memory, request: Request, question: type[Arguments]
) -> Iterator[dict[str, Any]]:
    """Yield what a page shows of its form, to which the block adds the `answer`: the `given`
    arguments, the form's `fields`, and those that are `filtered` by.

    An error of what was filled in becomes the `problem` and the page's HTTP `status`; errors of the
    server are raised.
    """
    given = given_arguments(request.query_params)
    shown: dict[str, Any] = {
        "given": given,
        "fields": fields(question, request.query_params, listed_values(memory)),
        "filtered": [f"{name} {value}" for name, value in given.items() if name not in ("q", "n")],
        **{"answer": None, "problem": "", "status": 200},
    }
    try:
        yield shown
    except MemoryAssetsError as error:
        if (status := status_of(error)[0]) >= 500:
            raise
        shown.update(problem=str(error), status=status)


def listed_values(memory: Memory) -> dict[str, list[tuple[str, str]]]:
    """Return values to choose from, by argument: the projects with their names (and directories, if
    several share a name), and the memories that were pulled to this machine."""
    from memory_assets.recall.over import ALL, pulled_names

    pulled = pulled_names(memory.data_dir)
    over = {"over": [(name, name) for name in (ALL, *pulled)]} if pulled else {}
    roots = memory.catalog.sources.project_roots()
    if len(roots) > _MOST_LISTED:
        return over
    named = [(key, project_name({"project": key, "project_root": roots[key]})) for key in roots]
    names = [name for _, name in named]
    shown = [
        (key, f"{name} ({roots[key] or key})" if names.count(name) > 1 else name)
        for key, name in named
    ]
    return {"project": sorted(shown, key=lambda pair: pair[1].lower()), **over}


def fields(
    request: type[Arguments],
    query: Mapping[str, str],
    listed: Mapping[str, Sequence[tuple[str, str]]],
) -> list[Field]:
    """Return the fields of a request's form with the values of a query, in order; `listed` are
    values to choose from by the argument's name."""
    return [
        _field(argument, name, query.get(name, ""), listed.get(name, ()))
        for argument in declared(request)
        if (name := argument.name_at("http")) is not None
    ]


def _field(argument: Argument, name: str, value: str, listed: Sequence[tuple[str, str]]) -> Field:
    default = argument.default
    choices = argument.choices
    if argument.type is bool:
        choices = ("true", "false")
        default = str(default).lower()
    if isinstance(default, tuple):
        (default,) = default
    kind = "search" if name == "q" else "text"
    if argument.type is int:
        kind = "number"
    if argument.reads is parse_time and (day := _day(value)) is not None:
        kind = "date"
        value = day
    pairs = listed or [(choice, choice) for choice in choices]
    if listed and value and value not in dict(listed):
        pairs = [(value, value), *listed]
    limits = argument.limits
    bounds = {"ge": "min", "le": "max", "max_length": "maxlength"}
    return Field(
        name,
        value,
        argument.description,
        pairs,
        "" if default is None or argument.required else str(default),
        kind,
        {html: limits[ours] for ours, html in bounds.items() if ours in limits and kind != "date"},
    )


def _day(text: str) -> str | None:
    """Return the local day of a time as a date picker takes it, "" of none; None if it is no
    time."""
    try:
        return parse_time(text).astimezone().date().isoformat() if text else ""
    except ConfigurationError:
        return None
