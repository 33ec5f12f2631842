"""Secrets whose name stands on another line, in another member or in a column of its own: forms of
several parts, announcements, headings, pairs of a name and a value, files of cookies. Rows as in
`table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    drawn_or_chosen,
    drawn_value,
    likely_password,
    placed_password,
    random_value,
    rule,
    spoken_password,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret
from memory_assets.redaction.rules.judging.phrases import is_mixture, is_words

_SECRET_NAME = r"(?:password|passwd|pwd|passphrase|secret|token|api_?key)"
_ALONE = (
    r"[ \t]{0,4}\r?\n(?:[ \t]{0,8}(?:```\w{0,12})?\r?\n){0,2}[ \t>]{0,24}[\"'`]?"
    r"(?P<secret>[^\s\"'`<>]{4,400})[\"'`]?(?=[ \t]{0,8}(?:\r?\n|$))"
)
"""The rest of a line, and a value alone on one below it."""
_TYPED = r"[\"'](?P<secret>[^\"'\n\\]{4,100})[\"']"
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


def _announced(value: str) -> bool:
    """Return True if `value`, alone below words that announce a secret, is drawn or a UUID."""
    return drawn_value(value) or values.is_uuid(value)


def _all_drawn(value: str) -> bool:
    """Return True if all of `value`, a list between blanks, were drawn."""
    return all(map(drawn_value, re.split(r"[\s\"',;|]+", value)))


def _is_named_secret(value: str) -> bool:
    """Return True if `value`, beside a user, is a password."""
    return is_named_secret(value, Place.LITERAL)


def _is_worded(value: str) -> bool:
    """Return True if `value`, behind a user and a colon, is a password, also one of words."""
    return likely_password(value) or is_words(value)


def _is_login(value: str) -> bool:
    """Return True if `value`, behind a user and a colon in a login, is a password, or one word."""
    return _is_worded(value) or is_named_secret(value, Place.LINE)


def _is_beside(value: str) -> bool:
    """Return True if `value`, the cell beside one that says "password", has the form of one."""
    return likely_password(value) or is_mixture(value) or is_words(value)


NAMED_ELSEWHERE: tuple[AnchoredRule, ...] = (
    *(rule("form-password", anchor, typed_password,
           rf"(?i){anchor}[\w.\[\]-]{{0,40}}{_SECRET_NAME}[\w\]-]{{0,8}}\"?(?:\r?\n[^\n]{{1,100}}){{0,2}}"
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
    *(rule("announced-secret", word, _announced,
           rf"(?i){word}s?\b[^\n:=]{{0,60}}\b(?:once|again|now|copy|safe|securely|store|save"
           rf"|below|follows)\b[^\n]{{0,100}}"
           + _ALONE, f"Copy your {word} now:\n{FILL[:20]}\n")
      for word in ("password", "secret", "token", "key", "code")),
    rule("paired-secret", "password>", typed_password,
         r"(?i)(?<!/)password>\s{1,60}<value>\s{0,60}(?P<secret>[^<>\s]{4,400})\s{0,60}</value>",
         "<AppPassword>\n<Value>" + FILL[:12] + "</Value>"),
    *(rule("spoken-secret", name, _all_drawn,
           rf"(?i){name}s?[\w]{{0,8}}[\"']?\s{{0,3}}[:=]\s{{0,3}}[\[(]?[\"']?"
           r"(?P<secret>[\w.+/=-]{12,400}"
           r"(?:[\"']?(?:[ ]?[,;|][ ]?|[ ])[\"']?[\w.+/=-]{12,400}){1,20})",
           f"APP_{name}={FILL[:24]},{FILL[20:44]}")
      for name in ("token", "key", "secret", "keyring")),
    rule("login-password", "pass ", _is_named_secret,
         r"(?i)(?:(?<=\n)|(?<=\n[>c] )|(?<=\n> )|(?<=\nC: ))(?-i:PASS) (?P<secret>\S{4,100})"
         r"(?=[ \t]*\r?\n[<>SC: ]{0,4}(?:[25]3\d\b|\+OK|-ERR))",
         "331 go on\nPASS " + FILL[:12] + "\n230 logged in"),
    *(rule("login-password", name, _is_named_secret,
           rf"(?i)(?<![a-z]){name}\"?[ ]?[:=][ ]?(?:[\[({{]\s{{0,8}})?[\[(]\s{{0,4}}{_USER}"
           r"[\"']?,\s{0,24}[\"']?(?P<secret>[^\s\"',\])]{4,100})[\"']?\s{0,24}[\])]",
           f"{name}: [app, {FILL[:12]}]")
      for name in ("auth", "basic", "login", "credentials")),
    rule("named-secret", "hash_salt", drawn_value,
         rf"(?i)hash_salt(?:[\"']\])?\s{{0,2}}=\s{{0,2}}{_TYPED}", f"hash_salt = '{FILL[:32]}'"),
    *(rule("named-secret", name, bool,
           rf"(?i){name}\w{{0,8}}(?:\[\d{{0,4}}\])?[ ]?[=:][ ]?(?:new )?(?:(?:byte|uint8array|bytes"
           rf"|bytearray)\W{{0,3}})?"
           r"[\[{(]{1,2}\s{0,24}(?P<secret>0x[0-9a-f]{2}(?:,\s{0,24}0x[0-9a-f]{2}){7,127})",
           f"char {name}[] = {{" + ", ".join("0x" + HEX[at : at + 2] for at in range(20)) + "};")
      for name in ("key", "secret", "passw", "token")),
    *(rule("named-secret", end, drawn_value,
           rf"(?i){end}[ ]?(?:=|: ?)[ ]?[\"']?(?P<secret>[^\s\"'`<>,;|=]{{8,400}}={{0,2}})"
           r"(?=[\s\"',;]|$)", f"APP{end}={FILL[:32]}")
      for end in ("_signer", "secr", "_tok", "_sec", "_signing", ".signing", "_private",
                  "_seed", "_bind", "_cookie")),
    *(rule("named-secret", anchor, _is_key,
           rf"(?i){anchor}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?(?P<secret>(?:0x)?[0-9a-f]{{64}})(?![0-9a-f])",
           f"app{anchor}=0x{HEX}")
      for anchor in ("_pk", "_priv", "private", "seed", "seedhex", "seed_hex")),
    rule("named-secret", "pk=", _is_key,
         r"(?i)(?<![a-z])pk=[\"']?(?P<secret>(?:0x)?[0-9a-f]{64})(?![0-9a-f])", f"PK=0x{HEX}"),
    rule("named-secret", "cookie", placed_password,
         r"(?i)(?:(?<=release_)|(?<=erlang)|(?<=erlang_)|(?<=erlang\.)|(?<=erl_))cookie[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
         r"(?P<secret>[^\s\"'$]{4,255})", "RELEASE_COOKIE=" + FILL[:20]),
    *(rule("login-password", f"{end}=", _is_worded if end in ("auth", "login") else _is_login,
           rf"(?i){end}=[\"']?{_USER}[:/%](?P<secret>[^\s\"'@/:]{{4,100}})(?=[\"'\s]|$)",
           f"HTTP_{end}=app:{FILL[:12]}")
      for end in ("auth", "basic", "basic_auth", "credentials", "creds", "cred", "login", "_plain",
                  "_userpass")),
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
    *(rule("paired-secret", word, _is_beside,
           rf"(?i)(?:(?<=[|│] )|(?<=[|│])|(?<=[|│] \*\*)){word}\**[ \t]{{0,40}}[|│]"
           r"[ \t]{0,8}[`\"*]{0,3}(?P<secret>[^\s|│`*\"]{5,100})"
           r"[`\"*]{0,3}[ \t]{0,40}[|│]?[ \t]*(?=\r?\n|$)",
           f"| {word} | {FILL[:12]} |")
      for word in ("password", "passphrase", "passwort")),
    *(rule("table-secret", f"{name} ", accept,
           rf"(?i){name}[ ]{{1,40}}\|[ ]?`?(?P<secret>[^\s|`]{{6,200}})`?[ ]{{0,20}}(?:\||\r?\n|$)",
           f"| APP_{name.upper()} | {FILL[:20]} |")
      for name, accept in (("password", spoken_password), ("secret", drawn_or_chosen),
          ("token", drawn_or_chosen), ("key", random_value))),
)  # fmt: skip
