"""Other readings of a text that show secrets its plain form hides, with the way back.

A view is made only where a cheap search asks for it. Its text is made at once, the way
back from it only when something was found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """A stretch of a view: where it begins there, and what of the source it shows.

    `per` is how many characters of the view `of` characters of the source make: 1 of 1
    for text that was kept, 3 of 4 for base64; 0 where the stretch is read as a whole.
    """

    start: int
    source_start: int
    source_end: int
    per: int = 1
    of: int = 1

    def source(self, position: int) -> tuple[int, int]:
        """Return the bounds in the source of what one character of the view shows."""
        if not self.per:
            return self.source_start, self.source_end
        begin = self.source_start + (position - self.start) // self.per * self.of
        return begin, min(begin + self.of, self.source_end)


class View(ABC):
    """A text made from another one, and the way back."""

    rule = ""
    """What findings are called; "" leaves them their own rule."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.gaps: list[int] = []
        """Where the view's text goes on elsewhere in the source, in order."""
        self._pieces: list[Piece] = []
        self._starts: list[int] = []

    def original_span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the stretch of the source that the view's `start` to `end` shows; None if
        it is no one stretch."""
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
