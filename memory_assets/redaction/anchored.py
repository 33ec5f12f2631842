"""Secrets that are told by their surroundings: URLs, headers, commands, hashes.

One row each: where to look (`anchor`, a lower-case literal), what must stand there
(`pattern`, matched at the anchor, with the secret in the group `secret`), what the
secret must look like (`accept`), and a made-up `sample` for the self-test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memory_assets.redaction import values
from memory_assets.redaction.formats import sample_characters

_FILL = sample_characters("A-Za-z0-9", 60)
_STAND_IN = re.compile(r"[<{%*\[.$]|x{3}|your|my_|\\|password$|(?i:\[?redacted)")
_HEX = sample_characters("0-9a-f", 60)


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


def _any_value(value: str) -> bool:
    return not values.is_reference(value) and _STAND_IN.match(value) is None


def _token_value(value: str) -> bool:
    return (
        not values.is_placeholder(value)
        and not values.is_reference(value)
        and (values.is_random(value) or (len(value) >= 12 and _has_digit(value)))
    )


def _url_token(value: str) -> bool:
    return _token_value(value) and values.is_random(value)


def _key_path(value: str) -> bool:
    return values.is_plausible_token(value)


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def _user_and_password(value: str) -> bool:
    user, colon, password = value.strip("'\"").partition(":")
    if colon and not password:
        return len(user) >= 10 and values.is_mixed(user) and not values.is_reference(user)
    return (
        bool(colon and password)
        and not values.is_reference(password)
        and not values.is_reference(user)
        and not values.is_placeholder(password)
        and not password.startswith(("<", "/"))
    )


def _rule(
    name: str,
    anchor: bytes,
    pattern: str,
    accept: Callable[[str], bool],
    sample: str,
    lead: int = 0,
) -> AnchoredRule:
    return AnchoredRule(name, anchor, re.compile(pattern), accept, sample, lead)


ANCHORED_RULES: tuple[AnchoredRule, ...] = (
    _rule(
        "url-password",
        b"://",
        r"://[^\s/@:\"'<>`\\]{0,120}:(?P<secret>[^\s/\"'<>`\\]{1,400})@(?=[\w\[$%{-])",
        _any_value,
        "postgres://app:" + _FILL[:14] + "@db.internal:5432/app",
    ),
    _rule(
        "url-token",
        b"://",
        r"://(?P<secret>[\w.~%+=-]{16,400})(?::x-oauth-basic)?@(?=\w)",
        _url_token,
        "https://" + _HEX[:32] + "@sentry.example/42",
    ),
    _rule(
        "url-path-key",
        b"://",
        r"://[\w.-]{1,80}(?:infura\.io/(?:ws/)?v3|alchemy(?:api)?\.(?:io|com)/v2|quiknode\.pro)/"
        r"(?P<secret>[\w-]{20,80})",
        _key_path,
        "https://mainnet.infura.io/v3/" + _HEX[:32],
    ),
    _rule(
        "webhook-url",
        b"://",
        r"://(?i:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
        r"|[\w.-]{1,80}/hooks/catch/\d+/|(?:[\w-]{1,60}\.)?webhook\.office\.com/webhookb2/"
        r"|outlook\.office(?:365)?\.com/webhook/|[\w.:-]{1,80}/hooks/(?=[a-z0-9]{26}\b)"
        r"|(?:\w{1,9}\.)?discord(?:app)?\.com/api/webhooks/\d{15,22}/|hook\.\w{2,5}\.make\.com/)"
        r"(?P<secret>[\w/@-]{7,400})",
        lambda value: values.is_plausible_token(value.replace("/", "")),
        f"https://hooks.slack.com/services/T{_FILL[:9].upper()}/B{_FILL[9:18].upper()}/{_FILL[:24]}",
    ),
    _rule(
        "bearer-token",
        b"bearer",
        r"(?i:bearer)(?:[ \t]{1,4}|%20|\+)(?P<secret>[\w.~+/=:-]{10,4000})",
        _token_value,
        "Bearer " + _FILL[:32],
    ),
    _rule(
        "azure-client-secret",
        b"~",
        r"(?P<secret>[\w.~-]{3}\dQ~[\w.~-]{31,40})",
        lambda value: values.is_plausible_token(value[6:]),
        "k7Q8Q~" + _FILL[:34],
        5,
    ),
    _rule(
        "curl-user",
        b"curl",
        r"curl\b(?:[^\n\\]|\\.|\\\n){0,240}?\s(?:-u|--user|--proxy-user)[ =]{0,2}"
        r"(?P<secret>[^\s\"'\\:]{1,80}:(?:'[^'\n]{3,200}'|\"[^\"\n]{3,200}\")|\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'|[^\s\"'\\]{3,200})",
        _user_and_password,
        "curl -s -u admin:" + _FILL[:12] + " https://example.invalid",
    ),
    _rule(
        "command-password",
        b" -p ",
        r" -p (?P<secret>[^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')",
        lambda value: not values.is_reference(value.strip("'\"")),
        "sshpass -p " + _FILL[:12] + " ssh host",
    ),
    _rule(
        "password-hash",
        b"$",
        r"(?P<secret>\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,60}|[156]\$(?:rounds=\d{1,9}\$)?[^$\s:]{0,40}\$[./A-Za-z0-9]{22,100}"
        r"|y\$[./\w]{1,10}\$[./\w]{1,90}\$[./\w]{20,90}|argon2i?d?\$[^\s\"']{20,300}|krb5(?:asrep|tgs|pa)\$[^\s\"']{20,4000}"
        r"|pbkdf2[\w-]{0,20}\$[^\s\"']{20,300}|scrypt\$[^\s\"']{20,300}|S\$[./A-Za-z0-9]{52}|P\$[./A-Za-z0-9]{31}|apr1\$[^$\s]{1,10}\$[./A-Za-z0-9]{22}))",
        lambda value: len(set(value)) >= 10,
        "$2b$12$" + _FILL[:53],
    ),
)
"""Tried in order at every place where the anchor stands; all that match are reported."""

PASSWORD_COMMANDS = re.compile(
    r"(?<![^\s;&|(/`$])(?:sshpass|login|psexec(?:\.exe)?|plink|pscp|mysql\w*|mariadb)\s",
    re.IGNORECASE,
)
"""Programs, as words of a command, whose `-p` is a password (that of mkdir is not)."""

COMMAND_ENDS = ("\n", ";", "&&", "|", ", ")
