"""Changes of JSON files that people edit: comments, indentation, line ends and commas after the
last member stay, and so does every value but the one that is set.

The format is VS Code's JSON with comments (https://code.visualstudio.com/docs/languages/json). With
its comments and such commas blanked out it is JSON, each value at the same place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Step = str | int | tuple[str, str]
"""A step from a value into it: the name of a member; the index of a list's element; or a name and a
value, which select the last element of a list whose member of that name has that value."""
_STRING = r'"(?:\\.|[^"\\\n])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_BLANKS = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class _Item(NamedTuple):
    """A member of an object, or an element of a list (without a name), and where it is."""

    name: str
    begin: int
    value: int
    end: int


def value_at(text: str, path: Sequence[Step]) -> Any:
    """Return the value at a path, None if there is none.

    Raises:
        ValueError: the text is not JSON with comments.
    """
    value = json.loads(_without_comments(_whole(text)).removeprefix("\ufeff"))
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            items = value if isinstance(value, list) else []
            fitting = [entry for at, entry in enumerate(items) if at == step or _has(entry, step)]
            value = fitting[-1] if fitting else None
    return value


def with_value(text: str, path: Sequence[Step], value: Any) -> str:
    """Return a text with a value at a path, whose containers are added where they are missing.

    Raises:
        ValueError: it is not JSON with comments, or has something else on the way.
    """
    text = _whole(text)
    plain = _without_comments(text)
    at = _skip(plain, int(plain.startswith("\ufeff")))
    end = len(text)
    for depth, step in enumerate(path):
        if plain[at] != ("{" if isinstance(step, str) else "["):
            raise ValueError(f"has no {'object' if isinstance(step, str) else 'list'} at {step}")
        items, close = _items(plain, at)
        matches = _fitting(plain, items, step)
        if not matches:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value} if isinstance(outer, str) else [value]
            return _added(text, plain, (at, close), items, step, value)
        _, _, at, end = items[matches[-1]]
    if json.loads(plain[at:end]) == value:
        return text
    return text[:at] + _written(value, text, _indent(text, at)) + text[end:]


def without_value(text: str, path: Sequence[Step]) -> str:
    """Return a text without the item at a path; its container stays. The same text if there is no
    such item.

    Raises:
        ValueError: it is not JSON with comments.
    """
    plain = _without_comments(_whole(text))
    commas = _COMMENT.sub(_blank, text)
    at = _skip(plain, int(plain.startswith("\ufeff")))
    opened = close = at
    place = 0
    items: list[_Item] = []
    for step in path:
        items, close = _items(plain, at) if plain[at] in "{[" else ([], at)
        matches = _fitting(plain, items, step)
        if not matches:
            return text
        opened = at
        place = matches[-1]
        at = items[place].value
    item = items[place]
    begin = len(text[: item.begin].rstrip())
    comma = commas.find(",", item.end, close)
    if comma < 0 and place:
        comma = commas.index(",", items[place - 1].end)
        left = text[:comma] + text[comma + 1 : begin] + text[item.end :]
    else:
        comma = max(comma, item.end - 1)
        left = text[:begin] + text[item.end : comma] + text[comma + 1 :]
    rest = left[opened + 1 :].lstrip()
    return left[: opened + 1] + rest if rest[:1] in ("}", "]") else left


def _whole(text: str) -> str:
    return text if text.strip("\ufeff \t\r\n") else "{}\n"


def _has(value: Any, step: Step) -> bool:
    return isinstance(step, tuple) and isinstance(value, dict) and value.get(step[0]) == step[1]


def _without_comments(text: str) -> str:
    plain = _COMMENT.sub(_blank, text)
    plain = _LAST_COMMA.sub(_blank, plain)
    json.loads(plain.removeprefix("\ufeff"))
    return plain


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"\S", " ", match[0])


def _skip(plain: str, at: int) -> int:
    return _BLANKS.match(plain, at).end()  # type: ignore[union-attr]


def _items(plain: str, at: int) -> tuple[list[_Item], int]:
    """Return the items of the object or list that begins at a place, and the place of its end."""
    items: list[_Item] = []
    named = plain[at] == "{"
    at = _skip(plain, at + 1)
    while plain[at] not in "}]":
        begin = at
        name = ""
        if named:
            name, at = _DECODER.raw_decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)
        end = _DECODER.raw_decode(plain, at)[1]
        items.append(_Item(name, begin, at, end))
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
    return items, at


def _fitting(plain: str, items: Sequence[_Item], step: Step) -> list[int]:
    """Return the numbers of the items that a step leads to."""
    if isinstance(step, str):
        return [at for at, entry in enumerate(items) if entry.name == step]
    values = (json.loads(plain[item.value : item.end]) for item in items)
    return [at for at, value in enumerate(values) if at == step or _has(value, step)]


def _added(
    text: str,
    plain: str,
    span: tuple[int, int],
    items: Sequence[_Item],
    step: Step,
    value: Any,
) -> str:
    """Return the text with one more item in the object or list of a span, after the comments that
    stand behind the last one."""
    opened, close = span
    outer = _indent(text, opened)
    own_line = items and not text[: items[-1].begin].rpartition("\n")[2].strip()
    inner = _indent(text, items[-1].begin) if own_line else outer + _unit(text)
    line_end = _line_end(text)
    name = f"{json.dumps(step)}: " if isinstance(step, str) else ""
    body = text[:close].rstrip()
    if items:
        last = items[-1].end
        comma = "" if "," in _COMMENT.sub(_blank, body)[last:] else ","
        body = body[:last] + comma + body[last:]
    item = f"{line_end}{inner}{name}{_written(value, text, inner)}"
    return f"{body}{item}{line_end}{outer}{text[close:]}"


def _written(value: Any, text: str, indent: str) -> str:
    """Return a value as JSON in the manner of a text; its first line is indented already."""
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{_line_end(text)}{indent}".join(lines)


def _indent(text: str, at: int) -> str:
    line = text[:at].rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match[1] if match else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
