"""Secrets in sentences, in several languages: behind a word for secrets or for logging in. Rows as
in `table.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    drawn_or_chosen,
    likely_password,
    random_value,
    rule,
    rule_above,
    spoken_password,
)
from memory_assets.redaction.rules.mentioned.in_sentences import FOREIGN, passwords_around
from memory_assets.word_lists import words

_BARE = r"(?P<secret>[^\s\"'`\\<>(){}\[\],;]{5,79}[^\s\"'`\\<>(){}\[\],;.:!?])"
_END = r"(?=[.,;:!?)\]]{0,2}(?:[\s\"'`]|$))"
_VALUE = rf"[\"'`]?(?P<secret>[^\s\"'`<>(){{}}\[\],;|&=]{{5,60}}?){_END}"
_BEFORE_PASS = "|".join(
    rf"(?<={before})"
    for before in (
        *(
            f"{system} "
            for system in words(
                "db database mongo mysql postgres redis sql ldap root admin vpn wifi wi-fi ssh sudo"
                " ftp sftp smtp imap mail grafana jenkins router server user login account service"
                " keepass box host default staging prod truststore keystore smb nas bluetooth"
                " printer its and with requires needs the my new old"
            )
        ),
        ", ", "; ", "/ ", "'s ", r"\(",
    )
)  # fmt: skip
"""What stands before "pass" where it is a password: tests pass, too."""
_NO_PASS = (
    r"(?:[ ](?:rates?|counts?|fail|through|criteria|threshold|it|the|on|in|by|all|this|that)\b"
    r"|\)[ ](?!is|was)\w)"
)
"""What stands behind "pass" where a test does, `(pass) reads a file` among others."""
_ADVERB = (
    r"(?: (?:still|now|currently|just|always|again|actually|simply|probably|only|temporarily|really"
    r"|set to|changed to|reset to|also|noch|jetzt|ahora|toujours))"
)
_IS = (
    r"(?:[ ](?:is|was|are|be|becomes?|stays?|remains?|ist|war|lautet|es|est|é|è|jest|je)"
    rf"{_ADVERB}{{0,2}}[ ]"
    r"|[ ](?:set|changed|changing|reset|rotated|updated|switched|back|moved|password|it)[ ]to[ ]"
    r"|[ ]?(?:=>|->|→|~>)[ ]?|[ ]=[ ]|[ ]?:[ ])"
)
"""A sign or a verb between what has a value and the value."""
_NO_OTHER = (
    r"(?!\W{0,2}(?:hash|digest|length|polic|file|field|reset|manager|prompt|input|strength|salt|id\b"
    r"|type|format|env|var|column|name|hint|rules?\b|check|valid|protect|auth))"
)
"""Fails where the word for a password only tells what something else is for."""
_CLAUSE = r"(?:[ ](?!(?:is|was|and|but|because|if|when)\b)[^\s:=.;,!?()]{1,24}){1,7}"


def _each_case(words: str) -> str:
    """Return alternatives with each case apart: a search that ignores case takes fifteen times as
    long, as does one with groups in it."""
    return "|".join(
        dict.fromkeys(
            form for word in words.split("|") for form in (word, word.capitalize(), word.upper())
        )
    )


_FOREIGN_KEYS = frozenset(("токен", "ключ", "密钥", "ログイン", "登录", "와이파이"))
"""Words of `FOREIGN` for tokens and keys, and words for logging in."""


_DIRECTLY = re.compile(
    r"[\"'」]?[ \t]{0,2}(?:=>|[:=：是为為は는은가])[ \t]{0,4}[\"'`「“]?"
    r"(?P<secret>(?=[!-~]{0,40}[0-9!@#$%])[!#-&*+\-/-9<-Z^_a-z|~]{6,100})"
)


def _values_after(text: str, word: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield what follows a word in any script: directly behind a sign or a verb without a blank,
    as a value is judged that is assigned; else as a sentence tells it."""
    assigned = _DIRECTLY.match(text, word.end())
    accept = drawn_or_chosen if word.group().lower() in _FOREIGN_KEYS else spoken_password
    if assigned is not None and accept(assigned["secret"]):
        yield assigned.span("secret")
    yield from passwords_around(text, word)


SENTENCES: tuple[AnchoredRule, ...] = (
    rule_above("spoken-password", "pass", passwords_around,
               rf"(?i)(?:{_BEFORE_PASS})pass(?!{_NO_PASS})[^a-z/_.-]",
               "db pass for staging = " + FILL[:12]),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w.-]){word}(?: is| with| as|:)[ ][\"'`]?[\w.@+-]{{1,40}}[ ]?[:/][ ]?"
           + _VALUE,
           f"{word} is app/{FILL[:12]}")
      for word in ("user/pass", "username/password", "user/password", "u/p", "auth", "creds")),
    rule("login-password", "user", spoken_password,
         r"(?i)user(?:name)?[ :=]{1,3}[\w.@-]{1,60}[ ,;/]{1,3}(?:and )?pass(?:word|wd)?[ :=]{1,3}"
         + _BARE,
         "user app pass " + FILL[:12]),
    *(rule("spoken-secret", f"{word}", drawn_or_chosen,
           rf"(?i)(?<![\w-]){word}s?(?!\w){_NO_OTHER}"
           rf"(?:{_CLAUSE}|[ ]\([^()\n]{{1,24}}\)){{1,2}}{_IS}"
           r"[\"'`]?(?P<secret>[^\s\"'`<>(){}\[\],;]{12,400}?)(?=[.,;:!?)]{0,2}(?:[\s\"'`]|$))",
           f"the {word} (1 of 3) for it is {FILL[:24]}")
      for word in ("api key", "access key", "secret key", "private key", "unseal key", "token",
                   "secret", "jeton", "license key", "deploy key", "auth key", "account key",
                   "master key")),
    *(rule("spoken-secret", f"{word} is", drawn_or_chosen,
           rf"(?i)(?:{before}){word} is(?: now| set to)?:?\s{{1,3}}"
           r"[`\"']?(?P<secret>[\w.~+/=-]{16,200})",
           f"the {sample} {word} is {HEX[:32]}, and", lead)
      for word, before, sample, lead in (("key", "api[ _-]|ess[ _-]|ret[ _-]|ate[ _-]", "api", 4),
          ("token", "", "access", 0), ("secret", "", "client", 0))),
    rule("spoken-secret", "key is ", random_value,
         r"(?i)(?<![\w-])key is [\"'`]?(?P<secret>[\w.+/=-]{20,200}?)(?=[\"'`]?[.,;!)]?(?:\s|$))",
         "key is " + FILL[:24]),
    rule_above("foreign-password", "??", _values_after,
               _each_case("ログイン|登录|와이파이|" + FOREIGN), "ops пароль " + FILL[3:15]),
)  # fmt: skip
