"""Secrets in sentences, in several languages. Rows as in `anchored.py`. An unquoted value in a
sentence must look generated, or at least mix letters and digits."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored_rule import (
    AnchoredRule,
    anchored_rule,
    mixed_password,
    quoted_password,
    random_value,
    spoken_password,
    typed_password,
)
from memory_assets.redaction.rules.formats import sample_characters

_FILL = sample_characters("A-Za-z0-9", 60)
_HEX = sample_characters("0-9a-f", 60)
_BARE = r"(?P<secret>[^\s\"'`\\<>(){}\[\],;]{5,79}[^\s\"'`\\<>(){}\[\],;.:!?])"
_ASCII = r"(?P<secret>[!#-&*+\-/-9<-Z^-z|~]{4,80})"
_GIVEN = r"[\"']?\s{0,4}(?:=>|[:=：])\s{0,4}[\"'`“]?"

_WORDS = (
    ("senha", b"senha"),
    ("contraseña", b"contrase"),
    ("contrasena", b"contrasena"),
    ("clave", b"clave"),
    ("mot de passe", b"mot de passe"),
    ("kennwort", b"kennwort"),
    ("wachtwoord", b"wachtwoord"),
    ("lösenord", b"senord"),
    ("hasło", b"has?o"),
    ("haslo", b"haslo"),
)
"""Words for a password, and the part of each that serves as an anchor: what is beyond ASCII
is a question mark there."""


def _in_language(word: str, anchor: bytes) -> AnchoredRule:
    copy = word.encode("ascii", "replace")
    lead = copy.index(anchor)
    return anchored_rule(
        "foreign-password",
        anchor,
        rf"(?i:{word}){_GIVEN}{_ASCII}",
        spoken_password,
        f"{word}: {_FILL[:12]}",
        lead,
    )


_BEYOND_ASCII = r"[^\x00-\x7f]"
_WORD_ENDS = (
    "(?:"
    + "|".join(f"(?<={word})" for word in ("пароль", "密码", "密碼", "パスワード", "비밀번호"))
    + ")"
)
_SEPARATORS = (":", "=", " =", '":')
"""Between such a word and its value; with the end of the word they are the anchor."""


def _beyond_ascii(separator: str) -> AnchoredRule:
    return anchored_rule(
        "foreign-password",
        b"??" + separator.encode(),
        rf"(?i){_BEYOND_ASCII}{{2}}{_WORD_ENDS}{separator}[ \t]{{0,4}}[\"'`]?{_ASCII}",
        spoken_password,
        f"пароль{separator}{_FILL[3:15]}",
    )


PROSE: tuple[AnchoredRule, ...] = (
    *(_in_language(*row) for row in _WORDS),
    *map(_beyond_ascii, _SEPARATORS),
    anchored_rule(
        "spoken-password",
        b"password is",
        rf"(?i)password is(?: now| set to)?:?\s{{1,3}}{_BARE}",
        spoken_password,
        "The password is " + _FILL[:12],
    ),
    *(
        anchored_rule(
            "spoken-secret",
            f"{word} is".encode(),
            rf"(?i)(?:{before}){word} is(?: now| set to)?:?\s{{1,3}}"
            r"[`\"']?(?P<secret>[\w.~+/=-]{16,200})",
            random_value,
            f"the {sample} {word} is {_HEX[:32]}, and",
            lead,
        )
        for word, before, sample, lead in (
            ("key", "api[ _-]|ess[ _-]|ret[ _-]|ate[ _-]", "api", 4),
            ("token", "", "access", 0),
            ("secret", "", "client", 0),
        )
    ),
    anchored_rule(
        "spoken-password-of-user",
        b"password for",
        r"(?i)password for [^\n:`\"']{1,40}: ?[`\"'](?P<secret>[^\s`\"']{4,80})[`\"']",
        typed_password,
        "Root password for the box: `" + _FILL[:12] + "`",
    ),
    *(
        anchored_rule(
            "spoken-secret",
            f"{word}` to `".encode(),
            rf"(?i){word}` to `(?P<secret>[^\s`]{{4,200}})`",
            mixed_password,
            f"set `APP_{word.upper()}` to `{_FILL[:20]}` in",
        )
        for word in ("password", "secret", "token", "key")
    ),
    *(
        anchored_rule(
            "spoken-password",
            f"{word}:".encode(),
            rf"(?i){word}: ?[\w.@-]{{1,40}}(?: / |:){_BARE}",
            spoken_password,
            f"{word}: admin / {_FILL[:12]}",
        )
        for word in ("creds", "credentials", "login")
    ),
    anchored_rule(
        "login-password",
        b"user",
        r"(?i)user(?:name)?: ?[\w.@-]{1,60}\r?\n[ \t]{0,20}pass(?:word|wd)?: ?"
        r"(?P<secret>[^\s\"'`,;<>(){}\[\]]{5,80})(?=\s|$)",
        quoted_password,
        "Username: admin\nPassword: " + _FILL[:12],
    ),
    anchored_rule(
        "form-password",
        b"username=",
        r"(?i)username=[^&\s\"'<>]{1,80}&password=(?P<secret>[^&\s\"'<>\\]{4,100})",
        typed_password,
        "username=app&password=" + _FILL[:12] + "&submit=1",
    ),
    anchored_rule(
        "redis-login",
        b"auth ",
        r"(?<![^\n>])AUTH (?P<secret>[A-Za-z0-9]{12,64})(?=\s|$)",
        random_value,
        "AUTH " + _FILL[:18],
    ),
)
