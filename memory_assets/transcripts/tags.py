"""Text between tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Enclosed(NamedTuple):
    """An opening tag, whose group 1 is the tag's name, and where its closing begins and ends."""

    opening: re.Match[str]
    end: int
    after: int


def find_enclosed(text: str, opening: re.Pattern[str]) -> Iterator[Enclosed]:
    """Yield each opening that its closing tag follows; what is inside is not searched again."""
    missing: set[str] = set()
    at = 0
    while (begin := opening.search(text, at)) is not None:
        closing = f"</{begin.group(1)}>"
        end = -1 if closing in missing else text.find(closing, begin.end())
        if end < 0:
            missing.add(closing)
            at = begin.end()
            continue
        at = end + len(closing)
        yield Enclosed(begin, end, at)


def replace_enclosed(
    text: str,
    opening: re.Pattern[str],
    put: Callable[[re.Match[str]], str],
    *,
    blanks: bool = False,
) -> str:
    """Return `text` with what `put` returns for an opening in place of all that it encloses, and,
    if `blanks`, of the blanks behind it."""
    parts: list[str] = []
    at = 0
    for element in find_enclosed(text, opening):
        parts += [text[at : element.opening.start()], put(element.opening)]
        at = element.after
        while blanks and text[at : at + 1].isspace():
            at += 1
    return "".join((*parts, text[at:])) if parts else text
