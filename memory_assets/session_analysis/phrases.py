"""Short redacted phrases: numbers, lists, texts cut on a word boundary, relative paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_assets.redacted_text import RedactedText, compose, join

EMPTY = compose("")
ELLIPSIS = compose("…")
_DIGITS = compose("0123456789")
_ENDS = (*".!?…:。！？", '."', '!"', '?"', ".'", ".)", "!)", "?)")
_ESCAPE = re.compile(r"\\(?:[nrt]|u[0-9a-fA-F]{4}|.)")
_BLANK = compose(" ")
_LAST_WORD = re.compile(r"\s+\S*$")


def phrase(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of prose, where capitals make no difference."""
    return re.compile(pattern, re.IGNORECASE)


def names(words: str) -> frozenset[str]:
    """Return a set of names from one string of them."""
    return frozenset(words.split())


def number(value: int) -> RedactedText:
    """Return a count as text."""
    return join("", (_DIGITS.cut(int(one), int(one) + 1) for one in str(abs(value))))


def shorten(text: RedactedText, limit: int) -> RedactedText:
    """Return `text`, or as many of its words as fit in `limit` characters with an ellipsis."""
    if len(text) <= limit:
        return text
    room = limit - 1
    end = room
    if not text[room].isspace():
        last = _LAST_WORD.search(text[:room])
        # A single word that fills the room is cut in the middle.
        end = last.start() if last and last.start() > room // 2 else room
    while end and not (text[end - 1].isalnum() or text[end - 1] in ")]>\"'`"):
        end -= 1
    return compose("{}{}", text.cut(0, end or room), ELLIPSIS)


def fitted(parts: Iterable[RedactedText], room: int) -> list[RedactedText]:
    """Return the parts, each cut to what those before it leave of `room` characters, as long as
    40 are left."""
    kept: list[RedactedText] = []
    for part in parts:
        if room < 40:
            break
        kept.append(shorten(part, room))
        room -= len(kept[-1]) + 1
    return kept


def leading(parts: Iterable[RedactedText], room: int) -> list[RedactedText]:
    """Return the first parts that fit in `room` characters, two of them after each part."""
    kept: list[RedactedText] = []
    for part in parts:
        room -= len(part) + 2
        if room < 0:
            break
        kept.append(part)
    return kept


def listing(parts: Sequence[RedactedText], most: int) -> RedactedText:
    """Return "a, b, c and 4 more", with at most `most` of the parts named."""
    shown = join(", ", parts[:most])
    if len(parts) <= most:
        return shown
    return compose("{} and {} more", shown, number(len(parts) - most))


def distinct(parts: Iterable[RedactedText]) -> list[RedactedText]:
    """Return the parts that are not empty, each once, in order."""
    return [part for part in dict.fromkeys(parts) if part]


def relative(path: RedactedText, roots: Iterable[RedactedText]) -> RedactedText:
    """Return `path` below the first of `roots` that holds it, else `path` itself."""
    for root in roots:
        bare = root.rstrip("/\\")
        inside = len(path) > len(bare) + 1 and path.startswith((f"{bare}/", f"{bare}\\"))
        if bare and inside:
            return path.cut(len(bare) + 1)
    return path.cut(2) if path.startswith("./") else path


def base_name(path: RedactedText) -> RedactedText:
    """Return the last part of a path of either kind."""
    bare = path.cut(0, len(path.rstrip("/\\")))
    return bare.cut(max(bare.rfind("/"), bare.rfind("\\")) + 1)


def closed(text: RedactedText) -> RedactedText:
    """Return `text` with a full stop, unless it ends a sentence already."""
    return text if text.endswith(_ENDS) or not text else compose("{}.", text)


def unescaped(text: RedactedText) -> RedactedText:
    """Return the inside of a JSON string: quotes and slashes stay, white space is a blank."""
    parts: list[RedactedText] = []
    at = 0
    for escape in _ESCAPE.finditer(text):
        parts.append(text.cut(at, escape.start()))
        stays = escape.group()[1] in "\"\\/'"
        parts.append(text.cut(escape.start() + 1, escape.end()) if stays else _BLANK)
        at = escape.end()
    return join("", [*parts, text.cut(at)])
