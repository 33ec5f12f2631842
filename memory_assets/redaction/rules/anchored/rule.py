"""An anchored rule, and the functions that judge its value.

The rows are in the other modules of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from memory_assets.redaction.rules.formats import sample_characters
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated

FILL = sample_characters("A-Za-z0-9", 60)
HEX = sample_characters("0-9a-f", 64)
"""Letters and digits, or hex digits, of which samples are made."""

_DRAWN = 6
_SPOKEN = 15
_CERTAIN = 20
_STAND_IN = re.compile(
    r"[<{*\[.$]|%(?![0-9A-Fa-f]{2})|x{3}|your|my_|\\|(?i:password$|pass$|\[?redacted)"
)
_BEGINNING_SIGNS = frozenset(".*%")
"""What begins stand-ins and patterns, and of drawn passwords a few."""
_NO_PASSWORD = re.compile(
    r"(?i)^(?:your|my|the|new|old|some)[_-]?pass|(?<!\d)pass(?:word|wd|phrase)?$"
    r"|^pass(?:word|wd|phrase)(?!\d{2}|\d?[!@#$%])"
    r"|^-|^/|^changeit|^\d{1,9}(?:ms|[smhd])?$|://|\.[a-z]{2,4}$|\((?:\d{0,5}\))?$|\.\.\."
)
_TECHNICAL = re.compile(
    r"(?i)^(?:sha|md\d|base\d|utf|argon|pbkdf|oauth|aes|rsa|ascii|http|latin|x509|b64|v?\d)"
)


@dataclass(frozen=True)
class AnchoredRule:
    """A pattern that is tried at every occurrence of its anchor."""

    name: str
    anchor: bytes
    source: str
    """The regular expression."""
    accept: Callable[[str], bool]
    sample: str
    lead: int = 0
    """How many characters before the anchor the pattern begins."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first tried: few rules are in one run."""
        return re.compile(self.source)


def rule(
    name: str, anchor: str, accept: Callable[[str], bool], pattern: str, sample: str, lead: int = 0
) -> AnchoredRule:
    """Return a row as a rule: look for `anchor` (a lower-case literal); there `pattern` must match,
    and `accept` what is in its group `secret`. `sample` is made up, for the self-test."""
    return AnchoredRule(name, anchor.encode(), pattern, accept, sample, lead)


def any_value(value: str) -> bool:
    """Return True if `value` is neither a reference nor a placeholder."""
    return not values.is_reference(value) and (
        _STAND_IN.match(value) is None
        or (value[0] in _BEGINNING_SIGNS and is_generated(value[1:], _CERTAIN))
    )


def typed_password(value: str) -> bool:
    """Return True if `value` may be a password where only a password is typed."""
    value = value.strip("\"'")
    return (
        len(value) >= 4
        and any_value(value)
        and not values.is_placeholder(value)
        and _NO_PASSWORD.search(value) is None
        and not (value.isupper() and value.replace("_", "").isalpha())
    )


def mixed_password(value: str) -> bool:
    """Return True if `value` is a password that is no word: it has digits or looks random."""
    return typed_password(value) and (
        (values.has_digit(value) and any(map(str.isalpha, value)))
        or values.is_scrambled(value)
        or is_generated(value, _CERTAIN)
    )


def spoken_password(value: str) -> bool:
    """Return True if `value`, unquoted in a sentence, can only be a password."""
    if not mixed_password(value) or values.is_identifier_of_something(value):
        return False
    if values.is_uuid(value) or values.is_slug(value):
        return values.is_random(value)
    return (
        _TECHNICAL.match(value) is None
        or values.is_random(value, 8)
        or is_generated(value, _CERTAIN)
    )


def quoted_password(value: str) -> bool:
    """Return True if `value` looks like the quoted argument of a call that sets a password."""
    return typed_password(value) and values.is_quoted_password(value)


def drawn_value(value: str) -> bool:
    """Return True if `value`, where little but a secret stands, is drawn or hexadecimal."""
    return mixed_password(value) and (
        is_generated(value, _DRAWN) or (values.is_hex(value) and len(value) >= 20)
    )


def drawn_or_chosen(value: str) -> bool:
    """Return True if `value`, behind a word for secrets, is drawn, hexadecimal, or has the form of
    a chosen password."""
    return mixed_password(value) and (
        is_generated(value, _SPOKEN)
        or values.is_chosen(value)
        or (values.is_hex(value) and len(value) >= 20)
    )


def strong_value(value: str) -> bool:
    """Return True if `value` mixes digits with both cases, or looks random, as only a generated
    password does."""
    return mixed_password(value) and (
        values.is_scrambled(value)
        or values.is_random(value, 8)
        or (value.lower() != value and value.upper() != value and values.has_digit(value))
    )


def token_value(value: str) -> bool:
    """Return True if `value` may be a token, in the place of a token."""
    return (
        not values.is_placeholder(value)
        and not values.is_reference(value)
        and (values.is_random(value) or (len(value) >= 12 and values.has_digit(value)))
    )


def random_value(value: str) -> bool:
    """Return True if `value` is a generated token."""
    return token_value(value) and values.is_random(value)


def key_material(value: str) -> bool:
    """Return True if `value` has as many different characters as a key has."""
    return len(set(value)) >= 10
