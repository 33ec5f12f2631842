"""Arguments as fields of a dataclass, with their limits in the fields' metadata.

The metadata use pydantic's words (`ge`, `max_length`, ...), and pydantic derives the JSON
schemas of MCP and HTTP from them (`serving/schemas.py`). The values are checked here, without
pydantic, which would make a cold search by words half as long again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    TypedDict,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from memory_assets.errors import BadArgument

Interface = Literal["http", "mcp", "cli"]
"""The interfaces at which arguments may have names of their own."""
OF_WORDS = frozenset({"query", "tool", "text"})
"""Positional arguments of the command line whose words need no quotes."""
_SHOWN = 60
_LEFT_OUT = " … "
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}
_DIGITS = re.compile(r"-?[0-9]{1,9}")
SESSION = "A session id, its beginning, or the id of one of its rows."
PAGER: dict[str, Any] = {
    "description": "Whether a terminal gets it in $PAGER.",
    "names": {"http": None, "mcp": None},
}
PROJECT: dict[str, Any] = {
    "description": "Only this project; `.` for the current directory's.",
    "max_length": 1_000,
}
WORKSPACE: dict[str, Any] = {
    "description": "Only this workspace: its name, or a path in it.",
    "max_length": 1_000,
}
NOT_OVER_MCP: dict[str, Any] = {"names": {"mcp": None}}
COUNT: dict[str, Any] = {"names": {"cli": "-n"}, "aliases": ("limit",), "ge": 1}
"""What arguments of several requests have in common."""


class Limits(TypedDict, total=False):
    """What a value may be, in pydantic's words."""

    ge: float
    gt: float
    le: float
    min_length: int
    max_length: int
    pattern: str


def argument(
    default: Any = MISSING,
    description: str = "",
    *,
    hint: str = "",
    wire: Any = None,
    reads: Callable[[Any], Any] | None = None,
    flag: tuple[str, object] | None = None,
    names: Mapping[Interface, str | None] | None = None,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
    required_at: tuple[Interface, ...] = (),
    cut: bool = False,
    **limits: Unpack[Limits],
) -> Any:
    """Return a dataclass field that is an argument.

    `hint` replaces the description in the schema of an MCP tool; every client pays for its words,
    so it is left out if the name suffices. `reads` parses what a client may write (of the type
    `wire`) into the field's value, and raises `ConfigurationError` if it cannot. `names` are the
    argument's names at interfaces where it is not called as the field is; None if an interface does
    not offer it. `flag` is a name and a value: MCP and the command line offer a flag that stands
    for the value. `aliases` are names that clients of earlier versions use: MCP and HTTP accept
    them with the field's own values, and no schema lists them. A `secret` is left out where the
    object is printed. Interfaces in `required_at` do not know the default. A text of more than
    `max_length` characters is refused, or (`cut`) its middle is left out.
    """
    about = wire, default, description, hint, limits, reads, flag, names or {}
    spec = Argument("", *about, aliases, required_at, cut)
    return field(default=default, repr=not secret, metadata={"argument": spec})


def one_of(choices: Sequence[str]) -> Any:
    """Return the type of a value that is one of a list kept elsewhere."""
    return Literal[tuple(choices)]


def listed_names(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in a list, or in texts with commas between them."""
    texts = [value] if isinstance(value, str) else value
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


@dataclass(frozen=True)
class Argument:
    """One declared argument: the field's name, its type as clients write it, and its limits."""

    name: str
    type: Any
    default: Any
    description: str
    hint: str
    limits: Mapping[str, Any]
    reads: Callable[[Any], Any] | None
    flag: tuple[str, object] | None
    names: Mapping[Interface, str | None]
    aliases: tuple[str, ...] = ()
    required_at: tuple[Interface, ...] = ()
    cut: bool = False

    def is_required_at(self, interface: Interface) -> bool:
        """Return whether a client of this interface must give the argument."""
        return self.required or interface in self.required_at

    @property
    def required(self) -> bool:
        """True if there is no default."""
        return self.default is MISSING

    @property
    def expected(self) -> str:
        """The description, as an error message continues with it."""
        return self.description[:1].lower() + self.description[1:].rstrip(".") or "a value"

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values, if they are listed."""
        kind = _not_none(self.type)
        inner = get_args(kind)[0] if get_origin(kind) is tuple else kind
        return get_args(inner) if get_origin(inner) is Literal else ()

    @property
    def repeatable(self) -> bool:
        """True if the command line accepts the argument several times."""
        return get_origin(_not_none(self.type)) in (tuple, dict)

    def name_at(self, interface: Interface) -> str | None:
        """Return the argument's name at an interface, None if it is not offered there. Options of
        the command line have their dashes; positional arguments, which are those required, none."""
        name = self.flag[0] if self.flag is not None and interface != "http" else self.name
        option = interface == "cli" and not self.required
        usual = f"--{name.replace('_', '-')}" if option else name
        return self.names.get(interface, usual)

    def checked(self, value: Any) -> Any:
        """Return the field's value, parsed and checked.

        Raises:
            ConfigurationError: it is not allowed; says what is.
        """
        if self.reads is None:
            return self._checked(value, self.type)
        if isinstance(value, str):
            self._text(value)
        try:
            return None if value is None else self.reads(value)
        except BadArgument as error:
            raise error.named(self.name) from None

    def _checked(self, value: Any, kind: Any) -> Any:
        if get_origin(kind) in (Union, UnionType):
            kind = _not_none(kind)
            if value is None or (value == "" and kind is str):
                return None
        origin = get_origin(kind)
        if origin is Literal:
            return self._choice(value, get_args(kind))
        if origin is tuple:
            members = value.split(",") if isinstance(value, str) else value
            if not isinstance(members, Sequence) or not members:
                raise self._wrong("give a list of one or more", value)
            if len(members) > self.limits.get("max_length", len(members)):
                raise self._wrong(f"give at most {self.limits['max_length']}", len(members))
            return tuple(self._checked(member, get_args(kind)[0]) for member in members)
        read = {int: self._integer, float: self._number, bool: self._truth, str: self._text}[kind]
        return read(value)

    def _choice(self, value: Any, choices: Sequence[str]) -> str:
        choice = chosen(value, choices)
        if choice is None:
            raise BadArgument(
                f"there is no {_shown(value)}; choose from {', '.join(choices)}", self.name
            )
        return choice

    def _integer(self, value: Any) -> int:
        if isinstance(value, str) and _DIGITS.fullmatch(value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self._within(value):
            raise self._wrong(f"give a whole number {self._bounds}", value)
        return value

    def _number(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self._within(number):
            raise self._wrong(f"give a number {self._bounds}", value)
        return number

    def _within(self, number: float) -> bool:
        least = self.limits.get("ge", -math.inf)
        above = self.limits.get("gt", -math.inf)
        most = self.limits.get("le", math.inf)
        return bool(least <= number <= most and above < number < math.inf)

    @property
    def _bounds(self) -> str:
        if "gt" in self.limits:
            return f"greater than {self.limits['gt']}"
        most = f" to {self.limits['le']}" if "le" in self.limits else " on"
        return f"from {self.limits['ge']}{most}"

    def _truth(self, value: Any) -> bool:
        if isinstance(value, str) and value in _TRUTHS:
            return _TRUTHS[value]
        if not isinstance(value, bool):
            raise self._wrong("give true or false", value)
        return value

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._wrong("give a text", value)
        most = self.limits.get("max_length", 1_000)
        if self.cut and len(value) > most:
            half = (most - len(_LEFT_OUT)) // 2
            value = f"{value[:half]}{_LEFT_OUT}{value[-half:]}"
        if get_origin(_not_none(self.type)) is not tuple and len(value) > most:
            raise BadArgument(f"{len(value)} characters are more than {most}", self.name)
        if "\0" in value:
            raise BadArgument("holds a NUL character; leave it out", self.name)
        if any("\ud800" <= character <= "\udfff" for character in value):  # bytes of the shell
            raise BadArgument("holds characters that are not UTF-8; leave them out", self.name)
        if len(value) < self.limits.get("min_length", 0):
            raise BadArgument(f"is empty; give {self.expected}", self.name)
        pattern = None if self.reads else self.limits.get("pattern")
        if pattern and not re.search(pattern, value):
            raise self._wrong(f"give {self.expected}", value)
        return str(value)

    def _wrong(self, remedy: str, value: Any) -> BadArgument:
        return BadArgument(f"{remedy}, not {_shown(value)}", self.name)


@dataclass(frozen=True)
class Arguments:
    """Arguments of one question, parsed and checked when the object is made.

    `answers` are keys that every answer has.

    Raises:
        ConfigurationError: a value is not allowed; says what is.
    """

    answers: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for argument in declared(type(self)):
            value = argument.checked(getattr(self, argument.name))
            object.__setattr__(self, argument.name, value)
        self.check_together()

    def check_together(self) -> None:
        """Raise for values that are allowed one by one, but not together."""

    @classmethod
    def from_values(cls, interface: Interface, values: Mapping[str, Any], **defaults: Any) -> Self:
        """Return the request with arguments as an interface received them, by their names there;
        `defaults` are the interface's own, by field. None counts as not given.

        Raises:
            ConfigurationError: an argument is not known, missing or not allowed. The message has
                the argument's name at the interface.
        """
        named = {
            name: spec for spec in declared(cls) if (name := spec.name_at(interface)) is not None
        }
        aliases = {alias: name for name, spec in named.items() for alias in spec.aliases}
        names_given = {spec.name: name for name, spec in named.items()}
        read = dict(defaults)
        for name, value in values.items():
            spec = named.get(aliases.get(name, name))
            if spec is None:
                raise BadArgument(
                    f"there is no such argument; known are: {', '.join(named) or 'none'}", name
                )
            if value is None:
                continue
            if name in aliases:
                names_given[spec.name] = (
                    f"--{name.replace('_', '-')}" if interface == "cli" else name
                )
                if values.get(aliases[name]) is not None:
                    remedy = f"is another name of {aliases[name]}; give one of them"
                    raise BadArgument(remedy, names_given[spec.name])
            if spec.flag is not None and interface != "http" and name not in aliases:
                value = spec.flag[1] if spec._truth(value) else spec.default
            read[spec.name] = value
        for name, argument in named.items():
            if argument.is_required_at(interface) and argument.name not in read:
                raise BadArgument(f"is missing; give {argument.expected}", name)
        try:
            return cls(**read)
        except BadArgument as error:
            raise error.named(names_given.get(error.argument, error.argument)) from None


def chosen(value: object, choices: Sequence[str]) -> str | None:
    """Return the choice that a text names, in any case and with spaces for dashes; `claude` stands
    for `claude-code`. None if there is none."""
    normalized = "-".join(str(value).lower().split()) if isinstance(value, str) else ""
    return next(
        (choice for choice in choices if normalized in (choice, choice.partition("-")[0])), None
    )


def declared(request: type[Arguments]) -> tuple[Argument, ...]:
    """Return the arguments that a request declares, in order."""
    return _declared(request)  # type: ignore[arg-type]  # mypy takes a dataclass's own hash


@cache
def _declared(request: type[Arguments]) -> tuple[Argument, ...]:
    hints = get_type_hints(request)
    arguments = [(attribute.name, attribute.metadata["argument"]) for attribute in fields(request)]
    return tuple(
        replace(spec, name=name, type=spec.type or hints[name]) for name, spec in arguments
    )


def _not_none(kind: Any) -> Any:
    """Return a type without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return next(member for member in get_args(kind) if member is not NoneType)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
