"""Text laid out for a terminal: titles, labelled paragraphs and lists, wrapped at words by the
cells that characters take, long lists folded, colours where the terminal shows them.

Belongs here: how anything is laid out. What an answer consists of is `views.py` and `hit_view.py`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import category, east_asian_width

from memory_assets.serving.visible_text import printable, without_markdown

ANSI = {"red": 31, "yellow": 33, "cyan": 36, "bold": 1, "marked": "1;33"}
"""The codes of the styles in use."""
NARROWEST = 40
WIDEST = 120
"""Columns of the narrowest and the widest terminal that lines are laid out for."""
ENDLESS = 1_000_000
"""The width of a pipe, in which no line is wrapped."""
_LABEL = 10
"""Cells of the column in which the labels of paragraphs stand."""
_FOLDED = 5
"""Items of a list that are shown; one more is shown, too, rather than a note on it."""
_DOT = " · "


@dataclass(frozen=True)
class Layout:
    """How wide lines are, whether they have colours, and whether lists are shown in full."""

    width: int
    colours: bool = False
    full: bool = False

    @property
    def room(self) -> int:
        """Cells of a line: the last column stays free, so that no terminal wraps."""
        if self.width == ENDLESS:
            return ENDLESS
        return max(NARROWEST, min(self.width, WIDEST)) - 1

    def prose(self, text: str) -> str:
        """Return prose without the marks of Markdown on a terminal, as it is in a pipe."""
        return text if self.width == ENDLESS else without_markdown(text)

    def styled(self, text: str, style: str) -> str:
        """Return a text in a style of `ANSI`, or as it is without colours."""
        return styled(text, style) if self.colours and text else text

    def title(self, text: str, *facts: str, shown_id: str = "") -> Iterator[str]:
        """Yield a title, and below it what it is, with the id that commands take."""
        for line in wrapped(printable(self.prose(text)), self.room):
            yield self.styled(line, "bold")
        yield from self.joined_facts("  ", *facts, shown_id)

    def joined_facts(self, indent: str, *facts: str) -> Iterator[str]:
        """Yield facts behind one another, as many on a line as fit; empty ones are left out."""
        line = ""
        for fact in filter(None, map(printable, facts)):
            longer = f"{line}{_DOT}{fact}" if line else fact
            if line and cells(indent) + cells(longer) > self.room:
                yield self.styled(f"{indent}{line}", "cyan")
                longer = fact
            line = longer
        for part in wrapped(line, self.room - cells(indent)) if line else ():
            yield self.styled(f"{indent}{part}", "cyan")

    def labelled_text(self, label: str, text: str) -> Iterator[str]:
        """Yield what was said under a label, without the marks of Markdown: paragraphs keep their
        lines, long ones are wrapped. Nothing if it is blank."""
        lines = self.paragraphs(self.prose(text), self.room - _LABEL)
        yield from self._labelled(label, lines)

    def labelled_list(self, label: str, items: Iterable[str], what: str = "") -> Iterator[str]:
        """Yield items under a label, one or more lines each; of many the first ones, and how many
        there are of `what`."""
        texts = [printable(item) for item in items]
        shown = texts if self.full or len(texts) <= _FOLDED + 1 else texts[:_FOLDED]
        lines = [
            f"{'' if at == 0 else '  '}{line}"
            for text in shown
            for at, line in enumerate(wrapped(" ".join(text.split()), self.room - _LABEL - 2))
        ]
        if len(shown) < len(texts):
            lines.append(f"… {len(texts):,} {what or 'item'}s in all; --full lists them")
        yield from self._labelled(label, lines)

    def paragraphs(self, text: str, room: int) -> list[str]:
        """Return the lines of a text, long ones wrapped under their own indent."""
        lines: list[str] = []
        for line in printable(text).expandtabs(4).strip("\n").splitlines():
            indent = line[: len(line) - len(line.lstrip())][: room // 2]
            parts = wrapped(line.strip(), room - len(indent)) if line.strip() else [""]
            lines += [f"{indent}{part}".rstrip() for part in parts]
        return lines

    def heading(self, text: str) -> str:
        """Return the heading of a part of an answer."""
        return self.styled(printable(text), "bold")

    def text(self, text: str) -> Iterator[str]:
        """Yield a text over the whole width."""
        yield from self.paragraphs(text, self.room)

    def hanging(self, first: str, text: str, *, style: str = "") -> Iterator[str]:
        """Yield a text that begins behind `first` and goes on under its own beginning."""
        room = max(self.room - cells(first), NARROWEST // 2)
        for at, line in enumerate(wrapped(" ".join(printable(text).split()), room)):
            lead = first if at == 0 else " " * cells(first)
            yield f"{lead}{self.styled(line, style) if style else line}".rstrip()

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
        """Yield a heading and rows in columns; the last column is wrapped under itself."""
        texts = [list(head), *([printable(str(cell)) for cell in row] for row in rows)]
        widths = [max(map(cells, column)) for column in zip(*texts, strict=True)][:-1]
        for number, (*fixed, last) in enumerate(texts):
            first = "".join(
                f"{cell}{' ' * (width - cells(cell))}  "
                for cell, width in zip(fixed, widths, strict=True)
            )
            yield from self.hanging(first, last or " ", style="" if number else "cyan")

    def _labelled(self, label: str, lines: Sequence[str]) -> Iterator[str]:
        for at, line in enumerate(lines):
            name = self.styled(label, "cyan") + " " * max(_LABEL - cells(label), 1)
            yield f"{name if at == 0 else ' ' * _LABEL}{line}".rstrip()


def wrapped(text: str, width: int) -> list[str]:
    """Return a line wrapped at blanks, by the cells that its characters take."""
    if len(text) == cells(text) and not any(len(word) > width for word in text.split()):
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    lines = []
    line = ""
    for word in text.split():
        while cells(word) > width:  # a script without blanks, or a long path
            part = _path_part(word, width - cells(line) - bool(line))
            lines.append(f"{line} {part}".strip() if part else line)
            word = word[len(part) :]
            line = ""
        if line and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def cut_to_width(text: str, width: int) -> str:
    """Return a text in at most so many cells, with `…` where it was cut, between words if there is
    a blank near."""
    if cells(text) <= width:
        return text
    shown = begin_within(text, width - 1)
    whole_words, blank, part_of_word = shown.rpartition(" ")
    if text[len(shown)] != " " and blank and len(whole_words) > len(part_of_word):
        shown = whole_words
    return f"{shown.rstrip()}…"


def _path_part(word: str, width: int) -> str:
    """Return what of a word fits, of a path up to the end of a name if that is not much less."""
    part = begin_within(word, width)
    end = part.rfind("/") + 1
    return part[:end] if 3 * end > width else part


def begin_within(text: str, width: int) -> str:
    """Return the beginning of a text that takes at most so many cells."""
    taken = 0
    for at, character in enumerate(text):
        taken += cells(character)
        if taken > width:
            return text[:at]
    return text


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes: two for a wide character, none for a mark
    on the one before."""
    if text.isascii():
        return len(text)
    return sum(
        0 if category(character) in ("Mn", "Me") else 1 + (east_asian_width(character) in "WF")
        for character in text
    )


def styled(text: str, style: str) -> str:
    """Return a text in a style of `ANSI`."""
    return f"\x1b[{ANSI[style]}m{text}\x1b[0m"
