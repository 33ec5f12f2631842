"""Other readings of a text that show secrets its plain form hides, with the way back.

One so far: without terminal escapes, which split tokens (`grep --color`) and glue
letters to their fronts.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_TERMINAL_ESCAPE = re.compile(
    r"\x1b(?:\[[0-9;?:]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|[@-Z\\-_])"
)


class View:
    """A text with stretches cut out, and where each of its characters came from."""

    def __init__(self, original: str, cuts: re.Pattern[str]) -> None:
        pieces: list[str] = []
        self._starts: list[int] = []
        self._sources: list[int] = []
        length = position = 0
        for cut in cuts.finditer(original):
            length = self._keep(pieces, original[position : cut.start()], length, position)
            position = cut.end()
        self._keep(pieces, original[position:], length, position)
        self.text = "".join(pieces)

    def _keep(self, pieces: list[str], piece: str, length: int, source: int) -> int:
        if piece:
            pieces.append(piece)
            self._starts.append(length)
            self._sources.append(source)
        return length + len(piece)

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the original that holds the view's `start` to `end`."""
        return self._original(start), self._original(end - 1) + 1

    def _original(self, position: int) -> int:
        piece = bisect_right(self._starts, position) - 1
        return self._sources[piece] + position - self._starts[piece]


def without_terminal_escapes(text: str) -> View | None:
    """Return the view of `text` without terminal escapes; None if there is none in it."""
    return View(text, _TERMINAL_ESCAPE) if "\x1b" in text else None
