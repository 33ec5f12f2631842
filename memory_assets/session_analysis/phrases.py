"""Short redacted phrases: numbers, lists, texts cut on a word boundary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.writing_systems import UNSPACED

EMPTY = compose("")
ELLIPSIS = compose("…")
_DIGITS = compose("0123456789")
_ENDS = (*".!?…:。！？", '."', '!"', '?"', ".'", ".)", "!)", "?)")
_ESCAPE = re.compile(r"\\(?:[nrt]|u[0-9a-fA-F]{4}|.)")
_BLANK = compose(" ")
_LAST_WORD = re.compile(r"\s+\S*$")
_CAPITAL = re.compile(r"\\.|\(\?P|[A-Z]")


class Phrase:
    """A case-insensitive pattern of prose; the groups of a match are in lower case.

    Pattern and text are compared in lower case: with `re.IGNORECASE`, for which Python's engine
    cannot skip ahead to the letters that a match may begin with, a search takes two to three times
    as long, and these searches were three fifths of the time of summaries and observations.
    """

    def __init__(self, pattern: str) -> None:
        small = _CAPITAL.sub(lambda it: it[0].lower() if len(it[0]) == 1 else it[0], pattern)
        self._compiled = re.compile(small)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match anywhere in a text."""
        return self._compiled.search(in_small_letters(text))

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the beginning of a text."""
        return self._compiled.match(in_small_letters(text))

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return self._compiled.fullmatch(in_small_letters(text))

    def count(self, text: str) -> int:
        """Return how often the pattern occurs in a text."""
        return len(self._compiled.findall(in_small_letters(text)))


def in_small_letters(text: str) -> str:
    """Return a text in lower case, each character in its place: "İ" stays, which would become
    two."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def number(value: int) -> RedactedText:
    """Return a count as text."""
    return join("", (_DIGITS.cut(int(digit), int(digit) + 1) for digit in str(abs(value))))


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


def head_and_tail(text: RedactedText, head: int, tail: int) -> RedactedText:
    """Return `text`, or its beginning and its end of these lengths, cut at line ends if
    possible."""
    if len(text) <= head + tail:
        return text
    head_ends = text.rfind("\n", head // 2, head)
    tail_begins = text.find("\n", len(text) - tail, len(text) - tail // 2)
    first = text.cut(0, head_ends if head_ends >= 0 else head)
    last = text.cut(tail_begins + 1 if tail_begins >= 0 else len(text) - tail)
    return compose("{}\n[...]\n{}", first, last)


def cut_to_room(parts: Iterable[RedactedText], room: int) -> list[RedactedText]:
    """Return the parts, each cut to the rest of `room` characters, as long as 40 are left."""
    kept: list[RedactedText] = []
    for part in parts:
        if room < 40:
            break
        kept.append(shorten(part, room))
        room -= len(kept[-1]) + 1
    return kept


def first_that_fit(parts: Iterable[RedactedText], room: int) -> list[RedactedText]:
    """Return the first parts that fit in `room` characters with a separator of two after each."""
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


def base_name(path: RedactedText) -> RedactedText:
    """Return the last part of a path of either kind."""
    bare = path.cut(0, len(path.rstrip("/\\")))
    return bare.cut(max(bare.rfind("/"), bare.rfind("\\")) + 1)


def with_full_stop(text: RedactedText) -> RedactedText:
    """Return `text` with a full stop, unless it ends a sentence already."""
    if text.endswith(_ENDS) or not text:
        return text
    return compose("{}。", text) if UNSPACED.match(text[-1]) else compose("{}.", text)


def has_no_blanks(text: str) -> bool:
    """Return True if some of a text is of a script without blanks between words."""
    return UNSPACED.search(text) is not None


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
