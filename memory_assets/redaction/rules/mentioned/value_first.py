"""Values that stand before the word that says what they are: "X is the acme token", "use X as the
password", `X (the staging password)`, `echo X | base64 -d`.

For the engine: `find_value_first` is asked where a word of `NOUNS` follows its links, and where a
word for passwords stands (`passwords.KEYWORDS`); it looks at `REACH` characters before it.
"""

from __future__ import annotations

import base64
import re

from memory_assets.redaction.rules.anchored.rule import likely_password, spoken_password
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret
from memory_assets.redaction.rules.judging.phrases import is_mixture

LINKED = (
    rb"(?:(?: (?:is|was|as|are)| [-(\x3c]?-?) ?(?i:the|my|our|your|its|their|his|her)| in as)"
    rb" (?:[A-Za-z0-9.\'/_\-]+ ){0,3}"
)
"""What stands before a noun that follows its value, in the ASCII copy of a text."""
NOUNS = (b"token", b"key", b"secret", b"credential")
ENCODER = rb"\|[ ]?base64"
REACH = 200
_ARTICLE = r"(?:the|my|our|your|its|their|his|her|das|mein|le|la|el|mi)"
_LINK = (
    r"[\"'`*]{0,3}(?:,[ ](?=(?:that|it|which)(?:['’]s| is)[ ])|[ \t]{1,3}(?=[^\s]))"
    r"(?:(?:that|it|which) is[ ]|(?=(?:that|it|which)['’]s[ ])"
    r"|(?:is|was|(?:in )?as|are|ist|als|est|es|<-{1,2}|←|—|–|-{1,2})[ \t]{1,3}|\()"
    rf"(?:(?:that|it)['’]?s[ ])?(?P<article>{_ARTICLE}[ ])?(?:[\w.'/-]{{1,24}}[ ]){{0,3}}"
)
_ENDS_LINKED = re.compile(_LINK + "$")
_BEFORE = re.compile(
    r"(?:^|(?<=[\s\"'`(*:]))(?P<value>[^\s\"'`<>(){}\[\],;|:&=]{6,120})" + _LINK + "$"
)
_NOUN = re.compile(
    r"(?i)(?:(?P<password>passw(?:or[dt]s?|d)|passphrase|passcode|pw|pwd|kennwort|contraseña"
    r"|credentials|login)"
    r"|tokens?|(?:api|access|secret|private|auth|service|signing|deploy|encryption)?[ _-]?keys?"
    r"|secrets?|credential)"
    r"(?=[ \t]{0,2}(?:[.,;:!?)\]\"'`*\n\r]|$"
    r"|(?:for|of|to|on|in|at|and|you|we|i|that|which|from)\b))"
)
_ECHOED = re.compile(
    r"(?:echo|printf)(?: -\w{1,3}){0,2} [\"']?(?P<value>[^\s\"'|$]{6,400})[\"']?[ ]?\|[ ]?$"
)
_DECODES = re.compile(r"base64 (?:-\w{0,3}[dD]|--decode)")
_MIXED_BITS = 0
_LOWER_BITS = 8
_TOKEN_BITS = 12
_SHORTEST_HEX = 32
_USED = re.compile(
    r"(?i)(?<!\w)(?:use|set|take|try|enter|type|nimm|nutze)(?: just)? [\"'`(*]{0,2}$"
)
"""What stands before a value that is to be used as a password."""


def find_value_first(text: str, position: int) -> tuple[int, int] | None:
    """Return the range of the secret that stands before the noun at `position`, or None."""
    if text.startswith("base64", position):
        echoed = _ECHOED.search(text[max(position - 2 * REACH, 0) : position])
        if echoed is None or not _is_echoed(echoed["value"], _DECODES.match(text, position)):
            return None
        start = position - len(echoed.string) + echoed.start("value")
        return start, start + len(echoed["value"])
    if text[max(position - 1, 0)] not in " (":
        return None
    noun = _NOUN.match(text, position)
    window = text[max(position - REACH, 0) : position]
    if noun is None or _ENDS_LINKED.search(window[-120:]) is None:
        return None
    mention = _BEFORE.search(window)
    if mention is None:
        return None
    value = mention["value"]
    if noun["password"]:
        is_secret = _is_password(value) or (
            _says_password(noun)
            and (
                likely_password(value)
                or is_mixture(value)
                or (_USED.search(window[: mention.start()]) and is_named_secret(value, Place.LINE))
            )
        )
    else:
        is_secret = mention["article"] is not None and is_generated(value, _TOKEN_BITS)
    linked = noun["password"] or mention["article"] or " in as " in mention.group()
    if not is_secret and not (linked and values.is_hex(value) and len(value) >= _SHORTEST_HEX):
        return None
    start = position - len(window) + mention.start("value")
    return start, start + len(value)


def _says_password(noun: re.Match[str]) -> bool:
    """Return True if `noun` means a password and nothing else."""
    return not noun["password"].lower().startswith(("login", "cred"))


def _is_echoed(value: str, decodes: re.Match[str] | None) -> bool:
    """Return True if `value`, an argument of echo that base64 reads, is a secret or encodes one."""
    if decodes is not None:
        try:
            value = base64.b64decode(value, validate=True).decode("ascii").strip()
        except ValueError:
            return False
    _, colon, password = value.partition(":")
    if colon and spoken_password(password):
        return True
    return _is_password(value)


def _is_password(value: str) -> bool:
    """Return True if `value` is a password; one of a single case must look drawn."""
    bits = _LOWER_BITS if value.islower() or value.isupper() else _MIXED_BITS
    return spoken_password(value) and (is_generated(value, bits) or values.is_chosen(value))
