"""Limit the length of answers to agents: cut lists to what fits, and long texts into pages.

An answer goes over the wire twice, structured and as text, and some clients hand both on or refuse
what is longer than 25,000 tokens. Tokens are estimated, rather too many than too few, because each
model has a tokenizer of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_TOKENS = 20_000
"""The limit of an answer."""
LISTED_TOKENS = 14_000
"""The limit for the items of an answer, in each of its two forms; the rest is for ids, notes and
the frame."""
_TOKEN = re.compile(r"[A-Z]?[a-z]{1,4}|[A-Z]{1,2}|\d{1,3}|\n{1,64}|[^\S\n]{2,64}|[^\sA-Za-z\d]")
"""What tokenizers make one token of, or less."""
_PUNCTUATION_FROM, _BEYOND_PUNCTUATION = "\u2010", "\u2600"
_BEYOND_ALPHABETS, _SYLLABLES_FROM, _BEYOND_SYLLABLES = "\u1100", "\u2e80", "\U00010000"


def tokens(value: object) -> int:
    """Return an estimate of the tokens of a text, or of a value as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = _TOKEN.findall(text)
    return len(words) if text.isascii() else math.ceil(sum(map(_cost, words)))


def _cost(piece: str) -> float:
    """Return how many tokens a piece of text may be: more than one for characters of which
    tokenizers know few, as emoji."""
    if piece < _BEYOND_ALPHABETS or _PUNCTUATION_FROM <= piece < _BEYOND_PUNCTUATION:
        return 1.0
    return 1.5 if _SYLLABLES_FROM <= piece < _BEYOND_SYLLABLES else 3.0


def pages(weights: Sequence[int], most: int = LISTED_TOKENS) -> list[slice]:
    """Return which items are on each page: as many in a row as fit, and at least one; one empty
    page if there are none."""
    slices, start, filled = [], 0, 0
    for at, weight in enumerate(weights):
        if at > start and filled + weight > most:
            slices.append(slice(start, at))
            start, filled = at, 0
        filled += weight
    return [*slices, slice(start, len(weights))]


def text_pages(text: str, characters: int, most: int) -> Iterator[str]:
    """Yield the parts of a text in order, of at most so many characters and estimated tokens."""
    start, filled = 0, 0.0
    for match in _TOKEN.finditer(text):
        cost = _cost(match[0])
        filled += cost
        if filled > most or match.end() - start > characters:
            yield text[start : match.start()]
            start, filled = match.start(), cost
    yield text[start:]


def fit_around(weights: Sequence[int], middle: int, most: int = LISTED_TOKENS) -> slice:
    """Return which items fit that are nearest to one of them, as many before it as after it as far
    as there are."""
    first, last, filled = middle, middle + 1, sum(weights[middle : middle + 1])
    open_sides = {"before", "after"}
    while open_sides:
        for side in sorted(open_sides):
            at = first - 1 if side == "before" else last
            if not 0 <= at < len(weights) or filled + weights[at] > most:
                open_sides.discard(side)
                continue
            filled += weights[at]
            first, last = (at, last) if side == "before" else (first, at + 1)
    return slice(first, last)


def cut_to_fit(
    answer: Mapping[str, Any], names: Sequence[str], most: int = LISTED_TOKENS
) -> tuple[dict[str, Any], int]:
    """Return an answer of which the lists of these names are cut until they fit, the heaviest
    first, and the number of items that were left out."""
    lists = {name: list(answer[name]) for name in names}
    weights = {name: [2 * tokens(entry) for entry in entries] for name, entries in lists.items()}
    left_out = 0
    while sum(map(sum, weights.values())) > most and any(
        len(weight) > 1 for weight in weights.values()
    ):
        heaviest = max(
            (name for name in weights if len(weights[name]) > 1),
            key=lambda name: sum(weights[name]),
        )
        weights[heaviest].pop()
        lists[heaviest].pop()
        left_out += 1
    return {**answer, **lists}, left_out
