"""A moment: the facts of one observation before its text is composed; and the words that it
is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.types import Type
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.phrases import EMPTY, closed, shorten
from memory_assets.session_analysis.requests import asks, condensed, own_words

CONCEPTS = {
    "problem-solution": compose("problem-solution"),
    "gotcha": compose("gotcha"),
    "what-changed": compose("what-changed"),
    "why-it-exists": compose("why-it-exists"),
    "how-it-works": compose("how-it-works"),
    "trade-off": compose("trade-off"),
    "pattern": compose("pattern"),
}
"""claude-mem's kinds of knowledge."""
NARRATIVE_LIMIT = 700
TITLE_LIMIT = 140
_ASKED_LIMIT = 220
_NO_REQUEST = re.compile(
    r"\S*@\S+ .{0,60}[%$#] |\W*~?/\S+/\S+"
    r"|\W*(?:(?:ok(?:ay)?|yes|great|good|now|please|can you|and|then|go ahead|let'?s)\W+)*"
    r"(?:/?commit|push|merge|ship|stage|tag|(?:open|create|make|update) (?:an? |the )?(?:pr|pull)"
    r"|continue|go on|next|proceed)\b[^.?!\n]{0,50}[.?!]?\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing worth remembering. `anchor` is the record that completed it, `began` the one
    it began with; `turns` are those it comes from, in order; `records` those whose files it read
    and modified."""

    type: Type
    anchor: RedactedRecord
    began: RedactedRecord
    turns: tuple[Turn, ...]
    title: RedactedText
    narrative: list[RedactedText]
    facts: list[RedactedText] = field(default_factory=list)
    concepts: list[RedactedText] = field(default_factory=list)
    records: tuple[RedactedRecord, ...] = ()


def quoted(text: RedactedText) -> RedactedText:
    """Return a command between code marks."""
    return compose("`{}`", text)


def asked_in(*turns: Turn) -> RedactedText:
    """Return what the last of the prompts that ask for work asks for, shortened; "" if none
    does. "Commit and push" is no work."""
    for turn in reversed(turns):
        if turn.prompt is not None and asks(turn.prompt):
            asked = condensed(own_words(turn.prompt.text), _ASKED_LIMIT)
            if len(asked.split()) > 2 and not _NO_REQUEST.match(asked):
                return asked
    return EMPTY


def asked(*turns: Turn) -> RedactedText:
    """Return "Asked: ..." of `asked_in`, or ""."""
    request = asked_in(*turns)
    return compose("Asked: {}", request) if request else request


def narrative(parts: list[RedactedText]) -> RedactedText:
    """Return the parts as one paragraph that fits."""
    kept: list[RedactedText] = []
    room = NARRATIVE_LIMIT
    for part in dict.fromkeys(parts):
        if not part or room < 40:
            continue
        kept.append(shorten(closed(part), room))
        room -= len(kept[-1]) + 1
    return join(" ", kept)
