"""Causes and findings that the agent states."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_assets.models import Turn
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import Phrase
from memory_assets.session_analysis.scores import (
    CAUSE,
    DID,
    GUESSED,
    cause_score,
    states_nothing,
)
from memory_assets.session_analysis.statements import POINTS_BACK, Said, in_context, readable

_LEAST_SCORE = 3.0
_LABELLED = re.compile(
    r"\W*(?:[Tt]he )?(?:[Rr]oot [Cc]ause|[Pp]roblem|[Bb]ug|[Cc]ause|[Ww]hat happened): (?=\S)"
)
_HEADING = Phrase(r"^\W*(?:the )?(?:root cause|problem|bug|cause|what (?:was|went) wrong)\W*$")
_SAID_BEFORE = Phrase(r"\b(?:that|this) (?:is|was) a (?:real )?bug\W*$")
"""What makes the sentence that it introduces one that states a fault."""
_OF_THE_MOMENT = Phrase(r"\b(?:difference|catch|blocker)\b")
"""What is called so holds until the next step, or between two things."""


def cause(turn: Turn, said: Sequence[Said]) -> Said | None:
    """Return the sentence of a turn that states most plainly why something of the product is or was
    as it is; None if there is none, or the agent looked at nothing before it."""
    looked = next((one.seq for one in turn.records if one.kind == "tool_result"), None)
    if looked is None:
        return None
    scored = [
        (_score(one), -place, one)
        for place, one in enumerate(said)
        if not one.recap and one.record.seq > looked and readable(one.plain)
        if (not one.sentence.item and CAUSE.search(one.plain)) or _is_introduced(one)
        if not any(rule.search(one.plain) for rule in (DID, GUESSED, _OF_THE_MOMENT))
        and not POINTS_BACK.match(cause_of(one))
    ]
    score, _, best = max(scored, key=lambda entry: entry[:2], default=(0.0, 0, None))
    return best if score >= _LEAST_SCORE else None


def _score(one: Said) -> float:
    """Return the score of a cause; one that is introduced as such is one in any words."""
    if _is_introduced(one) and not states_nothing(one.plain):
        return cause_score(one) + _LEAST_SCORE
    return cause_score(one)


def _is_introduced(one: Said) -> bool:
    """Return True if a label, a heading, or the sentence before calls a sentence the cause."""
    sentence = one.sentence
    return (
        _LABELLED.match(one.plain) is not None
        or (not sentence.item and _HEADING.match(sentence.heading) is not None)
        or _SAID_BEFORE.search(sentence.before) is not None
    )


def cause_of(one: Said) -> RedactedText:
    """Return a sentence that states a cause without its label, after the one it points to."""
    text = in_context(one)
    label = _LABELLED.match(text)
    return text.cut(label.end()) if label else text
