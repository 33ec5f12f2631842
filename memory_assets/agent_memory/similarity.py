"""Whether two short texts say the same, contradict each other, or neither.

Texts that differ in one word only ("prefers tabs", "prefers spaces") are as near to each other by
meaning as two wordings of one thing are. So the words decide, too: other numbers or names, a
negation on one side, or other words in the same frame make a contradiction.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from memory_assets.keywords import is_weak, text_terms

Relation = Literal["same", "contradiction", "other"]
SAME_FROM = 0.8
"""Cosine from which two texts that differ in no number, negation or word of a common frame say the
same (`python -m benchmarks.memory_pairs`)."""
ABOUT_ONE_THING_FROM = 0.6
"""Cosine from which two texts that differ in one of these contradict each other."""
_COMMON_FRAME = 0.5
_NEGATIONS = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot|avoids?|avoided|stop(?:s|ped)?"
    r"|dislikes?|refuses?|forbid(?:s|den)?|disabled?|off|against|instead|rather)\b|n['’]t\b",
    re.IGNORECASE,
)
_LIGHT = """
always decide decided choose chosen agree agreed document documented documentation every follow
go goes happen handle handled held hold keep kept life like live located make must need needed
place placed prefer process processed put remain require required reside run runs save saved say
send sent serve served ship shipped show shown display displayed sit stay store stored take takes
use used user using want wish work write written
"""
"""Words in whose place another of them may stand and the text says the same: "stored in UTC" and
"saved as UTC"."""
_ORDERS = re.compile(r"\b(?:over|than|before|after)\b", re.IGNORECASE)
"""Words at which an order matters: tabs over spaces, spaces over tabs."""
_NUMBERED = re.compile(r"\d")


def relation(newer: str, older: str, cosine: float) -> Relation:
    """Return how two texts with this cosine relate to each other."""
    if " ".join(newer.lower().split()) == " ".join(older.lower().split()):
        return "same"
    differs = _differ(newer, older)
    if differs:
        return "contradiction" if cosine >= ABOUT_ONE_THING_FROM else "other"
    return "same" if cosine >= SAME_FROM else "other"


def _differ(newer: str, older: str) -> bool:
    """Whether one text has a number, a negation or a word where the other has another."""
    if bool(_NEGATIONS.search(newer)) != bool(_NEGATIONS.search(older)):
        return True
    one, other = _terms(newer), _terms(older)
    if one == other and _ORDERS.search(newer) and _ORDERS.search(older):
        return _in_order(newer) != _in_order(older)
    numbers, others = ({term for term in side if _NUMBERED.search(term)} for side in (one, other))
    if numbers and others and not (numbers <= others or others <= numbers):
        return True
    if one - other <= _light() and other - one <= _light():
        return False
    shared = len(one & other)
    common = shared / max(min(len(one), len(other)), 1)
    return common >= _COMMON_FRAME and bool(one - other) and bool(other - one)


@cache
def _light() -> frozenset[str]:
    return frozenset(text_terms(_LIGHT))


def _terms(text: str) -> set[str]:
    return set(_in_order(text))


def _in_order(text: str) -> list[str]:
    return [term for term in text_terms(text) if not is_weak(term)]
