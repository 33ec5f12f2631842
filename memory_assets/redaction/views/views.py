"""Views: other forms of a text, which show secrets that its plain form hides.

A view is built only if a cheap search calls for it: its text at once, the mapping back to the
source on the first finding.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Piece(NamedTuple):
    """A part of a view: its start in the view, and the range of the source that it represents.

    `per` characters of the view represent `of` characters of the source: 1 of 1 for copied text, 3
    of 4 for base64; `per` is 0 if the range is decoded as a whole. `after_gap`: the source between
    this piece and the one before is not in the view. `after_joint`: a line end before it is left
    out.
    """

    start: int
    source_start: int
    source_end: int
    per: int = 1
    of: int = 1
    after_gap: bool = False
    after_joint: bool = False

    def source(self, position: int) -> tuple[int, int]:
        """Return the range in the source of one character of the view."""
        if not self.per:
            return self.source_start, self.source_end
        begin = self.source_start + (position - self.start) // self.per * self.of
        return begin, min(begin + self.of, self.source_end)


class View:
    """A text derived from a source, with the mapping back.

    `rule` replaces the rule of findings; "" keeps their own. `across_joints`: only findings across
    a joint count.
    """

    def __init__(
        self,
        text: str,
        pieces: Callable[[], Iterable[Piece]],
        rule: str = "",
        *,
        across_joints: bool = False,
    ) -> None:
        """`pieces` returns the view's pieces in order, the first at 0."""
        self.text = text
        self.rule = rule
        self._read_pieces = pieces
        self._across_joints = across_joints
        self._pieces: list[Piece] = []
        self._starts: list[int] = []

    def original_span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the range of the source for `start` to `end` of the view; None if that has a gap,
        or must cross a joint and does not."""
        if not self._pieces:
            self._pieces = list(self._read_pieces())
            self._starts = [piece.start for piece in self._pieces]
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1) - 1
        further = self._pieces[first + 1 : last + 1]
        if any(piece.after_gap for piece in further):
            return None
        if self._across_joints and not any(piece.after_joint for piece in further):
            return None
        return self._pieces[first].source(start)[0], self._pieces[last].source(end - 1)[1]
