"""Candidate positions: where in a text some rule may apply.

Triggers never decide. `PlainTriggers` (standard library) returns every candidate; the Hyperscan
triggers leave out positions at which no rule can match. The findings are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memory_assets.redaction.engine.token_runs import MASK, RUNS
from memory_assets.redaction.rules.anchored.table import AnchoredRule
from memory_assets.redaction.rules.judging.names import KEYWORDS
from memory_assets.redaction.rules.mentioned.hinted import TRIGGERS as HINTED
from memory_assets.redaction.rules.mentioned.in_sentences import KEYWORDS as IN_SENTENCES
from memory_assets.redaction.rules.mentioned.labelled import KEYWORDS as LABELS
from memory_assets.redaction.rules.mentioned.passwords import KEYWORDS as MENTIONED
from memory_assets.redaction.rules.mentioned.value_first import NOUNS
from memory_assets.redaction.rules.tables import COLUMN

# Flags of a run of token characters.
TOKENS = 1
"""It may be a token of some format."""
NAMED = 2
"""It may be a value with a name before it."""
VENDORED = 4
"""A vendor's name may stand before it; set together with `NAMED`."""
BLOB = 8
"""It may be base64 of a text."""

# Flags of the views that a text needs (`views/`), and of the search for personal data.
COLOURED = 1
ESCAPED = 2
PERCENT = 4
ENCODED = 8
JOINED = 16
ADDRESSES = 32
"""The search for personal data."""
HEX = 64
ENTITIES = 128
PRINTABLE = 256
CONTINUED = 512
ANYTHING = 1023
"""All of these."""

BEYOND_ASCII = b"??"
"""The anchor, in the ASCII copy of a text, of rules that begin with words in other scripts."""
# Kinds of triggers.
ASSIGNED = "assigned"
ANCHORED = "anchored"
COOKIE = "cookie"
ASKING = "asking"
"""It calls for a view or for the search for personal data."""
MENTION = "mention"
SHAPED = "shaped"
LABEL = "label"
TABLE = "table"
ADDRESS = "address"
ALSO_WORD = "also-word"
"""A vendor's name that is also a word."""
VENDOR = "vendor"


class Trigger(NamedTuple):
    """One pattern. `rules` are the numbers of the anchored rules it represents, `back` the bytes
    from the reported end back to the candidate position."""

    source: bytes
    kind: str = ""
    back: int = 0
    rules: tuple[int, ...] = ()
    asks: int = 0
    """Flag of the view or search that the text needs where the pattern matches."""
    once: bool = False
    """True if only its first match in a text is needed."""


class Clues(NamedTuple):
    """Candidate positions in a text, each kind in order."""

    keywords: Sequence[int] = ()
    """Positions of the keywords of `names.KEYWORDS`."""
    anchored: Sequence[tuple[int, int]] = ()
    """(number of the anchored rule, position of its anchor)."""
    cookies: Sequence[int] = ()
    """Positions of `cookie`."""
    mentions: Sequence[int] = ()
    """Positions at or just before words for passwords (`mentioned/passwords.py`)."""
    shaped: Sequence[int] = ()
    """Positions in or just behind values that may look like passwords (`mentioned/hinted.py`)."""
    labels: Sequence[int] = ()
    """Positions of further words that end labels (`mentioned/labelled.py`)."""
    addresses: Sequence[int] = ()
    """Positions of `://`."""
    tables: Sequence[int] = ()
    """Positions of tables' lines of hyphens, and of INSERT."""
    runs: Sequence[tuple[int, int, int]] = ()
    """(start, end, flags) of whole runs of token characters."""
    asks: int = 0
    """Flags of views and searches that the text needs, such as `COLOURED`."""
    joints: Sequence[int] | None = None
    """Line ends that may be inside a token; None if unknown."""


NO_CLUES = Clues()


AFTER_A_WORD = rb"[ \t:=?.,;)`\r\n]"
"""What may follow a word for passwords that is whole, if the text does not end there; no quote:
`"login":` names a user."""
_MENTIONS = re.compile(
    b"(?="
    + b"|".join(
        re.escape(word) + (b"(?=" + AFTER_A_WORD + rb"|\Z)") * whole for word, whole in MENTIONED
    )
    + b"|"
    + b"|".join((*NOUNS, *IN_SENTENCES, b"base64"))
    + b")"
)

_LABELS = re.compile(b"(?=" + b"|".join(map(re.escape, LABELS)) + b")")


_SHAPED = tuple(re.compile(b"(?=(" + source.replace(rb"\z", rb"\Z") + b"))") for source in HINTED)


_TABLES = re.compile(
    rb"(?<=\n)[ \t]*(?:[|+]?[ \t]*:?--|[?]{4})|insert\s{1,4}into\s"
    rb"|(?:^|(?<=[\n\t,;])|(?<=[\n\t,;]\")|(?<=  ))" + COLUMN + rb"(?=  |\"?[\t,;\r\n])"
)


class PlainTriggers:
    """Finds all candidate positions with the standard library alone."""

    def __init__(self, anchored: Sequence[AnchoredRule]) -> None:
        by_anchor: dict[bytes, list[int]] = {}
        for number, rule in enumerate(anchored):
            by_anchor.setdefault(rule.anchor, []).append(number)
        self._anchors = tuple(by_anchor.items())

    def find(self, text: str) -> Clues:
        """Return the clues of `text`."""
        ascii_text = text.encode("ascii", "replace")
        lower = ascii_text.lower()
        return Clues(
            keywords=sorted(p for keyword in KEYWORDS for p in _positions(lower, keyword)),
            anchored=[
                (number, position)
                for anchor, numbers in self._anchors
                for position in _positions(lower, anchor)
                for number in numbers
            ],
            cookies=_positions(lower, b"cookie"),
            mentions=[match.start() for match in _MENTIONS.finditer(lower)],
            shaped=sorted(
                {m.end(1) - 1 for pattern in _SHAPED for m in pattern.finditer(ascii_text)}
            ),
            labels=[match.start() for match in _LABELS.finditer(lower)],
            addresses=_positions(lower, b"://"),
            tables=[match.start() for match in _TABLES.finditer(lower)],
            asks=ANYTHING,
            runs=[
                (*run.span(), TOKENS | NAMED | VENDORED | BLOB)
                for run in RUNS.finditer(ascii_text.translate(MASK))
            ],
        )


def _positions(lower: bytes, literal: bytes) -> list[int]:
    positions = []
    position = lower.find(literal)
    while position >= 0:
        positions.append(position)
        position = lower.find(literal, position + 1)
    return positions
