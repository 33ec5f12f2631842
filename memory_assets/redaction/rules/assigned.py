"""Judge a value that is assigned to a name of some kind, by its look alone."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import likely_password
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.given import is_name
from memory_assets.redaction.rules.judging.likelihood import evidence, is_generated
from memory_assets.redaction.rules.judging.names import NameKind
from memory_assets.redaction.rules.judging.phrases import Look, is_mixture, is_words, look_of

_INTERPOLATED = re.compile(r"\{[A-Za-z_][\w.()\[\]]{0,60}\}|\$[{(]|%[sd]|<[\w -]{1,60}>")
SHORTEST_TOKEN = 8
"""No shorter value of a name for tokens is a secret."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,88}={0,2}$")
_SALT = re.compile(
    r"(?=(?:[^\W_]*[^\w\s]){5})(?=.*\d)(?=.*[a-z])(?=.*[A-Z])(?!.*[a-z]{6})\S+(?: \S+){1,4}(?<="
    r".{24})"
)
"""Drawn characters with blanks among them."""
_BASE64_BITS = 15
"""Bits of evidence that base64 must have where a slash makes it look like a path."""
_SHORTEST_NUMBER = 20
_VERSION = re.compile(r"\d\.\d")
_TOKEN_BITS = 5
_LETTERS_BITS = 12
"""Bits of evidence that a password of letters alone must have where code may stand."""
_VENDORS_KEY = 20
"""Bits of evidence that a value with a name of kind VENDOR must have."""


def is_secret(value: str, kind: NameKind, quoted: bool, following: str) -> bool:
    """Return True if `value` is a secret, given the kind of its name."""
    if value.startswith("?"):
        return False  # `${NAME:?must be set}`
    if len(value) < (4 if kind is NameKind.PASSWORD else SHORTEST_TOKEN):
        return False
    if kind is NameKind.VENDOR and not is_generated(value, _VENDORS_KEY + 5 * (not quoted)):
        return False
    judge = _is_password if kind is NameKind.PASSWORD else _is_token
    return (
        judge(value, quoted, following)  # cheap: it goes first
        and not values.is_placeholder(value)
        and not values.is_reference(value)
        and not (quoted and _INTERPOLATED.search(value) and not values.is_random(value, 16))
    )


def _is_password(value: str, quoted: bool, following: str) -> bool:
    if quoted:
        return values.is_quoted_password(value) or is_words(value) or is_mixture(value)
    if any(character.isspace() for character in value) or not any(map(str.isalnum, value)):
        return False
    if following not in ("(", "[", "{", ".") and len(value) >= 10 and values.is_scrambled(value):
        return True
    if following in ("(", "[", "{"):
        return False
    if values.is_joined(value) and following != ".":
        return True
    if values.is_code(value):
        return following != "." and is_generated(value, _LETTERS_BITS)
    if values.is_identifier_of_something(value) and not values.is_random(value):
        return False
    if not values.has_digit(value) and is_name(value):
        return False
    return len(value) >= 5 and values.is_mixed(value)


def _is_token(value: str, quoted: bool, following: str) -> bool:
    if _BASE64.match(value) is not None and evidence(value) >= _BASE64_BITS:
        return True
    if values.is_identifier_of_something(value):
        return False
    if not quoted and (following in ("(", "[") or ":/" in value or "~/" in value):
        return False
    if any(character.isspace() for character in value):
        return quoted and _SALT.fullmatch(value) is not None
    return (
        values.is_grouped(value)
        or (value.isdigit() and len(value) >= _SHORTEST_NUMBER)
        or values.is_worded(value, quoted)
        or values.is_random(value, 10)
        or values.is_dense(value)
        or (values.is_hex(value) and len(value) >= 16)
        or values.is_gibberish(value)
        or values.is_drawn(value)
        or values.is_serial(value)
        or values.is_chosen(value)
        or (value.isascii() and look_of(value) is Look.CHOSEN and likely_password(value))
        or (
            (value.lower() != value or values.has_digit(value))
            and is_generated(value, _TOKEN_BITS + 5 * (not quoted))
            and (quoted or not (values.is_slug(value) or _VERSION.search(value)))
        )
        or (
            len(value) >= 12
            and value.isascii()
            and values.has_digit(value)
            and len({character for character in value if not character.isalnum()}) >= 4
        )
    )
