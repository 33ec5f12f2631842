"""A file of a workspace as text with line numbers and token counts, and the chunks of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from memory_assets.chunking import Tokens

# Changes whenever the same file would give other chunks.
CHUNKER_VERSION = "8"

_LINE_END = re.compile(r"\r\n?|\n")
_TO_LINE_END = re.compile(r"[^\r\n]*")
_COMMENT_LINE = re.compile(r"[ \t]*#")
_BETWEEN_WORDS = re.compile(r"\W")
_PART = 10_000
_CHARACTERS_PER_TOKEN = 32
"""An unbroken run of letters is one word piece at any length, so length counts too."""


CHUNK_TYPES = (
    *("endpoint", "schema", "info", "channel", "section", "method", "definition", "key"),
    *("full_file", "window"),
)


@dataclass(frozen=True)
class Section:
    """One chunk of a file, before it has an id.

    `text` is lines `line_start` to `line_end` of the file (counted from 1, both included),
    or a part of them, without the last line's end. `chunk_type` is endpoint, schema, info,
    channel, section, method, definition, key, full_file or window. `context` says what the text
    alone may not, and is embedded with it: title of the document and heading, or nothing.
    """

    chunk_type: str
    heading: str
    line_start: int
    line_end: int
    text: str
    context: str = ""


@dataclass(frozen=True)
class Cut:
    """Where a chunk begins; it ends where the next one begins.

    Small neighbours of one `group` are merged; a chunk without a group stays alone.
    `joins_next` puts a header on the chunk after it. `context` are ranges elsewhere in the
    file that the chunk's text repeats as far as there is room, `left_out` ranges that it
    lacks, `edges` where it is best split. All positions are characters of the text. `title`
    names the document if chunks are embedded with that and their headings.
    """

    start: int
    chunk_type: str
    heading: str
    group: str = ""
    joins_next: bool = False
    context: tuple[tuple[int, int], ...] = ()
    left_out: tuple[tuple[int, int], ...] = ()
    edges: tuple[int, ...] = ()
    title: str = ""


class Source:
    """The text of one file, tokenized once. Lines end with LF, CR LF or CR."""

    def __init__(self, path: str, text: str, tokens: Tokens) -> None:
        """Count lines and word pieces of `text`; `path` is relative to the workspace."""
        self.path = path
        self.text = text
        self.tokens = tokens
        self.line_starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._token_starts = list(_token_starts(text, tokens))

    def line(self, offset: int) -> int:
        """Return the line that holds a character, counted from 0."""
        return bisect_right(self.line_starts, offset) - 1

    def line_start(self, offset: int) -> int:
        """Return the offset where the line of `offset` begins."""
        return self.line_starts[self.line(offset)]

    def with_comments(self, start: int, floor: int = 0) -> int:
        """Return where the comment lines (`#`) directly above a line's start begin, looking no
        further back than `floor`."""
        line = self.line(start)
        while line and self.line_starts[line - 1] >= floor:
            line -= 1
            if not _COMMENT_LINE.match(self.text, self.line_starts[line]):
                break
            start = self.line_starts[line]
        return start

    def size(self, start: int, end: int) -> int:
        """Return the tokens of a range as the embedder counts them, special ones included."""
        pieces = bisect_left(self._token_starts, end) - bisect_left(self._token_starts, start)
        return 2 + max(pieces, (end - start) // _CHARACTERS_PER_TOKEN)

    def back(self, offset: int, tokens: int) -> int:
        """Return the offset that is `tokens` word pieces before another one."""
        place = bisect_left(self._token_starts, offset) - tokens
        return self._token_starts[place] if place > 0 else 0

    def within(self, start: int, end: int, step: int) -> Iterator[int]:
        """Yield places within a range, at most `step` word pieces apart, and no further than as
        many of the longest."""
        starts = self._token_starts
        first, last = bisect_right(starts, start), bisect_left(starts, end)
        furthest = step * _CHARACTERS_PER_TOKEN
        for place, following in pairwise([start, *starts[first + step - 1 : last : step], end]):
            yield from range(place if place > start else start + furthest, following, furthest)

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return a range without blank lines around it and without the last line's end."""
        content = self.text[start:end]
        begin = start + len(content) - len(content.lstrip())
        if begin == end:
            return end, end
        line = _TO_LINE_END.match(self.text, start + len(content.rstrip()), end)
        return max(start, self.line_start(begin)), line.end() if line else end


def _token_starts(text: str, tokens: Tokens) -> Iterator[int]:
    """Yield where each word piece begins. The tokenizer's time grows faster than its text, so
    that it gets a long one in parts."""
    start = 0
    while start < len(text):
        match = _BETWEEN_WORDS.search(text, start + _PART, start + 2 * _PART)
        end = match.end() if match else start + 2 * _PART
        yield from (start + offset for offset, _ in tokens.token_offsets(text[start:end]))
        start = end


class Chunker(Protocol):
    """Finds where the chunks of one type of file begin."""

    def __call__(self, source: Source) -> Iterable[Cut]:
        """Return the cuts in order of `start`.

        Raises:
            Malformed: the file is not what its name says; it becomes windows.
        """


class Malformed(Exception):
    """A text that its parser refuses. Raised and caught within this package."""
