"""Passwords that sentences tell: a word for passwords or for logging in, and, a clause or two
later, the value behind a word that gives it (`it is now X`, `lets me in with X`, `answer X`).

For the engine: `find_told` is asked at every match of `passwords.KEYWORDS` and `KEYWORDS` and looks
at `REACH` characters after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import likely_password
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.names import NameKind, name_kind
from memory_assets.redaction.rules.judging.phrases import (
    is_mixture,
    is_one_word,
    is_said,
    is_technical,
    is_words,
    phrase_length,
)
from memory_assets.redaction.rules.wordlist import word_set

REACH = 180
KEYWORDS = tuple(
    word.encode()
    for word in (
        "pass phrase", "unlock phrase", "unlock code", "code secret", "logged in", "log in",
        "sign in", "signed in", "get in", "me in", "you in", "sudo", "wifi", "wi-fi",
        "root account", "one secret", "the secret", "three words", "four words", "five words",
        "six words", "the pass ",
    )
)  # fmt: skip
"""Lower-case words, besides those of `passwords.py`, after which a password is told."""
_STRONG = re.compile(
    r"(?i)(?:pas+[wcp]|(?:the )?pass(?=[ ])|kennwort|contrase|wachtwoord|senha|mots? de passe"
    r"|mdp|has.o|heslo|l.senord|pwd?\b"
    r"|unlock|code secret|(?:one|the) secret|(?:three|four|five|six) words)[^\W_]*(?![\w(\[/%-]"
    r"|\.\w|::)"
)
"""Words for passwords. Others say that somebody logs in."""
_WEAK = re.compile(f"(?i)(?:{'|'.join(word.decode() for word in KEYWORDS)})(?![a-z])")
_LETS_IN = re.compile(r"(?i)(?:me|you|get) in|root account|wi-?fi")
"""Words for passwords behind which stands a secret alone; behind others a user or a program may."""
_NEXT = re.compile(r"[ ]([a-z]{4,})(?=:|[ ](?:is|are|was|uses?)\b)")
_ABOUT = word_set("rule rules backend driver strategy engine protocol requirements scheme library")
"""Words behind one for passwords, besides those that end names, which make it that of a thing."""
_GIVING = word_set("change changed reset code line lines entry down")
_LINK = re.compile(
    r"(?i)(?:(?<![\w-])(?:is|was|are|be|becomes|became|lautet|ist|war|hei(?:ß|ss)t|est|es|è|é|reads|wants"
    r"|takes|expects|answer(?:s|ed)?|type|enter|give it|use|try|with|mit|avec|con|to|c['’]est"
    r"|it['’]s|that['’]s"
    r"|words)(?:[ ](?:now|still|again|currently|just|jetzt|noch|the word|the words|with|set to"
    r"|changed to"
    r"|simply|probably))?(?::|(?=[ \r\n]))|(?P<sign>:|=|->|→|=>)|(?<=\w )(?=\([^()\n]{5,80}\)))"
    r"[ \t]*(?:\r?\n[ \t>]*)?[\"'`“«(*]{0,3}"
)
_TOKEN = re.compile(
    r"[^\s\"'`<>(){}\[\]|“”«»、。，]{5,60}+"
    r"(?![(\[]|[\"'`<]\w|[ ](?:credentials?|accounts?|auth\w*)\b)"
)
_APART = re.compile(r"(?<=[\s\"'`“«*])" + _TOKEN.pattern + r"(?=[\s\"'`”»*]|$)")
_CERTAIN = re.compile(r"[a-z]\d[a-z]|[A-Z][a-zäöüé]{3,}\d|\d[A-Z][a-z]|[a-z]{4}\d{2,}[!?.]?$")
"""Forms that names in sentences seldom have."""
_WORDS = re.compile(r"[^\W\d_]{2,14}\d{0,4}(?: [^\W\d_]{2,14}\d{0,4}){1,8}")
_ENDS = re.compile(
    r"passw|\n[ \t]*\n|[{}<>\[\]|=]|[.!?](?=\s)(?!\s+(?:it|that|this|the new one|here|now|both"
    r"|on)\b)",
    re.I,
)
_PROSE = re.compile(r"[^\n:={}()<>\[\]|]{0,60}")
"""What may stand between a word for passwords and a sign, before the value."""
_OF_OTHERS = re.compile(
    r"(?i)(?<![a-z])(?:users?|username|account|host|server|versions?|id|named|called|of|line|port|file"
    r"|via|see|than|since|until|commit|branch|node|section|page|room|ticket|issue|table|database|db"
    r"|package|install|import|ids?:?|hash|type|class|method|function|email|address|url|name|role|group|project)"
    r"(?:[ ](?:is|was|to|with|:|=)){0,2}[ :=]{1,3}[\"'`(]?$"
)
_IN_OTHERS = re.compile(r"(?i)\b(?:for|on|at|in|from|as|by|of|via) [\"'`]?$")
_NUMBERED = re.compile(r"[^\W\d_]{4,20}\d{3,8}[!?]?")
_LEET = re.compile(r"[^\W\d_][01345][a-z]{2}")
_OTHER_THINGS = re.compile(
    r"(?i)(?:sha|md\d|base\d|utf|argon|pbkdf|bcrypt|oauth|aes|rsa|http|ed\d|ascii|x509|web\d|risc|arm\d)\w*"
)
_NOUN_GIVEN = re.compile(r"(?i)(?:is|was|ist|war|lautet|hei(?:ß|ss)t|est|es|è|é) [\"'`“«]?$")
_NOUN = re.compile(r"[A-ZÄÖÜ][^\W\dA-Z_]{5,20}(?=[.,;!]?(?:\s*$|\n| (?:and|und|et|y)\b)|[.,;!][ ])")
"""A word with a capital, alone behind a verb: a name, as people take for passwords."""
_INSIDE_NAMES = frozenset("_.-/$@#:&,")


def find_told(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the passwords that the sentences after a word at `position` tell."""
    before = text[max(position - 1, 0) : position]
    if before in _INSIDE_NAMES or (
        before.isalnum() and not text[position - 1 : position + 4].isupper()
    ):
        return
    end = min(position + REACH, len(text))
    word = _STRONG.match(text, position)
    weak = None if word else _WEAK.match(text, position)
    if weak is not None:
        start = weak.end()
    elif word is not None:
        start = word.end()
    else:
        return
    if word is not None and _is_of_thing(text, start):
        return
    lets_in = _LETS_IN.match(text, position) is not None
    stop = _ENDS.search(text, start, end)
    end = stop.start() + (text[stop.start()] in "=>") if stop else end
    for link in _LINK.finditer(text, start, min(end + 4, len(text))):
        at = link.end()
        if at > end or at >= len(text) or _OF_OTHERS.search(text[max(at - 40, 0) : at]) is not None:
            continue
        if link["sign"] and _PROSE.fullmatch(text, start, link.start()) is None:
            continue
        quoted = text[at - 1] in "\"'`“«("
        words = _WORDS.match(text, at, min(at + 120, len(text))) if word else None
        length = phrase_length(words.group(), 3 if quoted else 4) if words else 0
        if not length and (token := _TOKEN.match(text, at, min(at + 80, len(text)))) is not None:
            value = token.group().rstrip(".,;:!?")
            length = len(value) if _is_password(value, word is not None, lets_in) else 0
        if (
            not length
            and word
            and word[0][-6:].lower() != "secret"
            and _NOUN_GIVEN.search(text, link.start(), at) is not None
        ):
            noun = _NOUN.match(text, at)
            length = len(noun.group()) if noun and is_one_word(noun.group()) else 0
        if length:
            yield at, at + length
    yield from _beside(text, start, end, word is not None)


def _is_of_thing(text: str, start: int) -> bool:
    """Return True if the word for passwords before `start` is part of a name for something else:
    `password policy`."""
    following = _NEXT.match(text, start)
    return following is not None and (
        following[1] in _ABOUT
        or (following[1] not in _GIVING and name_kind(f"password_{following[1]}") is NameKind.PLAIN)
    )


def _beside(text: str, start: int, end: int, strong: bool) -> Iterator[tuple[int, int]]:
    """Yield the values of a sentence about a password that can be nothing else, whatever verb gives
    them."""
    for token in _APART.finditer(text, start, end):
        value = token.group().rstrip(".,;:!?")
        if (
            is_mixture(value)
            and _CERTAIN.search(value) is not None
            and (strong or _is_certain(value))
            and _OTHER_THINGS.match(value) is None
            and not value.isupper()
            and text[start : token.start()].strip() != ""
            and not _OF_OTHERS.search(text[max(token.start() - 40, 0) : token.start()])
            and not _IN_OTHERS.search(text[max(token.start() - 9, 0) : token.start()])
        ):
            yield token.start(), token.start() + len(value)


def _is_password(value: str, strong: bool, lets_in: bool) -> bool:
    """Return True if `value`, told in a sentence, has the form of a password."""
    if (
        values.is_hex(value)
        or is_said(value.rstrip("0123456789!?."))
        or _OTHER_THINGS.match(value) is not None
        or (value.isupper() and "-" not in value)
    ):
        return False
    if strong:
        return likely_password(value) or is_mixture(value) or is_words(value)
    return _is_certain(value) or (
        lets_in and values.is_worded(value, quoted=False) and not is_technical(value)
    )


def _is_certain(value: str) -> bool:
    """Return True if `value`, told by one who logs in, is neither a user nor a program."""
    return not is_technical(value) and (
        values.is_chosen(value)
        or _NUMBERED.fullmatch(value) is not None
        or (
            is_mixture(value)
            and (
                not value.isascii() or (value.lower() != value and _LEET.search(value) is not None)
            )
        )
    )
