"""Secrets whose name stands on another line, in another member or in a column of its own: forms of
several parts, announcements, headings, pairs of a name and a value, files of cookies. Rows as in
`table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.keys import NO_PHRASE
from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    drawn_value,
    likely_password,
    mixed_password,
    placed_password,
    random_value,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret
from memory_assets.redaction.rules.judging.phrases import is_words

_SECRET_NAME = r"(?:password|passwd|pwd|passphrase|secret|token|api_?key)"
_ALONE = (
    r"[ \t]{0,4}\r?\n(?:[ \t]{0,8}(?:```\w{0,12})?\r?\n){0,2}[ \t>]{0,24}[\"'`]?"
    r"(?P<secret>[^\s\"'`<>]{4,400})[\"'`]?(?=[ \t]{0,8}(?:\r?\n|$))"
)
"""The rest of a line, and a value alone on one below it."""
_TYPED = r"[\"'](?P<secret>[^\"'\n\\]{4,100})[\"']"
_CREATED = r"(?:created|generated|issued|reset|added|rotated|regenerated)"
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


def _is_session(value: str) -> bool:
    """Return True if `value`, of a cookie in code, gives access to a session and is no id."""
    return random_value(value) and not values.is_hex(value) and not values.is_uuid(value)


def _is_key(value: str) -> bool:
    """Return True if `value` is 32 bytes in hexadecimal, of which not all are alike."""
    return len(set(value)) >= 10


def _announced(value: str) -> bool:
    """Return True if `value`, alone below words that announce a secret, is drawn or a UUID."""
    return drawn_value(value) or values.is_uuid(value)


def _all_drawn(value: str) -> bool:
    """Return True if all of `value`, a list between blanks, were drawn."""
    return all(map(drawn_value, re.split(r"[\s\"',;|]+", value)))


def _is_lisp_secret(value: str) -> bool:
    """Return True if `value`, a name and what it is bound to in Lisp, has a password."""
    return typed_password(value.rpartition('"')[2])


def _are_logins(value: str) -> bool:
    """Return True if `value`, pairs of a user and a password, has such passwords alone."""
    pairs = value.replace(";", ",").split(",")
    return all(likely_password(pair.partition(":")[2]) for pair in pairs)


def _is_named_secret(value: str) -> bool:
    """Return True if `value`, beside a user, is a password."""
    return is_named_secret(value, Place.LITERAL)


def _is_worded(value: str) -> bool:
    """Return True if `value`, behind a user and a colon, is a password, also one of words."""
    return likely_password(value) or is_words(value)


def _is_login(value: str) -> bool:
    """Return True if `value`, behind a user and a colon in a login, is a password, or one word."""
    return _is_worded(value) or is_named_secret(value, Place.LINE)


def _are_words(value: str) -> bool:
    """Return True if `value`, of a name for phrases, is words and no sentence."""
    return NO_PHRASE.isdisjoint(value.split())


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
    *(rule("announced-secret", f"{word}\n", likely_password if "pass" in word else drawn_value,
           rf"(?i)(?<![^\n]){word}[ \t]{{0,8}}\r?\n[ \t]{{0,8}}[-=]{{3,}}" + _ALONE,
           f"{word}\n-----\n{FILL[:20]}\n")
      for word in ("password", "passwd", "token", "secret", "api_key", "api key")),
    *(rule("announced-secret", f"assword:{quote}", typed_password,
           rf"(?i)assword:{quote},\s{{0,24}}{quote}(?P<secret>[^{quote}\n ]{{4,100}})"
           rf"(?:\\[rn])?{quote}",
           f"{quote}Password:{quote},\n{quote}{FILL[:12]}{quote}")
      for quote in "\"'"),
    rule("paired-secret", "password>", typed_password,
         r"(?i)(?<!/)password>\s{1,60}<value>\s{0,60}(?P<secret>[^<>\s]{4,400})\s{0,60}</value>",
         "<AppPassword>\n<Value>" + FILL[:12] + "</Value>"),
    *(rule("paired-secret", f"{noun}(", mixed_password,
           rf"(?i){noun}\(\s{{0,40}}(?:[^()]{{0,160}}?[\s,])?(?:secret_?)?"
           rf"(?:value|string|data|payload)\s?[=:]\s?{_TYPED}",
           f'set_{noun}(name="app", value="{FILL[:12]}")')
      for noun in ("secret", "password", "credential")),
    *(rule("announced-secret", word, likely_password,
           rf"(?i){word}\b[^\n:=]{{0,40}}\b{_CREATED}\b[^\n]{{0,40}}\r?\n"
           r"(?:[^\n]{0,100}\n){0,4}?[ \t]{0,12}(?:value|token|secret|key|password)"
           r"(?:[ \t]{0,12}[:=][ \t]{0,24}|[ \t]{2,24})[\"'`]?(?P<secret>[^\s\"'`<>]{6,400})"
           r"(?=[\"'`]?[ \t]{0,8}(?:\r?\n|$))",
           f"{word} created:\n  ID: 1\n  Value:  {FILL[:20]}\n")
      for word in ("password", "secret", "token", "key")),
    *(rule("spoken-secret", name, _all_drawn,
           rf"(?i){name}s?[\w]{{0,8}}[\"']?\s{{0,3}}[:=]\s{{0,3}}[\[(]?[\"']?"
           r"(?P<secret>[\w.+/=-]{12,400}"
           r"(?:[\"']?(?:[ ]?[,;|][ ]?|[ ])[\"']?[\w.+/=-]{12,400}){1,20})",
           f"APP_{name}={FILL[:24]},{FILL[20:44]}")
      for name in ("token", "key", "secret")),
    *(rule("login-password", name, _are_logins,
           rf"(?i){name}(?:=|: )[\"']?(?P<secret>[\w.@+-]{{1,60}}:[^\s\"',;:]{{4,100}}"
           r"(?:[,;][ ]?[\w.@+-]{1,60}:[^\s\"',;:]{4,100}){1,20})(?=[\s\"']|$)",
           f"{name}=app:{FILL[:12]},web:{FILL[12:24]}")
      for name in ("users", "accounts", "logins", "auth")),
    *(rule("cookie", f"{name}=", _of_cookie,
           rf"(?i){name}=(?P<secret>[\w%.+/-]{{20,400}})(?=[\s\"';,]|$)", f"{name}={FILL[:32]}")
      for name in ("phpsessid", "jsessionid", "net_sessionid", "connect.sid", "laravel_session",
                   "ci_session", "auth_session", "session_cookie")),
    *(rule("named-secret", name, drawn_value,
           rf"(?i){name}[ ]?[=:][ ]?[\"']?(?P<secret>[^\s\"'`<>,;|]{{16,800}})(?=[\s\"',;]|$)",
           f"app_{name}={FILL[:32]}")
      for name in ("macaroon", "_kek", "_dek")),
    rule("login-password", '" * "', typed_password,
         r"\" \* \"(?P<secret>[^\"\n]{4,100})\" \*", '"app" * "' + FILL[:12] + '" *'),
    rule("login-password", "pass ", _is_named_secret,
         r"(?i)(?:(?<=\n)|(?<=\n[>c] )|(?<=\n> )|(?<=\nC: ))(?-i:PASS) (?P<secret>\S{4,100})"
         r"(?=[ \t]*\r?\n[<>SC: ]{0,4}(?:[25]3\d\b|\+OK|-ERR))",
         "331 go on\nPASS " + FILL[:12] + "\n230 logged in"),
    rule("login-password", "user ", likely_password,
         r"(?i)(?<![^\n>])user \S{1,60}\r?\n(?:[^\n]{0,120}\n){0,3}?[> ]{0,3}pass "
         r"(?P<secret>\S{4,100})(?=\s|$)", "USER app\r\n331 go on\r\nPASS " + FILL[:12]),
    *(rule("announced-secret", word, likely_password if "pass" in word else drawn_value,
           rf"(?i){word}(?:\*\*|__):?(?:[ ]|[ \t]{{0,4}}(?:\r?\n){{1,2}})[ \t>]{{0,8}}[\"'`]?"
           r"(?P<secret>[^\s\"'`<>]{5,400})[\"'`]?(?=[ \t]{0,8}(?:\r?\n|$))",
           f"**{word}**\n`{FILL[:20]}`")
      for word in ("password", "passphrase", "token", "secret", "key")),
    *(rule("announced-secret", f"{word}: (", drawn_value,
           rf"(?i){word}: \([^()\n]{{1,30}}\)[ \t]{{0,4}}\r?\n[ \t]{{0,8}}(?P<secret>\S{{8,200}})"
           r"(?=[ \t]{0,8}(?:\r?\n|$))", f"{word}: (generated)\n{FILL[:16]}")
      for word in ("password", "token", "secret", "key")),
    *(rule("paired-secret", f"({form} ", _is_lisp_secret,
           rf"(?i)\({form} (?P<secret>[\w*:/-]{{0,60}}{_SECRET_NAME}[\w*-]{{0,12}}"
           r"\s{1,12}\"[^\"\n]{4,200})\"",
           f'({form} app-password "{FILL[:12]}")')
      for form in ("setq", "def", "defvar", "defparameter", "define")),
    *(rule("login-password", name, _is_named_secret,
           rf"(?i)(?<![a-z]){name}\"?[ ]?[:=][ ]?(?:[\[({{]\s{{0,8}})?[\[(]\s{{0,4}}{_USER}"
           r"[\"']?,\s{0,24}[\"']?(?P<secret>[^\s\"',\])]{4,100})[\"']?\s{0,24}[\])]",
           f"{name}: [app, {FILL[:12]}]")
      for name in ("auth", "basic", "login", "credentials")),
    *(rule("login-password", name, likely_password,
           rf"(?i)(?<![a-z]){name}\"?[ ]?[:=][ ]?[\[({{]\s{{0,8}}[\[(]\s{{0,4}}{_USER}"
           r"[\"']?,\s{0,24}[\"']?(?P<secret>[^\s\"',\])]{4,100})[\"']?\s{0,24}[\])]",
           f"{name}: [[app, {FILL[:12]}]]")
      for name in ("users", "accounts")),
    *(rule("login-password", f"{name}:\n", likely_password,
           rf"(?i)(?<![a-z]){name}:\r?\n[ \t]{{0,12}}- [\"']?[\w.@+-]{{1,60}}[\"']?\r?\n"
           r"[ \t]{0,12}- [\"']?(?P<secret>[^\s\"']{4,100})[\"']?(?=\s|$)",
           f"{name}:\n  - app\n  - {FILL[:12]}\n")
      for name in ("auth", "basic", "login", "credentials")),
    rule("named-secret", "_pass ", _is_named_secret,
         r"(?i)(?:(?<=proxy)|(?<=smtp)|(?<=user)|(?<=root)|(?<=admin)|(?<=mail)|(?<=auth)|(?<=db))"
         r"_pass [\"']?(?P<secret>[^\s\"'`,;|<>=]{5,100})(?=[\"'\s]|$)",
         "http_proxy_pass " + FILL[:12]),
    rule("named-secret", "hash_salt", drawn_value,
         rf"(?i)hash_salt(?:[\"']\])?\s{{0,2}}=\s{{0,2}}{_TYPED}", f"hash_salt = '{FILL[:32]}'"),
    rule("named-secret", "{cookie,", drawn_value,
         r"\{cookie,\s?'?(?P<secret>[^\s'{}]{8,255})'?\}", "{cookie, '" + FILL[:20] + "'}."),
    *(rule("cookie", name, _is_session,
           rf"(?i){name}[\"']: [\"'](?P<secret>[^\s\"']{{16,400}})[\"']",
           f'cookies = {{"{name}": "{FILL[:24]}"}}')
      for name in ("sessionid", "connect.sid", "phpsessid")),
    rule("set-password", "crypt('", typed_password,
         r"(?<!\w)crypt\('(?P<secret>[^'\n]{4,100})', ?gen_salt",
         "SELECT crypt('" + FILL[:12] + "', gen_salt('bf'))"),
    *(rule("paired-secret", word, likely_password,
           rf"(?i){word}(?P<quote>[\"']),(?:[ ]|\r?\n\s{{0,24}})(?P=quote)"
           r"(?P<secret>[^\"'\n]{4,100})(?P=quote)(?:\]|,?\r?\n)",
           f"['{word}', '{FILL[:12]}']")
      for word in ("password", "passwd", "secret", "token")),
    *(rule("named-secret", name, bool,
           rf"(?i){name}(?:_hex|_b64)?(?:[ ]?=|:)[ ]?(?:(?:bytes\.)?fromhex|buffer\.from"
           rf"|(?:base64\.)?b64decode)"
           r"\(\s{0,4}[bru]?[\"'](?P<secret>[0-9A-Za-z+/_-]{16,400}={0,2})[\"']",
           f'app_{name} = bytes.fromhex("{HEX}")')
      for name in ("key", "secret", "seed", "password", "token")),
    *(rule("named-secret", name, bool,
           rf"(?i){name}\w{{0,8}}(?:\[\d{{0,4}}\])?[ ]?[=:][ ]?(?:new )?(?:(?:byte|uint8array|bytes"
           rf"|bytearray)\W{{0,3}})?"
           r"[\[{(]{1,2}\s{0,24}(?P<secret>0x[0-9a-f]{2}(?:,\s{0,24}0x[0-9a-f]{2}){7,127})",
           f"char {name}[] = {{" + ", ".join("0x" + HEX[at : at + 2] for at in range(20)) + "};")
      for name in ("key", "secret", "passw", "token")),
    *(rule("named-secret", name, _is_key,
           rf"(?i)(?<!public )(?<!host ){name}(?: \([^()\n]{{1,30}}\))?[\"']?[ ]?[:=][ ]?[\"']?"
           r"(?P<secret>(?:0x)?[0-9a-f]{2}(?:[ :-](?:0x)?[0-9a-f]{2}){15,63})(?![:-]?[\w])",
           f"{name}: " + " ".join(HEX[at : at + 2] for at in range(0, 32, 2)))
      for name in ("key", "secret", "psk", "pmk", "seed")),
    *(rule("named-secret", f"{name}_code", drawn_value,
           rf"(?i){name}_code(?:=|: )[\"']?(?P<secret>[A-Za-z0-9-]{{10,100}})(?=[\s\"',;]|$)",
           f"APP_{name}_code={FILL[:16]}")
      for name in ("unlock", "access", "recovery", "activation")),
    *(rule("recovery-phrase", name, _are_words,
           rf"(?i){name}[_ ]?phrase[\"']?\s?[:=]\s?[\"']"
           r"(?P<secret>(?:[a-z]{3,12}[ -]){3,23}[a-z0-9]{2,12})[\"']",
           f'{name}_phrase = "ocean zebra vault magic"')
      for name in ("backup", "seed", "recovery", "secret", "wallet", "pass")),
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
    rule("command-secret", "::set-secret ", typed_password,
         r"::set-secret [^:\n]{1,60}::(?P<secret>[^\s\"'$]{4,400})",
         "::set-secret name=a::" + FILL[:20]),
    *(rule("paired-secret", word, placed_password if "pass" in word else drawn_value,
           rf"(?i){word}:?<(?:/|br)[^<>\n]{{0,40}}>(?:\s{{0,8}}<[^<>\n]{{1,60}}>){{0,3}}\s{{0,4}}"
           r"(?P<secret>[^\s<>\"']{5,400})(?=\s{0,4}<|\s|$)",
           f"<td>{word}</td><td>{FILL[:20]}</td>")
      for word in ("password", "passwd", "token", "secret", "api key", "secret key")),
    rule("named-secret", "cookie", placed_password,
         r"(?i)(?:(?<=release_)|(?<=erlang)|(?<=erlang_)|(?<=erlang\.)|(?<=erl_))cookie[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
         r"(?P<secret>[^\s\"'$]{4,255})", "RELEASE_COOKIE=" + FILL[:20]),
    rule("login-password", 'login"', typed_password,
         r"(?i)login\",\s?\"params\":\s?\[\"[^\"\n]{1,60}\",\s?\"(?P<secret>[^\"\n]{4,100})\"\]",
         '"method":"login","params":["app","' + FILL[:12] + '"]'),
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
    *(rule("paired-secret", f"{word},", likely_password,
           rf"(?i){word}[\"']?,[ ]?[\"']?(?P<secret>[^\s\"',;]{{5,200}})"
           r"(?=[\"']?[ \t]*(?:\r?\n|$))",
           f"app_{word},{FILL[:12]}")
      for word in ("password", "passwd", "passphrase", "secret", "_pass", "_pwd")),
    *(rule("login-password", f"{kind}-secrets", likely_password,
           rf"(?i){kind}-secrets[^\n]{{0,40}}\r?\n(?:[^\n]{{0,120}}\r?\n){{0,4}}?"
           r"[\"']?[\w.@*-]{1,60}[\"']?[ \t]{1,8}[\"']?[\w.@*-]{1,60}[\"']?[ \t]{1,8}"
           r"[\"']?(?P<secret>[^\s\"'*]{4,100})", f"{kind}-secrets <<E\napp * {FILL[:12]} *\n")
      for kind in ("chap", "pap")),
    *(rule("cookie", f"{flag}\t", _of_cookie,
           rf"(?i){flag}\t\d{{1,12}}\t[^\t\n]{{1,80}}\t(?P<secret>[^\s\"']{{12,4000}})(?=\s|$)",
           f".example.com\tTRUE\t/\t{flag}\t0\tsid\t{FILL[:24]}")
      for flag in ("true", "false")),
)  # fmt: skip
