"""Find the secrets of a text, in its plain form and in every view of it."""

from __future__ import annotations

from memory_assets.redaction.edits import Edit
from memory_assets.redaction.engine.scanner import TIMED_OUT, Scanner
from memory_assets.redaction.engine.triggers import (
    COLOURED,
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
    percent_decoded,
    printable_decoded,
    without_terminal_escapes,
)
from memory_assets.redaction.views.joints import line_joined
from memory_assets.redaction.views.views import View

DEEPEST = 3
"""How many views are nested: JSON in JSON in base64, and no further."""
_READINGS = (
    (ESCAPED, json_unescaped),
    (PERCENT, percent_decoded),
    (ENTITIES, entities_decoded),
    (PRINTABLE, printable_decoded),
    (ENCODED, base64_decoded),
    (ENCODED, hex_text_decoded),
    (HEX, hex_decoded),
)
"""The views by the flag in a text's clues that calls for them."""
_VIEWS = ESCAPED | PERCENT | ENTITIES | PRINTABLE | ENCODED | HEX | JOINED


def find_secrets(scanner: Scanner, text: str, clues: Clues | None = None) -> list[Edit]:
    """Return the secrets of `text`, unmerged; none touches an existing tag.

    `clues` are the result of `scanner.look`, if it was called before.
    """
    found = _sightings(scanner, text, DEEPEST, scanner.look(text) if clues is None else clues)
    if not found or "<redacted" not in text:
        return found
    inert = Inert(text)
    kept: list[Edit] = []
    for edit in found:
        for start, end in inert.without(edit.start, edit.end):
            if (start, end) == (edit.start, edit.end):
                kept.append(edit)
            elif _says_something(text[start:end]):
                kept.append(edit._replace(start=start, end=end, value=text[start:end]))
    return kept


def _sightings(scanner: Scanner, text: str, depth: int, clues: Clues) -> list[Edit]:
    asks = clues.asks if depth else 0
    coloured = without_terminal_escapes(text) if asks & COLOURED else None
    found: list[Edit] = []
    if coloured is None or "\x1b]" in text:  # a title or link is hidden text
        found += [Edit(*span, text[span.start : span.end]) for span in scanner.confirm(text, clues)]
    if coloured is not None:
        return found + _through(coloured, text, scanner, depth)
    if asks & _VIEWS:
        for ask, reading in _READINGS:
            if asks & ask:
                view = reading(text)
                if view is not None:
                    found += _through(view, text, scanner, depth)
        view = line_joined(text, clues.joints) if asks & JOINED else None
        if view is not None:
            found += _through(view, text, scanner, depth)
    return found


def _through(view: View, text: str, scanner: Scanner, depth: int) -> list[Edit]:
    """Return the secrets in a view of `text`, as edits of `text`."""
    check_budget()
    found: list[Edit] = []
    clues = scanner.look(view.text)
    if clues is NO_CLUES:
        return found
    for edit in _sightings(scanner, view.text, depth - 1, clues):
        if edit.rule == TIMED_OUT:  # it stands for what could not be looked at
            return [Edit(0, len(text), TIMED_OUT, "")]
        span = view.original_span(edit.start, edit.end)
        if span is not None:
            found.append(Edit(*span, view.rule or edit.rule, edit.value))
    return found


def _says_something(piece: str) -> bool:
    """Return True if a piece next to a tag is more than quotes and brackets."""
    return sum(character.isalnum() for character in piece) > 3
