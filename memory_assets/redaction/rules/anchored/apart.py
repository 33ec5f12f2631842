"""Secrets whose name stands on another line, in another member or in a column of its own: forms of
several parts, announcements, headings, pairs of a name and a value, files of cookies. Rows as in
`table.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    drawn_value,
    likely_password,
    mixed_password,
    quoted_password,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated

_TELLING = r"(?:password|passwd|pwd|passphrase|secret|token|api_?key)"
_ALONE = (
    r"[ \t]{0,4}\r?\n(?:[ \t]{0,8}(?:```\w{0,12})?\r?\n){0,2}[ \t>]{0,24}[\"'`]?"
    r"(?P<secret>[^\s\"'`<>]{4,400})[\"'`]?(?=[ \t]{0,8}(?:\r?\n|$))"
)
"""The rest of a line, and a value alone on one below it."""
_USER = r"[\"']?[\w.@+-]{1,60}"
_COOKIE_BITS = 12


def _of_cookie(value: str) -> bool:
    """Return True if `value`, of a cookie in a file of cookies, gives access to a session."""
    return typed_password(value) and (
        is_generated(value, _COOKIE_BITS)
        or is_generated(value.replace("%", "."), _COOKIE_BITS)
        or (values.is_hex(value) and len(value) >= 24)
        or values.is_uuid(value)
    )


def _is_key(value: str) -> bool:
    """Return True if `value` is 32 bytes in hexadecimal, of which not all are alike."""
    return len(set(value)) >= 10


def _has_blank(value: str) -> bool:
    """Return True if `value`, in quotes, is a passphrase of several words."""
    return " " in value and any_value(value) and not values.is_placeholder(value)


APART: tuple[AnchoredRule, ...] = (
    *(rule("form-password", anchor, typed_password,
           rf"(?i){anchor}[\w.\[\]-]{{0,40}}{_TELLING}[\w\]-]{{0,8}}\"?(?:\r?\n[^\n]{{1,100}}){{0,2}}"
           r"\r?\n\r?\n(?P<secret>[^\s]{4,400})(?=\r?\n|$)",
           f'; {anchor}app_password"\n\n{FILL[:12]}\n')
      for anchor in ('name="', "name=")),
    *(rule("announced-secret", word, likely_password,
           rf"(?i){word}\b[^\n:=]{{0,60}}\b(?:reset|changed|rotated|regenerated|updated|set|created|issued)\b"
           r"[^\n:=]{0,60}\s{1,8}(?:the |your )?new (?:value|one|password|secret|token|key)"
           r"(?: is| now)?:?\s{1,8}[\"'`]?(?P<secret>[^\s\"'`<>]{6,400})[\"'`]?"
           r"(?=[ \t]*(?:\r?\n|$))",
           f"The {word} was reset.\nNew value: {FILL[:12]}\n")
      for word in ("password", "passphrase", "secret", "token", "key")),
    *(rule("announced-secret", word, drawn_value,
           rf"(?i){word}s?\b[^\n:=]{{0,60}}\b(?:once|again|now|copy|safe|securely|store|save)\b[^\n]{{0,100}}"
           + _ALONE, f"Copy your {word} now:\n{FILL[:20]}\n")
      for word in ("password", "secret", "token", "key", "code")),
    *(rule("announced-secret", f"{word}\n", likely_password if "pass" in word else drawn_value,
           rf"(?i)(?<![^\n]){word}[ \t]{{0,8}}\r?\n[ \t]{{0,8}}[-=]{{3,}}" + _ALONE,
           f"{word}\n-----\n{FILL[:20]}\n")
      for word in ("password", "passwd", "token", "secret", "api_key", "api key")),
    *(rule("announced-secret", f"assword:{quote}", typed_password,
           rf"(?i)assword:{quote},\s{{0,24}}{quote}(?P<secret>[^{quote}\n ]{{4,100}})"
           rf"(?:\\[rn])?{quote}",
           f"{quote}Password:{quote},\n{quote}{FILL[:12]}{quote}")
      for quote in "\"'"),
    rule("paired-secret", "keyname", drawn_value,
         r"(?i)keyname[\"']?[ ]?:[ ]?[\"']?[\w.-]{1,60}[\"']?,?"
         r"(?:\s{1,24}[\"']?\w{1,40}[\"']?[ ]?:[ ]?"
         r"[^\n]{1,100}){0,3}?\s{1,24}[\"']?value[\"']?[ ]?:[ ]?[\"']?"
         r"(?P<secret>[A-Za-z0-9+/_-]{16,200}={0,2})",
         '{"keyName": "key1", "value": "' + FILL[:44] + '"}'),
    *(rule("paired-secret", f'{key}"', quoted_password,
           rf"(?i){key}\"\s{{0,4}}:\s{{0,4}}\"[\w.-]{{0,40}}{_TELLING}\"\s{{0,4}},"
           r"(?:\s{0,24}\"\w{1,30}\"\s{0,4}:\s{0,4}(?:\"[^\"\n]{0,80}\"|[\w.]{1,20}),){1,3}"
           r"\s{0,24}\"\w{0,12}value\"\s{0,4}:\s{0,4}\"(?P<secret>[^\"\n]{4,400})\"",
           f'{{"{key}": "password", "type": "plain", "value": "{FILL[:12]}"}}')
      for key in ("key", "name")),
    *(rule("named-secret", f"{end}{sign}", drawn_value,
           rf"(?i){end}{sign}[ ]?[\"']?(?P<secret>[^\s\"'`<>,;|]{{8,400}})(?=[\s\"',;]|$)",
           f"APP{end}{sign}{FILL[:32]}")
      for end in ("_signer", "_signing", "_private", "_seed", "_bind", "_cookie")
      for sign in ("=", ": ")),
    *(rule("named-secret", anchor, _is_key,
           rf"(?i){anchor}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?(?P<secret>(?:0x)?[0-9a-f]{{64}})(?![0-9a-f])",
           f"app{anchor}=0x{HEX}")
      for anchor in ("_pk", "_priv")),
    rule("named-secret", "cookie", mixed_password,
         r"(?i)(?:(?<=release_)|(?<=erlang_)|(?<=erlang\.)|(?<=erl_))cookie[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
         r"(?P<secret>[^\s\"'$]{8,255})", "RELEASE_COOKIE=" + FILL[:20]),
    *(rule("login-password", f"{end}=", likely_password,
           rf"(?i){end}={_USER}:(?P<secret>[^\s\"'@/:]{{4,100}})(?=[\"'\s]|$)",
           f"HTTP_{end}=app:{FILL[:12]}")
      for end in ("auth", "basic", "credentials", "creds", "login")),
    rule("wifi-key", "psk", _has_blank, r"(?i)psk\s?=\s?\"(?P<secret>[^\"\n]{8,63})\"",
         'psk="blue ' + FILL[:8] + '"'),
    *(rule("named-secret", anchor, bool,
           rf"(?i){anchor}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?"
           r"(?P<secret>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])",
           f"VAULT_{anchor}={HEX[:8]}-{HEX[8:12]}-{HEX[:4]}-{HEX[4:8]}-{HEX[:12]}")
      for anchor in ("secret_id", "secretid", "secret-id")),
    rule("saml-response", "samlresponse", values.is_mixed,
         r"(?i)samlresponse(?:[\"']?\s{0,4}(?:value)?[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
         r"(?P<secret>[A-Za-z0-9+/%]{60,20000}={0,2})", "SAMLResponse=" + FILL * 2),
    *(rule("cookie", f"{flag}\t", _of_cookie,
           rf"(?i){flag}\t\d{{1,12}}\t[^\t\n]{{1,80}}\t(?P<secret>[^\s\"']{{12,4000}})(?=\s|$)",
           f".example.com\tTRUE\t/\t{flag}\t0\tsid\t{FILL[:24]}")
      for flag in ("true", "false")),
)  # fmt: skip
