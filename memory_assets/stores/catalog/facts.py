"""What is known of a file or a product, as JSON, parsed when it is first asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


class Facts(Mapping[str, Any]):
    """A JSON object that is parsed at the first look: most rows of the catalogue are read for
    their hashes alone."""

    __slots__ = ("_text", "_values")

    def __init__(self, text: str) -> None:
        self._text = text
        self._values: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return self._parsed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __repr__(self) -> str:
        return f"Facts({self._text})"

    def _parsed(self) -> dict[str, Any]:
        if self._values is None:
            self._values = json.loads(self._text)
        return self._values


def to_json(facts: Mapping[str, Any]) -> str:
    """Return facts as the catalogue keeps them."""
    return json.dumps(dict(facts), sort_keys=True)
