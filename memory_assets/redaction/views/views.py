"""Views: other forms of a text, which show secrets that its plain form hides.

A view is made only if a cheap search calls for it. Its text is made at once, the mapping back only
if something was found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """A part of a view: its start there, and the range of the source it was made from.

    `per` characters of the view are made from `of` characters of the source: 1 of 1 for copied
    text, 3 of 4 for base64; `per` is 0 if the range is decoded as a whole.
    """

    start: int
    source_start: int
    source_end: int
    per: int = 1
    of: int = 1

    def source(self, position: int) -> tuple[int, int]:
        """Return the range in the source of one character of the view."""
        if not self.per:
            return self.source_start, self.source_end
        begin = self.source_start + (position - self.start) // self.per * self.of
        return begin, min(begin + self.of, self.source_end)


class View(ABC):
    """A text made from another one, with the mapping back."""

    rule = ""
    """What findings are called; "" leaves them their own rule."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.gaps: list[int] = []
        """Where the view's text goes on elsewhere in the source, in order."""
        self._pieces: list[Piece] = []
        self._starts: list[int] = []

    def original_span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the range of the source for `start` to `end` of the view; None if that is not one
        range."""
        if not self._pieces:
            self._pieces = list(self._build())
            self._starts = [piece.start for piece in self._pieces]
        if bisect_right(self.gaps, start) != bisect_right(self.gaps, end - 1):
            return None
        first = self._pieces[bisect_right(self._starts, start) - 1]
        last = self._pieces[bisect_right(self._starts, end - 1) - 1]
        return first.source(start)[0], last.source(end - 1)[1]

    @abstractmethod
    def _build(self) -> Iterator[Piece]:
        """Yield the pieces of the view in order, the first at 0; fill `gaps`."""
