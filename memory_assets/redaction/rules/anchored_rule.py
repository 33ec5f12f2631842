"""One rule that starts from an anchor, and what its value must look like.

The rows stand in `anchored.py` and the modules `anchored_*.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memory_assets.redaction.rules import values

_STAND_IN = re.compile(r"[<{%*\[.$]|x{3}|your|my_|\\|(?i:password$|pass$|\[?redacted)")
_NO_PASSWORD = re.compile(
    r"(?i)^(?:your|my|the|new|old|some)[_-]?pass|pass(?:word|wd|phrase)?$|^pass(?:word|wd|phrase)"
    r"|^-|^/|^changeit|^\d{1,9}(?:ms|[smhd])?$|://|\.[a-z]{2,4}$|\(\)?$|\.\.\."
)
_TECHNICAL = re.compile(
    r"(?i)^(?:sha|md\d|base\d|utf|argon|pbkdf|oauth|aes|rsa|ascii|http|latin|x509|b64|v?\d)"
)


@dataclass(frozen=True, slots=True)
class AnchoredRule:
    """A pattern that is tried wherever its anchor stands."""

    name: str
    anchor: bytes
    pattern: re.Pattern[str]
    accept: Callable[[str], bool]
    sample: str
    lead: int = 0
    """How many characters before the anchor the pattern starts."""


def anchored_rule(
    name: str,
    anchor: bytes,
    pattern: str,
    accept: Callable[[str], bool],
    sample: str,
    lead: int = 0,
) -> AnchoredRule:
    """Return the row as a rule, its pattern compiled."""
    return AnchoredRule(name, anchor, re.compile(pattern), accept, sample, lead)


def any_value(value: str) -> bool:
    """Return whether `value` is neither a reference nor a stand-in."""
    return not values.is_reference(value) and _STAND_IN.match(value) is None


def anything(value: str) -> bool:
    """Return True: the pattern says all."""
    return bool(value)


def typed_password(value: str) -> bool:
    """Return whether `value` may be a password where nothing else is typed."""
    value = value.strip("\"'")
    return (
        len(value) >= 4
        and any_value(value)
        and not values.is_placeholder(value)
        and _NO_PASSWORD.search(value) is None
        and not (value.isupper() and value.replace("_", "").isalpha())
    )


def mixed_password(value: str) -> bool:
    """Return whether `value` is a password that is no word: it has digits or no sense."""
    return typed_password(value) and (
        (_has_digit(value) and any(map(str.isalpha, value))) or values.is_scrambled(value)
    )


def spoken_password(value: str) -> bool:
    """Return whether `value`, bare in a sentence, can only be a password."""
    if not mixed_password(value) or values.is_identifier_of_something(value):
        return False
    if values.is_uuid(value) or values.is_slug(value):
        return values.is_random(value)
    return _TECHNICAL.match(value) is None or values.is_random(value, 8)


def quoted_password(value: str) -> bool:
    """Return whether `value` is what a call that sets a password is given in quotes."""
    return typed_password(value) and values.is_quoted_password(value)


def strong_value(value: str) -> bool:
    """Return whether `value` mixes digits with both cases, or has no sense, as nothing does
    but a password that a machine drew."""
    return mixed_password(value) and (
        values.is_scrambled(value)
        or values.is_random(value, 8)
        or (value.lower() != value and value.upper() != value and _has_digit(value))
    )


def token_value(value: str) -> bool:
    """Return whether `value` may be a token where a token stands."""
    return (
        not values.is_placeholder(value)
        and not values.is_reference(value)
        and (values.is_random(value) or (len(value) >= 12 and _has_digit(value)))
    )


def random_value(value: str) -> bool:
    """Return whether `value` is a token that a machine drew."""
    return token_value(value) and values.is_random(value)


def plausible_key(value: str) -> bool:
    """Return whether `value` is not a stand-in for a key."""
    return values.is_plausible_token(value)


def key_material(value: str) -> bool:
    """Return whether `value` has as many different characters as a key has."""
    return len(set(value)) >= 10


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)
