"""A request's query parameters, each read once with its bounds; what was not read is refused."""

from __future__ import annotations

from collections.abc import Sequence

from memory_assets.errors import ConfigurationError


class BadParameter(ConfigurationError):
    """A parameter is missing, out of bounds, given twice or not known."""


class Parameters:
    """The parameters of one request, by name. Reading a wrong one raises `BadParameter`
    with what would be right."""

    def __init__(self, given: Sequence[tuple[str, str]]) -> None:
        self._given: dict[str, str] = {}
        for name, value in given:
            if name in self._given:
                raise BadParameter(f"{name} is given twice")
            self._given[name] = value

    def text(self, name: str, longest: int) -> str | None:
        """Return a text, None where it is not given or empty."""
        value = self._given.pop(name, None)
        if value is not None and len(value) > longest:
            raise BadParameter(f"{name} is longer than {longest} characters")
        if value is not None and "\0" in value:
            raise BadParameter(f"{name} holds a NUL character")
        return value or None

    def needed(self, name: str, longest: int) -> str:
        """Return a text that has to be given."""
        value = self.text(name, longest)
        if value is None:
            raise BadParameter(f"{name} is missing")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value = self._given.pop(name, None)
        if value is None:
            return default
        digits = value if value.isascii() and value.isdigit() and len(value) <= 9 else "-1"
        number = int(digits)
        if not least <= number <= most:
            raise BadParameter(f"{name} is a number from {least} to {most}")
        return number

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str | None:
        """Return one of `choices`."""
        value = self._given.pop(name, None)
        if value is None:
            return default
        if value not in choices:
            raise BadParameter(f"{name} is one of {', '.join(choices)}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self.choice(name, ("true", "false"))
        return default if value is None else value == "true"

    def rest(self, prefix: str) -> dict[str, str]:
        """Return all that begin with a prefix, by the rest of their names."""
        names = [name for name in self._given if name.startswith(prefix)]
        return {name.removeprefix(prefix): self._given.pop(name) for name in names}

    def nothing_else(self) -> None:
        """Refuse what was not read."""
        if self._given:
            raise BadParameter(f"unknown parameters: {', '.join(sorted(self._given))}")
