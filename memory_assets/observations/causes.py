"""Causes and findings that the agent states."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_assets.models import Turn
from memory_assets.observations.moments import asked_in
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import Phrase
from memory_assets.session_analysis.scores import (
    CAUSE,
    DID,
    DOUBTFUL,
    GUESSED,
    NOW,
    cause_score,
    states_nothing,
)
from memory_assets.session_analysis.sentences import own_words
from memory_assets.session_analysis.statements import POINTS_BACK, Said, in_context, readable

_LEAST_SCORE = 3.0
_LABELLED = re.compile(
    r"\W*(?:[Tt]he )?(?:[Rr]oot [Cc]ause|[Pp]roblem|[Bb]ug|[Cc]ause|[Ww]hat happened): (?=\S)"
)
_HEADING = Phrase(r"^\W*(?:the )?(?:root cause|problem|bug|cause|what (?:was|went) wrong)\W*$")
_SAID_BEFORE = Phrase(r"\b(?:that|this) (?:is|was) a (?:real )?bug\W*$")
"""What makes the sentence that it introduces one that states a fault."""
_NO_CAUSE = Phrase(r"^\W*(?:and|but|or|also|plus|i'd|i would)\b|\bwould have\b")
"""What goes on from a sentence before, an opinion, and what did not happen."""
_REPORTS = Phrase(
    r"\b(?:why|how come|errors?|fail(?:s|ed|ing|ure)?|broken?|crash\w*|stuck|missing|not working|"
    r"what(?:'?s| is| was| went)? (?:wrong|happening|causing)|never|"
    r"(?:do|does|did|is|are|was|ca|wo)(?:n'?t| not))\b|为什么|报错|なぜ|どうして|エラー|\bwarum\b"
)
"""Requests that tell of a problem, or ask for a reason."""
_ANSWERS = Phrase(
    r"(?<=\w )because\b|\bdue to\b|\bcaused by\b|, so \w+(?:s|ing)\b|\bcom(?:es?|ing) from\b|"
    r"因为|由于|导致|のため|ため、|\bweil\b"
)
_LINES_OF_A_PASTE = 4
_FIRST = 2
"""Sentences of a reply that such a request is answered in."""
_ABOUT_CHECKS = Phrase(r"\blint\w*\b|\btests?\b.{0,20}\bfail|\bfail\w*\b.{0,20}\btests?\b")
"""Requests to make checks green: what is found then is about the checks."""


def is_about_checks(turn: Turn) -> bool:
    """Return True if a turn was asked to make linters or tests pass."""
    return _ABOUT_CHECKS.search(asked_in(turn)) is not None


def cause(turn: Turn, said: Sequence[Said]) -> Said | None:
    """Return the sentence of a turn that states most plainly why something of the product is or was
    as it is; None if there is none, or the agent looked at nothing before it."""
    if is_about_checks(turn):
        return None
    looked = next((one.seq for one in turn.records if one.kind == "tool_result"), None)
    typed, reported = turn.typed, False
    if typed is not None and _REPORTS.search(own_words(typed.text)):
        reported = True
        if looked is None and typed.text.count("\n") >= _LINES_OF_A_PASTE:
            looked = typed.seq
    if looked is None:
        return None
    scored = [
        (max(_score(one), _LEAST_SCORE if answers else 0.0), -place, one)
        for place, one in enumerate(said)
        if not one.recap and one.record.seq > looked and readable(one.plain)
        for answers in [reported and _answers(one)]
        if ((not one.sentence.item and CAUSE.search(one.plain)) or _is_introduced(one) or answers)
        and not any(rule.search(one.plain) for rule in (DID, GUESSED, _NO_CAUSE))
        and not POINTS_BACK.match(cause_of(one))
    ]
    score, _, best = max(scored, key=lambda entry: entry[:2], default=(0.0, 0, None))
    return best if score >= _LEAST_SCORE else None


def _score(one: Said) -> float:
    """Return the score of a cause; one that is introduced as such is one in any words."""
    if _is_introduced(one) and not states_nothing(one.plain):
        return cause_score(one) + _LEAST_SCORE
    return cause_score(one)


def _answers(one: Said) -> bool:
    """Return True if a sentence gives a reason near the beginning of a reply."""
    if not one.closing or one.place > _FIRST or one.sentence.item or NOW.search(one.plain):
        return False
    if DOUBTFUL.search(one.plain):
        return False
    return cause_score(one) >= 1 and _ANSWERS.search(one.plain) is not None


def _is_introduced(one: Said) -> bool:
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
