"""The text of a file as far as it is known: some lines, or all, put together from what sessions
wrote, read and edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Line = str | None
"""A line of which the text is known, or not."""


@dataclass(frozen=True)
class Hunk:
    """A change of a patch: the lines before and after it, below a line that is called `header`."""

    header: str
    old: tuple[str, ...]
    new: tuple[str, ...]


class FileText:
    """The lines of a file. `complete` if the file is known to its end, `placed` if it is known
    which lines they are: edits of a file that nobody read give texts without a place."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.complete = False
        self.placed = True
        self.ends_with_newline = True

    @property
    def known(self) -> bool:
        """True if at least one line is known."""
        return any(line is not None for line in self.lines)

    @property
    def whole(self) -> bool:
        """True if every line is known."""
        return self.complete and self.placed and None not in self.lines

    def replace(self, text: str, *, exact: bool) -> None:
        """Take a text as the whole file; `exact` if it is known how it ends."""
        self.lines = list(text.removesuffix("\n").split("\n")) if text else []
        self.ends_with_newline = text.endswith("\n") if exact else True
        self.complete = self.placed = True

    def forget(self) -> None:
        """Take nothing of the file as known any more."""
        self.lines, self.complete, self.placed = [], False, True
        self.ends_with_newline = True

    def overlay(self, read: dict[int, str]) -> bool:
        """Take lines by number, from 1, as they were read. Return False if they differ from what
        was known, which is forgotten then: something else changed the file."""
        if not self.placed:
            self.forget()
        agree = all(
            number > len(self.lines) or self.lines[number - 1] in (None, line)
            for number, line in read.items()
        )
        if not agree or (self.complete and max(read) > len(self.lines)):
            agree = False
            self.forget()
        self.lines += [None] * (max(read) - len(self.lines))
        for number, line in read.items():
            self.lines[number - 1] = line
        return agree

    def edit(self, old: str, new: str, *, everywhere: bool = False) -> bool:
        """Replace a text that is known; return False if it is not. Where nothing was known before
        but edits, the new text is kept without a place."""
        replaced = False
        for start, end in list(self._blocks()):
            block = "\n".join(str(line) for line in self.lines[start:end])
            if old in block and (everywhere or not replaced):
                edited = block.replace(old, new, -1 if everywhere else 1)
                self.lines[start:end] = edited.split("\n")
                replaced = True
        if not replaced and not (self.known and self.placed):
            self.placed = False
            self.lines += [None, *new.split("\n")]
        return replaced

    def patch(self, hunks: Iterable[Hunk]) -> int:
        """Apply the hunks of a patch, each below the one before; return the number of those whose
        lines are not known."""
        at = lost = 0
        for hunk in hunks:
            below = self._find((hunk.header,), at) if hunk.header else None
            start = at if below is None else below + 1
            place = self._find(hunk.old, start)
            if place is None:
                place = self._find(hunk.old, 0)
            if place is None:
                lost += 1
                if not (self.known and self.placed):
                    self.placed = False
                    self.lines += [None, *hunk.new]
                continue
            self.lines[place : place + len(hunk.old)] = hunk.new
            at = place + len(hunk.new)
        return lost

    def _find(self, lines: Sequence[str], start: int) -> int | None:
        """Return where lines stand from a place on, whatever blanks are at their ends."""
        if not lines:
            return len(self.lines) if self.complete else None
        wanted = [line.strip() for line in lines]
        for at in range(start, len(self.lines) - len(lines) + 1):
            here = self.lines[at : at + len(lines)]
            if [line.strip() if line is not None else None for line in here] == wanted:
                return at
        return None

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the stretches of known lines, from the last to the first, so that a change of one
        does not move the next."""
        end = len(self.lines)
        while end > 0:
            if self.lines[end - 1] is None:
                end -= 1
                continue
            start = end
            while start > 0 and self.lines[start - 1] is not None:
                start -= 1
            yield start, end
            end = start

    def rendered(self) -> str:
        """Return the text, with a line in angle brackets for lines that are not known."""
        shown: list[str] = []
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if line is not None:
                shown.append(line)
                at += 1
                continue
            start = at
            while at < len(self.lines) and self.lines[at] is None:
                at += 1
            place = f"lines {start + 1} to {at}" if at - start > 1 else f"line {at}"
            shown.append(f"<not on record: {place if self.placed else 'some lines'}>")
        if not self.complete:
            shown.append("<not on record: what follows>")
        return "\n".join(shown) + ("\n" if shown and self.ends_with_newline else "")
