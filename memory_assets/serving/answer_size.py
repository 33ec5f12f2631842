"""Limit the length of answers to agents: cut lists to what fits, and long texts into pages.

An answer is sent twice, structured and as text, and some clients pass on both, or refuse more than
25,000 tokens. Each model has its own tokenizer, so tokens are estimated, erring on the high side.
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
_ALPHABETS_END = "\u1100"
"""Latin, Greek, Cyrillic, Hebrew, Arabic, the scripts of India and others: a token a piece."""
_PUNCTUATION_BEGINS = "\u2010"
_PUNCTUATION_END = "\u2600"
_SYLLABLES_BEGIN = "\u2e80"
"""Chinese, Japanese and Korean, up to the end of the basic plane."""
_SYLLABLES_END = "\U00010000"


def estimate_tokens(value: object) -> int:
    """Return an estimate of the tokens of a text, or of a value as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = _TOKEN.findall(text)
    return len(words) if text.isascii() else math.ceil(sum(map(_cost, words)))


def _cost(piece: str) -> float:
    """Return how many tokens a piece of text may be: more than one for characters of which
    tokenizers know few, as emoji."""
    if piece < _ALPHABETS_END or _PUNCTUATION_BEGINS <= piece < _PUNCTUATION_END:
        return 1.0
    return 1.5 if _SYLLABLES_BEGIN <= piece < _SYLLABLES_END else 3.0


def page_slices(weights: Sequence[int], most: int = LISTED_TOKENS) -> list[slice]:
    """Return the slice of items on each page: as many in a row as fit, and at least one; a single
    empty page if there are no items."""
    slices = []
    start = filled = 0
    for at, weight in enumerate(weights):
        if at > start and filled + weight > most:
            slices.append(slice(start, at))
            start = at
            filled = 0
        filled += weight
    return [*slices, slice(start, len(weights))]


def text_pages(text: str, characters: int, most: int) -> Iterator[str]:
    """Yield the parts of a text in order, of at most so many characters and estimated tokens."""
    start = 0
    filled = 0.0
    for match in _TOKEN.finditer(text):
        cost = _cost(match[0])
        filled += cost
        if filled > most or match.end() - start > characters:
            yield text[start : match.start()]
            start = match.start()
            filled = cost
    yield text[start:]


def fit_around(weights: Sequence[int], middle: int, most: int = LISTED_TOKENS) -> slice:
    """Return the slice of items around the one at `middle` that fit, extended by turns before and
    after it as far as there are items."""
    first = middle
    end = middle + 1
    filled = sum(weights[middle:end])
    open_sides = {"before", "after"}
    while open_sides:
        for side in sorted(open_sides):
            at = first - 1 if side == "before" else end
            if not 0 <= at < len(weights) or filled + weights[at] > most:
                open_sides.discard(side)
                continue
            filled += weights[at]
            if side == "before":
                first = at
            else:
                end = at + 1
    return slice(first, end)


def cut_to_fit(
    answer: Mapping[str, Any], names: Sequence[str], most: int = LISTED_TOKENS
) -> tuple[dict[str, Any], int]:
    """Return an answer with the lists of these names cut until they fit, and the number of items
    left out. Items go from the end of whichever list is heaviest."""
    lists = {name: list(answer[name]) for name in names}
    weights = {
        name: [2 * estimate_tokens(entry) for entry in entries] for name, entries in lists.items()
    }
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
