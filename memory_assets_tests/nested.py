"""Reading values that JSON and Parquet nest."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any


def strings_in(value: Any, *, without: Collection[str] = ()) -> Iterator[str]:
    """Yield each string of nested dicts and lists, but for the values of keys in `without`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in without:
                yield from strings_in(inner, without=without)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner, without=without)
