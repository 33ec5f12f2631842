"""Fields of JSON objects by the type that is expected of them, and values out of texts of JSON."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import Any

import orjson

_MOST_COUNTED = 10**12
"""No count of tokens is larger; one that is would not fit a column."""


def text_field(record: dict[str, Any], name: str) -> str:
    """Return the string at `name`, or ""."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def object_field(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object at `name`, or an empty one."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none of anything else."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def entries_of(value: Any) -> list[Any]:
    """Return the entries of a list, or of an object that has them by their ids; what is neither is
    the only one, and None is none. So what a newer version writes otherwise is seen, too."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [] if value is None else [value]


def rows_of(value: Any) -> list[dict[str, Any]]:
    """Return the entries of a value as objects; one that is none is the `value` of its own."""
    return [one if isinstance(one, dict) else {"value": one} for one in entries_of(value)]


def count_field(record: dict[str, Any], name: str) -> int:
    """Return a field that is a count, 0 if it is none."""
    value = record.get(name)
    return value if type(value) is int and 0 < value < _MOST_COUNTED else 0  # no bool


def from_json(value: object) -> Any:
    """Return what a text of JSON says; None if it is none. Programs in JavaScript cut texts within
    a character, and escape the half of it, which strict parsers refuse; editors put a byte order
    mark before a file, and a loss of power leaves NULs behind it."""
    if isinstance(value, bytes):
        value = value.removeprefix(BOM_UTF8).rstrip(b"\0")
    if not isinstance(value, str | bytes):
        return None
    try:
        loaded = orjson.loads(value)
    except orjson.JSONDecodeError:
        loaded = None
    try:
        text = value if isinstance(value, str) else value.decode()
        if loaded is None:
            return storable(json.loads(text, parse_constant=str)) if "\\u" in text else None
        return storable(loaded) if "\\u0000" in text else loaded
    except (ValueError, RecursionError):
        return None


def parsed(text: object) -> Any:
    """Return what a text of JSON says; where it is none, the text as it is."""
    value = from_json(text)
    return text if value is None else value


def storable(value: Any) -> Any:
    """Return `value` with NUL characters and lone surrogates in its strings replaced."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value


def clean_text(text: str) -> str:
    """Return `text` with NUL characters and lone surrogates as U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
