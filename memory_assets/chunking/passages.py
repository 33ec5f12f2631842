"""Cut long texts on natural boundaries into passages within the token limit."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Protocol

# A passage ends at the last boundary of the best rank that leaves it this full.
FULL_ENOUGH = (0.4, 0.4, 0.6, 0.7, 0.0)
# Word pieces bound a passage, but an unbroken run of letters is one piece at any length.
MAX_CHARACTERS = 4_000

_BETWEEN_WORDS = frozenset(" \n\t\r")
"""Characters that separate words for every tokenizer like BERT's. Not all of Python's white space:
tokenizers drop its control characters."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*|\n(?=#{1,6} )")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?:;]['\")\]]*\s+|[。！？]")
_SPACE = re.compile(r"\s+")


class Tokens(Protocol):
    """The embedder's word pieces; counts include its two special tokens."""

    @property
    def max_tokens(self) -> int:
        """Word pieces of a text that the embedder uses, special ones included."""

    def count_tokens(self, text: str) -> int:
        """Return the word pieces of `text`, special tokens included."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) in characters of each word piece, special tokens left out."""


def split_passages(
    text: str, tokens: Tokens, limit: int, edges: Sequence[int] = ()
) -> list[tuple[int, int]]:
    """Return (start, end) of passages of at most `limit` word pieces, special ones included.

    `edges` are positions where one block of the text ends and the next begins. Cuts
    fall, in this order of preference, on an edge or a paragraph's end outside a code
    fence, on a paragraph's end inside one, on a line's, a sentence's or a word's end,
    and within a word only if it alone exceeds the limit. All but white space between
    passages is covered, in order, once.
    """
    offsets = tokens.token_offsets(text)
    boundaries = _boundaries(text, edges)
    spans = []
    start = _skip_space(text, 0)
    while start < len(text):
        room = limit - 2
        while True:
            furthest = _furthest(text, offsets, start, room)
            end = furthest
            if furthest < len(text):
                end = _best_cut(text, boundaries, start, furthest)
            if room <= 1 or _count(text, offsets, start, end, tokens) <= limit:
                break
            room = room * 9 // 10
        spans.append((start, start + len(text[start:end].rstrip())))
        start = _skip_space(text, end)
    return spans


def _furthest(text: str, offsets: list[tuple[int, int]], start: int, room: int) -> int:
    """Return the last possible end of a passage from `start` with at most `room` word pieces."""
    first = bisect_right(offsets, start, key=lambda offset: offset[1])
    if first + room >= len(offsets):
        return min(len(text), start + MAX_CHARACTERS)
    return max(start + 1, min(offsets[first + room][0], start + MAX_CHARACTERS))


def _count(text: str, offsets: list[tuple[int, int]], start: int, end: int, tokens: Tokens) -> int:
    """Return the number of word pieces of a passage: that of the whole text there if no word is
    cut, else counted again, as a part of a word may have more pieces than within the word."""
    begins = start == 0 or text[start - 1] in _BETWEEN_WORDS
    if begins and (end == len(text) or not _BETWEEN_WORDS.isdisjoint(text[end - 1 : end + 1])):
        first = bisect_left(offsets, start, key=lambda offset: offset[0])
        return bisect_left(offsets, end, key=lambda offset: offset[0]) - first + 2
    return tokens.count_tokens(text[start:end])


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _boundaries(text: str, edges: Sequence[int]) -> list[list[int]]:
    """Return the places to cut a text, best first: between blocks outside of fences, between blocks
    in fences, and between lines."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    outside = {*edges, *fences[0::2]}  # before a fence opens
    inside: set[int] = set()
    for match in _PARAGRAPH.finditer(text):
        fenced = bisect_right(fences, match.start()) % 2
        (inside if fenced else outside).add(match.end())
    return [sorted(outside), sorted(inside), [match.end() for match in _LINE.finditer(text)]]


def _best_cut(text: str, boundaries: list[list[int]], start: int, furthest: int) -> int:
    """Return the best cut in (start, furthest]."""
    for rank, share in enumerate(FULL_ENOUGH):
        if rank < len(boundaries):
            places = boundaries[rank]
            best = places[bisect_right(places, furthest) - 1] if places else 0
        else:
            pattern = _SENTENCE if rank == len(boundaries) else _SPACE
            best = max(
                (match.end() for match in pattern.finditer(text, start, furthest)), default=0
            )
        if start + max(1, int(share * (furthest - start))) <= best <= furthest:
            return best
    return furthest
