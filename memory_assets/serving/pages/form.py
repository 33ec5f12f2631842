"""Forms: a field for each argument that a request declares for HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_assets.requests.arguments import Argument, Arguments, declared


@dataclass(frozen=True)
class Field:
    """One field. `choices` are values to choose from, empty for a text; `usual` says what holds if
    nothing is chosen. `limits` are attributes of HTML."""

    name: str
    value: str
    description: str
    choices: tuple[str, ...]
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


def fields(request: type[Arguments], query: Mapping[str, str]) -> list[Field]:
    """Return the fields of a request's form with the values of a query, in order."""
    return [
        _field(argument, name, query.get(name, ""))
        for argument in declared(request)
        if (name := argument.name_at("http")) is not None
    ]


def _field(argument: Argument, name: str, value: str) -> Field:
    choices, default, limits = argument.choices, argument.default, argument.limits
    is_number, is_flag = argument.type is int, argument.type is bool
    if is_flag:
        choices, default = ("true", "false"), str(default).lower()
    if isinstance(default, tuple):
        (default,) = default
    bounds = {"ge": "min", "le": "max", "max_length": "maxlength"}
    return Field(
        name,
        value,
        argument.description,
        choices,
        "" if default is None or argument.required else str(default),
        "number" if is_number else "search" if name == "q" else "text",
        {html: limits[ours] for ours, html in bounds.items() if ours in limits},
    )
