"""Find the secrets of a session wherever they occur in it, in plain or encoded form.

Values are kept in memory only, while their session is processed.

The search looks for the value's core (without quotes, `Bearer`, the user of basic
credentials, punctuation at its end), as it is, escaped as in JSON (once and twice),
percent-encoded, and in base64 at each of the three alignments. Removing every value
everywhere would damage prose, so:

* words (letters only, or joined by `-`, `_`, `.` and spaces), plain numbers of less than 16
  digits and values shorter than 6 characters are not removed;
* values of 6 or 7 characters must mix digits with two more classes, and those of 8 to 11
  must have a digit or a symbol; they are removed as whole words only;
* values of 12 characters and more are removed anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memory_assets.redaction.edits import Edit
from memory_assets.redaction.engine.scanner import TIMED_OUT
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.spellings import base64_spellings, json_spellings, percent_spellings
from memory_assets.redaction.time_budget import within_budget

_SHORTEST = 6
"""Characters of the shortest value that is searched for."""
_ANYWHERE = 12
"""Characters from which a value is removed inside of words, too."""
_SHORTEST_ENCODED = 8
"""Characters of the shortest value that is searched for in base64."""
_LONGEST = 4_000
_LONG_LINE = 40
"""Characters from which a line of a value is searched for by itself."""
_MOST_VALUES = 20_000
"""Values of a session that are remembered."""
_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|apikey|api-key)[ \t]+")
_QUOTES = "\"'`\\ \t\r\n"
_TAIL = ".,;:)]}>"
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_PREFIXED = re.compile(r"(?i)(?:api|key|token|secret)[-_]([a-z0-9]{32,})")
_WORDS = re.compile(r"[A-Za-z]+(?:[-_. ]+[A-Za-z]+)*")

_GRAM = 4
"""Characters by which literals are indexed."""
_SLOTS = 1 << 16
"""Entries of the index of hashed grams."""
_FIND_NS = 60.0
_FIND_NS_PER_CHARACTER = 0.4
"""Cost of `str.find` for one literal."""
_FILTER_NS = 60_000.0
_FILTER_NS_PER_CHARACTER = 6.0
"""Cost of looking up all grams of a text, for any number of literals."""


class _Form(NamedTuple):
    """How occurrences of one spelling of a value are treated. `whole_word`: only as a whole word;
    `is_base64`: the characters next to it hold some of its bits."""

    value: str
    rule: str
    whole_word: bool
    is_base64: bool = False

    def removal_range(self, text: str, start: int, end: int) -> tuple[int, int] | None:
        """Return the range to remove for an occurrence of the spelling; None if it may stay."""
        if self.is_base64:
            start -= _BASE64.match(text, start - 1) is not None if start else 0
            return start, end + (_BASE64.match(text, end) is not None)
        return None if self.whole_word and not _is_whole_word(text, start, end) else (start, end)


def core(rule: str, value: str) -> str:
    """Return the part of a found value that is the secret itself."""
    trimmed = value.strip(_QUOTES)
    trimmed = _SCHEME.sub("", trimmed)
    if rule == "curl-user":
        trimmed = trimmed.partition(":")[2].strip(_QUOTES) or trimmed
    return trimmed.rstrip(_TAIL).strip(_QUOTES)


def may_propagate(value: str) -> bool:
    """Return True if removing every occurrence of `value` does not damage prose."""
    if len(value) < _SHORTEST or len(value) > _LONGEST:
        return False
    if value.isdigit():
        return len(value) >= 16
    if _WORDS.fullmatch(value) and not values.is_random(value, 8):
        return False
    if len(value) >= _ANYWHERE:
        return True
    kinds = (str.islower, str.isupper, str.isdigit)
    classes = sum(any(is_kind(c) for c in value) for is_kind in kinds)
    classes += any(not c.isalnum() for c in value)
    if len(value) < _SHORTEST_ENCODED:
        return classes >= 3 and any(c.isdigit() for c in value)
    return any(c.isdigit() or not (c.isalnum() or c in "-_. ") for c in value)


@dataclass(repr=False)
class SessionValues:
    """The secrets found in one session (value to rule), and the search for them."""

    _rules: dict[str, str] = field(default_factory=dict)
    _search: list[tuple[str, _Literals]] | None = None

    def __repr__(self) -> str:
        return f"SessionValues({len(self._rules)})"

    def remember(self, value: str, rule: str) -> None:
        """Remember a value and its rule, up to `_MOST_VALUES` values."""
        if value not in self._rules and len(self._rules) < _MOST_VALUES and rule != TIMED_OUT:
            self._rules[value] = rule
            self._search = None

    def after(self, count: int) -> SessionValues:
        """Return the values remembered after the first `count`."""
        return SessionValues(dict(list(self._rules.items())[count:]))

    def are_sought(self) -> bool:
        """True if any of the values is removed wherever it occurs."""
        return bool(self._build_searches())

    def items(self) -> Iterable[tuple[str, str]]:
        """Return (value, rule) of all remembered values."""
        return self._rules.items()

    def __len__(self) -> int:
        return len(self._rules)

    def edits(self, text: str) -> list[Edit]:
        """Return every range of `text` that is one of the values, unmerged."""
        if self._search is None:
            self._search = self._build_searches()
        return [
            Edit(*removal_range, form.rule, form.value)
            for hint, literals in self._search
            if hint in text
            for start, end, form in within_budget(literals.find(text))
            if (removal_range := form.removal_range(text, start, end)) is not None
        ]

    def _build_searches(self) -> list[tuple[str, _Literals]]:
        """Return the search for each kind of spelling, with a string that every text with such a
        spelling contains."""
        plain: dict[str, _Form] = {}
        escaped: dict[str, _Form] = {}
        percent: dict[str, _Form] = {}
        encoded: dict[str, _Form] = {}
        for value, rule in self._rules.items():
            for part in _secret_parts(rule, value):
                data = part.encode("utf-8", "surrogatepass")
                form = _Form(value, rule, len(part) < _ANYWHERE)
                plain.setdefault(part, form)
                for spelling in json_spellings(part):
                    escaped.setdefault(spelling, form)
                for spelling in percent_spellings(data):
                    percent.setdefault(spelling, form)
                if len(part) >= _SHORTEST_ENCODED:
                    for spelling in base64_spellings(data):
                        encoded.setdefault(spelling, form._replace(is_base64=True))
        kinds = (("", plain), ("\\", escaped), ("%", percent), ("", encoded))
        return [(hint, _Literals(spellings)) for hint, spellings in kinds if spellings]


def _secret_parts(rule: str, value: str) -> Iterator[str]:
    """Yield the core of a value and its parts that are secrets, too: the core without the padding
    of base64 or a vendor's prefix (`key-`), the user of credentials if that is a key (`-u KEY:`),
    and the long lines of a value with several lines."""
    secret = core(rule, value)
    if may_propagate(secret):
        yield secret
    if prefixed := _PREFIXED.fullmatch(secret):
        yield prefixed[1]
    user = value.strip(_QUOTES).partition(":")[0]
    if rule == "curl-user" and values.is_random(user) and may_propagate(user):
        yield user
    unpadded = secret.rstrip("=")
    if unpadded != secret and len(unpadded) >= _ANYWHERE and may_propagate(unpadded):
        yield unpadded
    if "\n" in secret or "\\n" in secret:
        for line in re.split(r"\n|\\n|\\r", secret):
            part = line.strip()
            if len(part) >= _LONG_LINE and not part.startswith("-----"):
                yield part


def _is_whole_word(text: str, start: int, end: int) -> bool:
    after = text[end : end + 1]
    if after.isalnum() or after == "_":
        return False
    before = text[max(start - 3, 0) : start]
    if before[-1:].isalnum() or before[-1:] == "_":
        return before[-2:] in ("\\n", "\\r", "\\t") or bool(_ESCAPED.fullmatch(before))
    return True


class _Literals:
    """A search for many literals of at least four characters, at a cost that hardly grows with
    their number. `meanings`: the form to return for each literal."""

    def __init__(self, meanings: Mapping[str, _Form]) -> None:
        self._meanings = meanings
        self._by_gram: dict[int, list[tuple[int, str]]] = {}
        self._slots: npt.NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"_Literals({len(self._meanings)})"

    def find(self, text: str) -> Iterator[tuple[int, int, _Form]]:
        """Yield (start, end, form) of every occurrence, in no particular order."""
        count, length = len(self._meanings), len(text)
        cost_one_by_one = count * (_FIND_NS + _FIND_NS_PER_CHARACTER * length)
        if cost_one_by_one > _FILTER_NS + _FILTER_NS_PER_CHARACTER * length:
            yield from self._find_by_grams(text)
            return
        for literal, meaning in self._meanings.items():
            position = text.find(literal)
            while position >= 0:
                yield position, position + len(literal), meaning
                position = text.find(literal, position + len(literal))

    def _find_by_grams(self, text: str) -> Iterator[tuple[int, int, _Form]]:
        """Yield the occurrences, found by looking up all grams of the text in the index."""
        slots = self._gram_index()
        data = text.encode("ascii", "replace")
        for offset in range(min(_GRAM, len(data) - _GRAM + 1)):
            whole = (len(data) - offset) // _GRAM
            grams = np.frombuffer(data, dtype="<u4", count=whole, offset=offset)
            for place in np.flatnonzero(slots[_hash_grams(grams)]).tolist():
                position = place * _GRAM + offset
                for lead, literal in self._by_gram.get(int(grams[place]), ()):
                    start = position - lead
                    if start >= 0 and text.startswith(literal, start):
                        yield start, start + len(literal), self._meanings[literal]

    def _gram_index(self) -> npt.NDArray[np.bool_]:
        """Return whether a literal has its gram in each of `_SLOTS` slots; built on first use."""
        if self._slots is None:
            self._slots = np.zeros(_SLOTS, dtype=np.bool_)
            for literal in self._meanings:
                # the middle tells more than the beginning, which a vendor's tokens share
                lead = (len(literal) - _GRAM) // 2
                data = literal[lead : lead + _GRAM].encode("ascii", "replace")
                gram = int.from_bytes(data, "little")
                self._by_gram.setdefault(gram, []).append((lead, literal))
            grams = np.fromiter(self._by_gram, dtype=np.uint32)
            self._slots[_hash_grams(grams)] = True
        return self._slots


def _hash_grams(grams: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the slot, a 16-bit number, of each gram (Knuth's multiplicative hash)."""
    return (grams * np.uint32(2_654_435_761)) >> np.uint32(16)
