"""Find the secrets of a text, in its plain form and in every view of it.

One view joins tokens that were broken by a line end. Terminals and mail programs wrap lines at a
width; a token then continues on the next line, after an indent, a quote mark, a diff's sign or a
line number. Only findings across a joint are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import ascii_letters, digits
from typing import NamedTuple

from memory_assets.redaction.edits import Edit
from memory_assets.redaction.engine.scanner import TIMED_OUT, Scanner
from memory_assets.redaction.engine.triggers import (
    COLOURED,
    CONTINUED,
    ENCODED,
    ENTITIES,
    ESCAPED,
    HEX,
    JOINED,
    NO_CLUES,
    PERCENT,
    PRINTABLE,
    Clues,
)
from memory_assets.redaction.tags import Inert
from memory_assets.redaction.time_budget import check_budget
from memory_assets.redaction.views.decodings import (
    base64_decoded,
    entities_decoded,
    hex_decoded,
    hex_text_decoded,
    json_unescaped,
    lines_continued,
    percent_decoded,
    printable_decoded,
    without_terminal_escapes,
)
from memory_assets.redaction.views.views import Piece, View

_TOKEN = r"[A-Za-z0-9+/_\-.~%@#!$^*]"
_PREFIX = r"[ \t]{0,40}(?:\d{1,7}[→\t:|][ \t]{0,8}|[+|>-][ \t]{0,8})?"
_NO_WORD = r"(?![A-Za-z][a-z]*(?:[^A-Za-z0-9]|$))"
_REST = (
    rf"{_PREFIX}{_NO_WORD}(?={_TOKEN}*(?:[0-9]|[a-z][A-Z]|[A-Z][A-Z]))"
    rf"(?P<rest>{_TOKEN}{{2,}}={{0,2}})(?=[\s\"'`,;)}}\]\\]|$)"
)
_JOINT = re.compile(
    rf"\n(?<=[0-9A-Za-z/+#@]\n)(?<={_TOKEN}{{4}}\n)(?![ \t]*[A-Za-z][a-z]*(?:[^A-Za-z0-9]|$))"
    + _REST
)
_LINE_END = re.compile(r"\n")
_CONTINUED = re.compile(r"\n(?<=[0-9A-Za-z/+#@][\\\r]\n)" + _REST)
"""A line end inside a token after a backslash, or with CR LF."""
_TOKEN_CHARACTERS = f"{ascii_letters}{digits}+/_-.~%@#!$^*"
_DIGIT = re.compile(r"[0-9]")
_WORDS = re.compile(r"[A-Z]?[a-z]*(?:[-_/.][A-Z]?[a-z]*)*[.]*")
_CONTEXT = 300
"""Characters before and after a joint that are part of a window."""
_BETWEEN = ";\n"
"""Separates windows, so that the end of one is not read as a name of the next (as a padding `=`
would be)."""
_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96,128}")
"""After a name at the end of a line: a list of checksums, not a broken token."""
_SUBCHAINS = 4
"""Joints, from a chain's start, of which every part is tried by itself."""


class Joint(NamedTuple):
    """A line end inside a token: the token's first part ends at `left`, its second part is from
    `right` to `end`."""

    left: int
    right: int
    end: int


def line_joined(text: str, line_ends: Sequence[int] | None = None) -> View | None:
    """Return the lines around joints, joined; `line_ends` are the only candidates, if given."""
    if line_ends is None:
        line_ends = [line_end.start() for line_end in _LINE_END.finditer(text)]
    joints = [joint for end in line_ends if (joint := _joint(text, end)) is not None]
    if not joints:
        return None
    windows = [list(_window_ranges(text, group)) for group in _windows(joints)]
    plain = _BETWEEN.join("".join(text[s:e] for s, e in spans) for spans in windows)
    return View(plain, lambda: _of_windows(windows), across_joints=True)


def _joint(text: str, line_end: int) -> Joint | None:
    """Return the joint at a line end, or None if the text before or after it reads as words."""
    match = (_CONTINUED if text[line_end - 1] in "\\\r" else _JOINT).match(text, line_end)
    if match is None:
        return None
    left = match.start() - (text[match.start() - 1] in "\\\r")
    before = text[max(left - 24, 0) : left]
    head = before[len(before.rstrip(_TOKEN_CHARACTERS)) :]
    if len(head) < 4:
        return None
    right, end = match.span("rest")
    if _DIGEST.fullmatch(text, right, end) is not None and _DIGIT.search(head) is None:
        return None
    if _DIGIT.search(head) is None and (
        _WORDS.fullmatch(head) is not None or _DIGIT.search(text, right, end) is None
    ):
        return None
    return Joint(left, right, end)


def _windows(joints: list[Joint]) -> Iterator[list[Joint]]:
    """Yield the groups of joints to join: whole chains of lines, and parts of short chains."""
    chain: list[Joint] = []
    for joint in joints:
        if chain and joint.left != chain[-1].end:
            yield from _chain_parts(chain)
            chain = []
        chain.append(joint)
    yield from _chain_parts(chain)


def _chain_parts(chain: list[Joint]) -> Iterator[list[Joint]]:
    """Yield a chain of joints, and its parts among the first `_SUBCHAINS` joints."""
    yield chain
    if len(chain) > 1:
        for start in range(min(len(chain), _SUBCHAINS)):
            for end in range(start + 1, min(len(chain), _SUBCHAINS) + 1):
                if end - start < len(chain):
                    yield chain[start:end]


def _of_windows(windows: list[list[tuple[int, int]]]) -> Iterator[Piece]:
    """Yield the pieces of groups of lines, joined at their joints."""
    length = 0
    for spans in windows:
        for place, (start, end) in enumerate(spans):
            is_first = place == 0 and length > 0
            yield Piece(length, start, end, after_gap=is_first, after_joint=place > 0)
            length += end - start
        length += len(_BETWEEN)


def _window_ranges(source: str, group: list[Joint]) -> Iterator[tuple[int, int]]:
    """Yield the ranges that form a window: the end of a line, whole parts, the rest of a line."""
    first_left = group[0].left
    position = max(source.rfind("\n", 0, first_left) + 1, first_left - _CONTEXT)
    for joint in group:
        yield position, joint.left
        position = joint.right
    last_end = group[-1].end
    line_end = source.find("\n", last_end)
    yield position, min(len(source) if line_end < 0 else line_end, last_end + _CONTEXT)


DEEPEST = 3
"""How many views are nested: JSON in JSON in base64, and no further."""
_READINGS = (
    (ESCAPED, json_unescaped),
    (PERCENT, percent_decoded),
    (ENTITIES, entities_decoded),
    (CONTINUED, lines_continued),
    (PRINTABLE, printable_decoded),
    (ENCODED, base64_decoded),
    (ENCODED, hex_text_decoded),
    (HEX, hex_decoded),
)
"""The views by the flag in a text's clues that calls for them."""
_VIEWS = CONTINUED | ESCAPED | PERCENT | ENTITIES | PRINTABLE | ENCODED | HEX | JOINED


def find_secrets(scanner: Scanner, text: str, clues: Clues | None = None) -> list[Edit]:
    """Return the secrets of `text`, unmerged; none touches an existing tag.

    `clues` are the result of `scanner.look`, if it was called before.
    """
    edits = _find_at_depth(scanner, text, DEEPEST, scanner.look(text) if clues is None else clues)
    if not edits or "<redacted" not in text:
        return edits
    inert = Inert(text)
    kept: list[Edit] = []
    for edit in edits:
        for start, end in inert.without(edit.start, edit.end):
            if (start, end) == (edit.start, edit.end):
                kept.append(edit)
            elif _says_something(text[start:end]):
                kept.append(edit._replace(start=start, end=end, value=text[start:end]))
    return kept


def _find_at_depth(scanner: Scanner, text: str, depth: int, clues: Clues) -> list[Edit]:
    """Return the secrets of `text` and of its views, which may be nested `depth` times."""
    asks = clues.asks if depth else 0
    coloured = without_terminal_escapes(text) if asks & COLOURED else None
    edits: list[Edit] = []
    if coloured is None or "\x1b]" in text:  # a title or link is hidden text
        edits += [Edit(*span, text[span.start : span.end]) for span in scanner.confirm(text, clues)]
    if coloured is not None:
        return edits + _find_in_view(coloured, text, scanner, depth)
    if asks & _VIEWS:
        for ask, reading in _READINGS:
            if asks & ask:
                view = reading(text)
                if view is not None:
                    edits += _find_in_view(view, text, scanner, depth)
        view = line_joined(text, clues.joints) if asks & JOINED else None
        if view is not None:
            edits += _find_in_view(view, text, scanner, depth)
    return edits


def _find_in_view(view: View, text: str, scanner: Scanner, depth: int) -> list[Edit]:
    """Return the secrets in a view of `text`, as edits of `text`."""
    check_budget()
    edits: list[Edit] = []
    clues = scanner.look(view.text)
    if clues is NO_CLUES:
        return edits
    for edit in _find_at_depth(scanner, view.text, depth - 1, clues):
        if edit.rule == TIMED_OUT:  # it stands for what could not be looked at
            return [Edit(0, len(text), TIMED_OUT, "")]
        span = view.original_span(edit.start, edit.end)
        if span is not None:
            edits.append(Edit(*span, view.rule or edit.rule, edit.value))
    return edits


def _says_something(piece: str) -> bool:
    """Return True if a piece next to a tag is more than quotes and brackets."""
    return sum(character.isalnum() for character in piece) > 3
