"""Judge how likely a value that stands in a sentence is a password that a person chose.

`shape` is the one scale: it is a clue for what `mentioned/in_sentences.py` finds.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.phrases import (
    OF_CODE,
    is_common_part,
    is_listed,
    is_technical,
    is_type,
)
from memory_assets.redaction.rules.judging.written import is_identifier

# How much a value looks like a password.
NOTHING = 0
WORD = 1
"""It is a plain word."""
UNUSUAL = 2
"""Names often have this form, too."""
LIKELY = 3
"""Names seldom have this form."""
CLEAR = 4
"""In sentences only passwords have this form."""
CERTAIN = 5
"""Nothing but a password has this form."""

_SHORTEST = 5
_LONGEST = 60
_LETTERS = re.compile(r"[A-ZÄÖÜ]?[^\W\dA-Z_]+|[A-Z]+|[^\W\d_]+")
_SIGN = re.compile(
    r"(?<=[^\W_]{2})[!#$&*^~%+?;@][!#$&*]?(?=\w{2})|(?<=[^\W\d_]{4})[!?#&+]\d+$|(?<=\w{2})[!#$]{1,3}$|(?<=\w{4})\*$"
)
"""Signs of passwords, between letters and digits or at the end."""
_SHORT_DRAWN = re.compile(
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[a-zA-Z]\d+[a-zA-Z])[A-Za-z0-9]{5,8}"
)
_LISTED = re.compile(r"[^\W\d_]{3,},[^\W\d_]{3,}")
_MIXED_PART = re.compile(r"-(?=[a-z]*\d)[a-z]+\d+[A-Z]$")
_JOINT = re.compile(r"(?<=\w)[-_./](?=\w)")
_HUMP = re.compile(r"[a-z][A-Z]")
_LEET = re.compile(r"[^\W\d_]{2}\d{1,3}[^\W\d_]{2}|[^\W\d_][013457][a-z]{2}")
_NUMBERED = re.compile(r"[^\W\d_]{4,}(?P<number>\d{1,8})[!?.]?")
_OTHER_THINGS = re.compile(
    r"(?i)(?:sha|md\d|base\d|utf|argon|pbkdf|bcrypt|oauth|aes|rsa|http|ed\d|ascii|x\d|web\d|risc|arm"
    r"|latin|v\d|python|node|windows|ubuntu|debian|ipv|iso|id_|secp|pkcs|lib|win\d|log4|k8s|i18n|h26"
    r"|mp[34]|cve|s3|ec2|gpt|claude|x?chacha\d+-poly|(?:ticket|issue|bug|story|task|case|incident)-\d"
    r"|\d+(?:[a-z]{1,3}$|chars?|bytes?|bits?|days?|hours?|items?|words?|digits?|letters?))\w*"
)
_NO_VALUE = re.compile(
    r"://|^[./~@#$%+*<({\[&-]|[\\\"'`<>(){}\[\]]|\.{2}|::|->|@[\w-]+\.\w|^[a-z_][\w.-]*@[A-Za-z]|[\ue000-\uf8ff]|(?<!\w)%[sdrvi(]|%[sdrvi]$|^\d+[-./:,]"
    r"|\.[a-z]{1,4}\d?$|[A-Za-z]:$|=|^[A-Z]{2,4}-\d+$|^\w+/\w|[-_.]v\d|[a-z]V\d$"
)
"""Addresses, paths, options, placeholders, files, numbers of tickets."""
_LONG_WORD = 10
_LONG_DRAWN = 14
"""Bits of evidence from which a value is certainly random."""
_DRAWN = 8
"""Bits of evidence from which a value looks random."""


@lru_cache(maxsize=4_096)  # a session has most of its names in many texts
def shape(value: str) -> int:
    """Return how much `value`, without quotes, looks like a chosen password: `NOTHING` to
    `CERTAIN`."""
    if not _SHORTEST <= len(value) <= _LONGEST or _is_other(value):
        return NOTHING
    pieces = _LETTERS.findall(value)
    if not pieces or max(map(len, pieces)) < 3:
        return LIKELY if _is_drawn(value) or _SHORT_DRAWN.fullmatch(value) else NOTHING
    uncommon = [word for word in pieces if len(word) > 2 and not is_common_part(word)]
    has_digit = values.has_digit(value)
    signs = _SIGN.search(value) is not None
    if not uncommon:
        if signs:
            return LIKELY if has_digit or len(pieces) > 1 else WORD
        if has_digit and len(pieces) == 1:
            return WORD
        return UNUSUAL if _MIXED_PART.search(value) else NOTHING
    if signs and not (value.isupper() and not has_digit):
        return CERTAIN if has_digit or value.lower() != value else LIKELY
    joints = _JOINT.findall(value)
    if joints:
        return _joined(value, pieces, joints, has_digit)
    if has_digit:
        return _numbered(value, pieces)
    if not value.isalpha():
        return LIKELY if _LISTED.fullmatch(value) else NOTHING
    if value.islower() or value.istitle():
        return UNUSUAL if len(value) >= 2 * _LONG_WORD else WORD
    if values.is_scrambled(value):
        return LIKELY
    return UNUSUAL if values.is_joined(value) and not is_type(pieces[-1]) else NOTHING


def _is_other(value: str) -> bool:
    """Return True if `value` has the form of something else than a password."""
    return (
        _NO_VALUE.search(value) is not None
        or _OTHER_THINGS.fullmatch(value) is not None
        or values.is_hex(value)
        or values.is_uuid(value)
        or values.is_placeholder(value)
        or values.is_reference(value)
        or values.is_identifier_of_something(value)
        or is_technical(value)
        or is_identifier(value)
        or OF_CODE.search(value) is not None
    )


def _joined(value: str, pieces: list[str], joints: list[str], has_digit: bool) -> int:
    """Return the `shape` of words and numbers with hyphens, dots or underscores between them."""
    if min(map(len, pieces)) < 2 and not has_digit:
        return NOTHING
    if any(map(is_technical, pieces)):
        return NOTHING
    is_known = is_listed if value[0].isupper() else is_common_part
    known_count = sum(len(word) < 3 or is_known(word) for word in pieces)
    ends_with_known = is_known(pieces[-1]) or (is_type(pieces[-1]) and value.islower())
    if not has_digit and (ends_with_known or value.isupper() or _HUMP.search(value)):
        return NOTHING
    if has_digit:
        if _is_drawn(value):
            return CLEAR
        if known_count * 2 > len(pieces) or (value.isupper() and max(map(len, pieces)) < 4):
            return UNUSUAL
        return LIKELY
    if known_count * 3 > len(pieces):
        return UNUSUAL if len(pieces) > 2 and "-" in joints else NOTHING
    capital = value.lower() != value
    if "-" not in joints:
        return UNUSUAL if capital or len(joints) > 1 or "_" in joints else WORD
    return LIKELY if len(joints) > 1 else UNUSUAL


def _numbered(value: str, pieces: list[str]) -> int:
    """Return the `shape` of letters and digits without a sign."""
    numbered = _NUMBERED.fullmatch(value)
    if numbered is not None:
        word = value[: numbered.start("number")]
        many = len(numbered["number"]) > 1
        if len(_LETTERS.findall(word)) > 1:
            return UNUSUAL if value[0].isupper() or many else WORD
        if word.isupper():
            return UNUSUAL if many and len(word) > _SHORTEST else WORD
        if many:
            return CLEAR
        return LIKELY if len(word) >= _LONG_WORD else UNUSUAL
    if is_generated(value, _LONG_DRAWN):
        return CERTAIN
    if _is_drawn(value):
        return CLEAR
    if _LEET.search(value) is not None and sum(map(len, pieces)) > 4:
        if re.fullmatch(r"[a-z]+\d*(?:[A-Z][a-z]+\d*)+", value):  # camel case
            return WORD
        return LIKELY if value.lower() != value else CLEAR
    return NOTHING if value.isupper() else UNUSUAL


def _is_drawn(value: str) -> bool:
    return (
        values.has_digit(value) and sum(map(str.isalpha, value)) > 2 and is_generated(value, _DRAWN)
    )
