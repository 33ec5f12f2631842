"""An anchored rule, and the functions that judge its value.

The rows are in the other modules of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from memory_assets.redaction.rules.formats import sample_characters
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret
from memory_assets.redaction.rules.judging.phrases import Look, look_of

Inside = Callable[[str, re.Match[str]], Iterator[tuple[int, int]]]

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
_STANDS_FOR = re.compile(
    r"(?i)(?:my|your|the|new|old|some|db|database|user)?[-_ ]?(?:pass(?:word|wd|phrase)?|pwd|pw)"
    r"|your.*|change_?(?:me|it)\d*|(.)\1*|x{3,}.*|\.{3}.*|[<\[(*].*[>\])*]"
    r"|\{[\w.:!\[\]() -]{0,60}\}|\$\{.*\}|\{\{.*"
    r"|[$@#&:]\(?[a-z_][\w.:]*\)?|%[a-z_]\w*%|%[sdvqr]|%\(\w+\)s|__\w+__|[\w.]+\([^()]*\)"
    r"|[a-z_$][\w$]*(?:(?:\.|->|::)[a-z_$][\w$]*)+"
    r"|true|false|yes|no|on|off|null|none|nil|undefined|string|str|text|required|optional|hidden"
    r"|redacted|removed|masked|secret_?key|password[-_.].*|.*[-_]password|\w*example\w*"
    r"|(?-i:[A-Z]+(?:_[A-Z]+)*)"
)
"""What is written where a login needs a password, in place of one."""
_SIGNED = re.compile(r"(?=[!$])(?!\$[{(]|\$[A-Za-z_]\w*(?:[-_:./$]\w*)*$)(?!.*(?:\$[{(]|\{\{))")
"""What begins as references do, and is none."""
_NO_ARGUMENT = re.compile(r"\s|://|\.[a-z]{2,4}$|^\d{1,3}$|^\d{1,9}(?:ms|[smhd])$")
_TECHNICAL = re.compile(
    r"(?i)^(?:sha|md\d|base\d|utf|argon|pbkdf|bcrypt|scrypt|oauth|aes|rsa|ascii|http|latin|x509|b64|v?\d)"
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
    inside: Inside | None = None
    """Yields the ranges of the secrets that follow what the pattern matches; None if the secret is
    the pattern's group."""

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


def rule_above(name: str, anchor: str, inside: Inside, pattern: str, sample: str) -> AnchoredRule:
    """Return a row whose `pattern` matches what stands before several secrets, which `inside`
    finds."""
    return AnchoredRule(name, anchor.encode(), pattern, any_value, sample, inside=inside)


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


def login_password(value: str) -> bool:
    """Return True if `value`, where a login needs a password, is a password and no placeholder for
    one. Words that are placeholders elsewhere (`admin`, `secret`) are passwords here."""
    return (
        len(value) >= 3
        and _STANDS_FOR.fullmatch(value) is None
        and (_SIGNED.match(value) is not None or not values.is_reference(value))
    )


def argument_password(value: str) -> bool:
    """Return True if `value`, an argument of what logs in, is a password: no option, path, file or
    text."""
    return (
        login_password(value)
        and not value.startswith(("-", "/", "~", "./", "#", "@", ":"))
        and _NO_ARGUMENT.search(value) is None
    )


def mixed_password(value: str) -> bool:
    """Return True if `value` is a password that is no word: it has digits, looks random or is words
    in one."""
    if values.is_joined(value):
        return any_value(value) and not values.is_placeholder(value)
    return typed_password(value) and (
        (values.has_digit(value) and any(map(str.isalpha, value)))
        or values.is_scrambled(value)
        or is_generated(value, _CERTAIN)
    )


def placed_password(value: str) -> bool:
    """Return True if `value`, where little but a password stands, is one, a word as well, but no
    stand-in and no name."""
    return mixed_password(value) or is_named_secret(value, Place.LINE)


def spoken_password(value: str) -> bool:
    """Return True if `value`, unquoted in a sentence, can only be a password."""
    if not mixed_password(value):
        return False
    if values.is_joined(value):
        return True
    if values.is_identifier_of_something(value):
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


def likely_password(value: str) -> bool:
    """Return True if `value`, where a password stands, has the form of a chosen one, if only a word
    and a number or several words in one, or looks drawn."""
    return (
        mixed_password(value)
        and (
            values.is_joined(value)
            or values.is_worded(value, quoted=False)
            or values.is_hyphenated(value)
            or values.is_signed(value)
            or values.is_chosen(value)
            or is_generated(value, _DRAWN)
            or (values.is_hex(value) and len(value) >= 16)
            or look_of(value) >= Look.MIXTURE
        )
        and _TECHNICAL.match(value) is None
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
