"""Observations from sentences that state a cause or a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_assets.models import Turn
from memory_assets.observations.moments import Moment, Type, stated
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase
from memory_assets.session_analysis.scores import cause_score
from memory_assets.session_analysis.statements import POINTS_BACK, Said, in_context

_MOST_DISCOVERIES = 2
_FINDING = Phrase(
    r"\broot cause\b(?! anal)"
    r"|\b(?:the|your|our|my) (?:(?:real|actual|main|core|underlying|only|other) )?"
    r"(?:problem|issue|bug|cause|culprit)\b.{0,40}?\b(?:is|was|lies|comes)\b"
    r"|\bturn(?:s|ed) out\b|\bcaused by\b|\b(?:this|that|which) (?:is|was) why\b|\bthat's why\b"
    r"|\bthis explains\b|\bthe fix (?:is|was)\b|\bthe reason .{3,60} is\b|\bculprit\b"
)
_NO_FINDING = Phrase(
    r"^\W*(?:I(?:'ve)? )?found the (?:root )?(?:cause|issue|problem|bug)\b(?: and \w+ it)?\W*$|"
    r"\b(?:issue|problem|bug) (?:description|report|statement|number)\b|\bI was\b|\bthe user\b"
    r"|\bissue is (?:really )?(?:after|about|asking|tracking)\b"
    r"|\bthe (?:fix|solution) (?:is|was) (?:already|now|just|not|to)\b|\bthat's why (?:we|I)\b"
    r"|^\W*(?:note|so|but|and)\b.{0,20}$"
)


def discoveries(turn: Turn, said: Sequence[Said]) -> Iterator[Moment]:
    """Yield the sentences of a turn that state a cause or a finding most plainly."""
    scored = [
        (cause_score(one), -place, one)
        for place, one in enumerate(said)
        if not one.recap
        and _FINDING.search(one.plain)
        and not _NO_FINDING.search(one.plain)
        and (one.sentence.before or not POINTS_BACK.match(one.plain))
    ]
    best = sorted((each for each in scored if each[0] >= 3.0), key=lambda each: each[:2])
    for _, _, one in sorted(best[-_MOST_DISCOVERIES:], key=lambda each: -each[1]):
        yield statement(one, turn, "discovery", compose("how-it-works"))


def statement(one: Said, turn: Turn, kind: Type, concept: RedactedText) -> Moment:
    """Return the moment of a sentence that the agent said, after the one it points to."""
    before = [one.sentence.before] if one.sentence.before else []
    account = [*before, one.text]
    return stated(kind, (turn,), one.record, in_context(one), account, [one.text], concept)
