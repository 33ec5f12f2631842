"""Tell what people and programmers write from secrets: sentences without blanks, and identifiers.

A value that a rule finds by its place ("API key ...", `token: ...`) may be the rest of a sentence
in a script that puts no blanks between words, or the name of a class. Both look drawn to whoever
counts characters: a sentence has no ASCII words, a name has changes of case and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import evidence, is_generated
from memory_assets.word_lists import word_set

UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)
"""Runs of Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer text, with its punctuation."""
BY_A_NAME = word_set(
    "assigned-secret named-secret mentioned-secret spoken-secret announced-secret printed-secret"
    " command-secret header-value blank-separated table-cell listed-secret"
)
"""Rules that take a value for the name beside it, whatever the value is; not those for passwords,
which people make of words."""
_UNSPACED_SIGN = re.compile(r"[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")
"""Punctuation of these scripts: of a sentence, and in no password."""
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)+(?:\(\))?")
_HUMP = re.compile(r"[a-z0-9][A-Z][a-z]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORTEST = 6
_LEAST_MEAN = 3.0
"""Characters of a word of an identifier, on average; of drawn letters in both cases it is under
2."""


def secret_parts(text: str, start: int, end: int, is_password: bool) -> Iterator[tuple[int, int]]:
    """Yield the parts of a finding that may be secrets: all of it, or, where text of a script
    without blanks is in it, the parts of other text that look drawn or chosen, and what the value
    begins with unless that reads as words. Of a password, such text is a part unless it has the
    punctuation of a sentence."""
    sentence = _UNSPACED_SIGN if is_password else UNSPACED
    if text.isascii() or sentence.search(text, start, end) is None:
        yield start, end
        return
    begin = start
    for run in UNSPACED.finditer(text, start, end):
        yield from _part(text, begin, run.start(), first=begin == start)
        begin = run.end()
    yield from _part(text, begin, end, first=False)


def _part(text: str, start: int, end: int, *, first: bool) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    written = UNSPACED.sub("", unquote(part)) if "%" in part else part
    if len(written) < _SHORTEST:
        return
    if first:
        is_secret = _DIGIT.search(written) is not None or not reads_as_words(written)
    else:
        is_secret = is_generated(written, 0) or values.is_chosen(written)
        is_secret = is_secret or values.is_hex(written) or values.is_uuid(written)
    if is_secret:
        yield start, end


def is_identifier(value: str) -> bool:
    """Return True for a dotted name of code with a change of case (`Session.userV2Token`)."""
    return (
        _DOTTED.fullmatch(value) is not None
        and _HUMP.search(value) is not None
        and reads_as_words(value)
    )


def reads_as_words(value: str) -> bool:
    """Return True if `value` is made of words, taken apart at changes of case, digits and signs."""
    if values.is_hex(value):
        return False
    words = _WORD.findall(value)
    letters = [word for word in words if word[0].isalpha()]
    if not letters or sum(map(len, words)) < _LEAST_MEAN * len(words):
        return False
    return evidence("_".join(letters).lower()) < 0
