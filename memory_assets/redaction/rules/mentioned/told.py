"""Passwords that sentences tell: a word for passwords or for logging in, and a value beside it.

One judgement for all sentences. A value is a password if three marks add up: how much the word says
of passwords (`_CUE`), how strongly the sentence gives the value (`_LINK` and what follows it), and
how much the value looks chosen (`judging/chosen.py`). For the engine: `find_told` is asked at every
match of `passwords.KEYWORDS` and `KEYWORDS`; it looks at `REACH` characters after it and `BACK`
before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.judging.chosen import NOTHING, UNUSUAL, shape
from memory_assets.redaction.rules.judging.names import NameKind, name_kind
from memory_assets.redaction.rules.judging.phrases import is_listed, phrase_length
from memory_assets.redaction.rules.mentioned.clues import (
    BELONGING,
    CHANGES,
    STATES,
    UNSPACED,
    Candidate,
    candidates,
    score,
)
from memory_assets.redaction.rules.wordlist import word_set

REACH = 180
BACK = 100
KEYWORDS = tuple(
    word.encode()
    for word in (
        "pass phrase", "unlock phrase", "unlock code", "code secret", "logged in", "log in",
        "sign in", "signed in", "get in", "me in", "you in", "sudo", "wifi", "wi-fi",
        "root account", "one secret", "the secret", "three words", "four words", "five words",
        "six words", "shared secret", "sign on", "nutzer ", "unlock", "opens with",
        "palavra-passe", "pin", "puk ", "luks", "keepass", "basic auth", "door code",
        "alarm code", "gate code", "access code", "safe code", "combination", "recovery key",
        "verification code", "one-time code", "2fa code", "mfa code", "otp", "pairing code",
        "login code", "security code", "keypad code", "your code", "digo d", "codice ", "log on",
        "logon", "ssh in", "ssh as", "anmeld", "zugang", "keystore", "keychain", "bitlocker",
        "veracrypt", "wpa", "wlan", "hotspot", "security answer", "decrypt", "with user",
        "as user", "connect as", "encrypted with", "protected with", "pass is ", "pass was ",
        "accedi", "acessar", "entra con", "entre avec", "einlog", "inlogg", "zalog", "magic word",
        "secret word", "code word", "codeword", "signing secret", "master code", "alarmcode",
        "kod d", "rcode", "authentication failed", "asks for", "when asked", "prompt wants",
        "identifiant",
    )
)  # fmt: skip
"""Lower-case words, besides those of `passwords.py`, after which a password is told."""
FOREIGN = (
    "密钥|токен|ключ|пароль|пароля|парола|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호"
    "|סיסמה"
)
"""Words for passwords without a letter of ASCII."""
_CUE = re.compile(
    r"(?i)(?P<strong>(?:pas+[wcp]|pass?(?:o|wo)r|kennwort|contrase|wachtwoord|senha"
    r"|mots? de passe|mdp\b|has.o\b|heslo|l.senord|pwd?\b|parola d.ordine|palavra-passe"
    r"|unlock phrase|pass phrase|(?:three|four|five|six) words)[a-zà-ÿ]{0,12}|pass(?![a-z])"
    rf"|(?!暗証|密钥|токен|ключ)(?:{FOREIGN}))"
    r"|(?P<number>暗証番号|pin(?:[- ]?code)?(?![a-z\d])|puk(?![a-z\d])"
    r"|(?:door|alarm|gate|master|access|safe|verification|one-time|2fa|mfa|pairing|login|security|keypad"
    r"|authenticator|your) code|t?otp(?![a-z])|combination|recovery key"
    r"|c?.?digo d[aoe]|codice (?:d\w+ |pin)|kod d[oa] |(?:alarm|tür|tor|zahlen)code)"
    r"|(?P<medium>(?:unlock code|code secret|(?:one|the|shared) secret|zugangsdaten|creds?"
    r"|basic auth|credentials|logins?|sudo|wi-?fi|root account|opens with|unlock(?:s|ed)?"
    r"|clave"
    r"|parola|luks|keepass|zugang|keystore|keychain|bitlocker|veracrypt|wpa2?|wlan|hotspot"
    r"|security answer|decrypt(?:s|ed)?|(?:magic|secret) word"
    r"|code ?word|signing secret)(?![a-z])|密钥|токен|ключ"
    r"|ログイン|登录|와이파이)"
    r"|(?P<weak>(?:log(?:ged)?.in(?: as)?|sign(?:ed)? (?:in|on)|log ?on|ssh (?:in|as)"
    r"|anmeld\w*|(?:get|me|you) in|nutzer|(?:with|as)(?= user)|connect(?= as )|(?:encrypted"
    r"|protected)(?= with)|accedi|acessar|entra con|entre avec|einlog\w*|inlogg\w*|zalog\w*"
    r"|authentication failed|asks for|when asked|prompt wants|identifiants?)"
    r"(?![a-z]))"
)
_PHRASAL = re.compile(r"pas+ ?phr|unlock|luks|keepass|code secret|\w+ words|opens")
_NAMED_ON = re.compile(r"[A-Za-z0-9_(\[/%-]|\.\w|::")
"""What follows where a word for passwords is a part of a name."""
_NEXT = re.compile(r"[ ]([a-z]{4,})(?=:|[ ](?:is|are|was|uses?)\b)")
_ABOUT = word_set(
    "rule rules backend driver strategy engine protocol requirements scheme library validation"
    " validator check hashing"
)
"""Words behind one for passwords, besides those that end names, which make it that of a thing."""
_GIVING = word_set("change changed reset code line lines entry down")
_NOW = (
    r"(?:[ ](?:now|still|again|currently|just|also|always|actually|simply|probably|only|really"
    r"|something like|jetzt|noch|momentan|derzeit|immer|wieder|wie immer|ahora|ora|invece|toujours"
    r"|maintenant|the words?|set to|changed to|reset to)){0,3}"
)
_IS = (
    r"(?:is|was|are|be|been|becomes?|became|remains|stays|equals|reads|ist|war|bleibt|lautet"
    r"|hei(?:ß|ss)t|est|es|era|è|é|jest|(?<=has.o )to|je|it['’]s"
    r"|(?<=[.,;!?(-] )its|that['’]?s|c['’]est"
    r"|pw['’]?s|password['’]s)"
)
_GIVES = (
    r"(?:wants?|takes|expects|needs|requires|answer(?:s|ed)?|type|typed|enter(?:ed)?|give it"
    r"|use|used|using|try|tried|took|chose|picked|say|supply|provide|paste|put|words?"
    r"|using the word|still|now|noch|default(?:s|ed)? to|falls? back to)"
)
_LINK = re.compile(
    rf"(?:(?<![\w-])(?:(?P<verb>(?:(?P<is>{_IS})|{_GIVES}){_NOW})|(?P<by>with|mit|avec|con|com)"
    rf"|(?P<to>to|auf|a|à|zu|into|en){_NOW})(?::|(?=[ \r\n]))"
    r"|(?P<sign>:|=|->|→|=>|[：是为為は는은](?=[ \t\"'`「]{0,2}[!-~])|~>|(?<=[а-я] )[—–](?=[ ]))"
    r"|(?P<asked>\?)|(?P<comma>,)(?=[ ](?!it['’s ]|that))"
    r"|(?<=\w )(?=\([^()\n]{5,80}\))"
    r"|(?<=\w)(?=[ ][\"'`“«]))"
    r"[ \t]*(?:\r?\n[ \t>]*)?(?:(?:it['’]?s|that['’]?s|it is|its)[ ])?(?P<quote>[\"'`“«(*]{0,3})"
)
_ODD = re.compile(
    r"(?=\S{0,60}\d)(?=\S{0,60}[A-Z])"
    r"(?:#[^\W_]{5,40}|[^\W\d_][^\W_]{2,30}(?:[=/|]|\.\.|::)[^\W_]{2,30})[!#$*]?"
)
"""A value with a sign that elsewhere begins or divides what is no password."""
_MERE = re.compile(r"[^\W\d_]{5,40}(?![\w(\[])")
_DIRECTLY = re.compile(rf"(?:{BELONGING}[^,.;:\n]{{1,60}})?[\"'`*»”]{{0,3}}[ ]?")
_IN_ENGLISH = frozenset(("is", "was", "ist", "war", "lautet", "remains", "stays", "je"))
_END_OF_CLAUSE = re.compile(
    r"[.,;:!?)\"'`”»*]{0,3}(?:(?<=\")[}\]]|\s*$|[ ]?\.{2}|\s*\n|[ ](?:[-–—(]|(?:and|but|or|so|which"
    r"|that|for|on|in|at|as|if|until|when|und|aber|oder|für|y|e|et|mais|pero|please|btw|now|then"
    r"|yesterday|today|tonight|last|this|again|gestern|heute|hier|ayer|ieri|gesetzt)\b))"
    rf"|[.,;!?)]{{1,2}}\s|[ ]?[{UNSPACED}]"
)
_HARD = re.compile(r"passw|\n[ \t]*\n|[{}<\[\]|]|(?<![-=~\n])>|=(?![ >])")
_SENTENCE = re.compile(
    r"[.!?](?=\s)(?!\s+(?:it|that|this|the new one|here|now|both|on|its|old|new|\S{1,20} / )\b)"
)
_PROSE = re.compile(r"[^\n:={}()<>\[\]|→]{0,60}")
"""What may stand between a word for passwords and a sign, before the value."""
_OF_OTHERS = re.compile(
    r"(?<![a-z])(?:users?|username|account|host|server|versions?|id|named|called|of|line"
    r"|port|file"
    r"|via|than|since|until|commit|branch|node|section|page|room|ticket|issue|table|database|db"
    r"|package|install|import|ids?:?|hash|type|class|method|function|email|address|url|name"
    r"|role|group|project"
    r"|team|env\w*|instance|cluster|region|zone|bucket|queue|topic|image|model)"
    r"(?:[ ](?:is|was|to|with|:|=)){0,2}[ :=]{1,3}[\"'`(]?$"
)
_ITS = re.compile(BELONGING + r"[^,.;:]*(?:[:=][ \"'`“„«*]*)?$")
_PIN = re.compile(
    r"(?:\d{6}(?:-\d{6}){7}|\d{4,10}|\d{3}[ ]\d{3}|\d{1,2}(?:-\d{1,2}){2,5})"
    r"#?(?![a-zA-Z\d%#-]|[.,:]\d)"
)
_UNIT = re.compile(
    r"[ ]?[x×*][ ]?\d|[ ](?:px|r?em|pt|[kcm]?m|k?g|m?s|min|[km]?hz|[kmg]i?b|sec(?:ond)?s?|minutes"
    r"|hours|days|bytes|bits|pixels|percent|times|characters|chars|items|entries|rows)\b",
    re.IGNORECASE,
)
"""What follows a number that is a size or an amount."""
_BEFORE_CODE = re.compile(
    r"(?<![^\s\"'`*(])(?P<number>\d{4,8})[\"'`*]{0,3} (?:is|was|as) (?:(?:your|my|our|the|a) )?"
    r"(?:[a-z-]{1,14} )?$"
)
_COUNTED = "01234567890123"
_ANOTHER_PIN = re.compile(
    r"(?:,| (?:and|y|und|et|e|or))[ ](?:\w{1,12}[ ]){0,5}(?P<number>\d{4,8})(?![\w%-]|[.,:]\d)"
)
_OF_CARD = re.compile(
    r"(?i)(?:^|\n|\b(?:the|my|your|our|his|her|a|el|la|il|le|o|die|der|den|sim|card|door"
    r"|recovery|unlock)[ ])$"
)
_INSIDE_NAMES = frozenset("_.-/$@#:&,")
_ASCII_VALUE = re.compile(r"[A-Za-z0-9]{3}")
"""Occurs where a password is told after a word in any script; searching for it is cheap."""


def told_at(text: str, word: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the passwords that the sentences around a matched word tell."""
    if _ASCII_VALUE.search(text, word.end(), word.end() + REACH) is not None:
        yield from find_told(text, word.start())


def find_told(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the passwords that the sentences around the word at `position` tell."""
    cue = _CUE.match(text, position)
    if cue is None or _NAMED_ON.match(text, cue.end()) is not None:
        return
    kind = cue.lastgroup or "weak"
    if _is_inside_name(text, position) and not (kind == "number" and text[position - 1] == "_"):
        return
    if kind == "number":
        before = _BEFORE_CODE.search(text, max(position - 60, 0), position)
        if before is not None and before["number"] not in _COUNTED:
            yield before.span("number")
        if not _is_number(text, cue):
            return
    if kind == "strong" and _is_of_thing(text, cue.end()):
        kind = "thing"
    first = max(position - BACK, 0)
    around = text[first : cue.end() + REACH + _LONGEST]
    for start, end in _told(around, position - first, cue.end() - first, kind):
        yield first + start, first + end
    for value in candidates(text, position, cue.end(), kind) if kind != "thing" else ():
        if score(value.clues) > 0 and not _is_other(text, cue.end(), value):
            yield value.start, value.end


def _is_other(text: str, start: int, value: Candidate) -> bool:
    """Return True if a value is an amount, or what the word right before it has: `id: ...`."""
    before = text[max(value.start - 40, 0) : value.start].lower()
    if _UNIT.match(text, value.end) is not None or before[-2:-1] == "@":
        return True
    return _OF_OTHERS.search(before) is not None and not (
        start <= value.start and _ITS.match(text, start, value.start)
    )


def _told(text: str, position: int, start: int, kind: str) -> Iterator[tuple[int, int]]:
    """Yield what the surroundings of a word of a `kind` from `position` to `start` tell."""
    low = text.lower()
    if len(low) != len(text):
        low = text
    end = min(start + REACH, len(text))
    hard = _HARD.search(low, start, end)
    end = hard.start() + (text[hard.start()] in "=") if hard else end
    word = low[position:start]
    if kind == "number" or word.startswith(("unlock", "passcode")):
        yield from _numbers(text, low, start, end, by=kind != "number")
    phrasal = kind != "weak" and _PHRASAL.match(word) is not None
    if kind == "strong" or phrasal:
        yield from _given(text, low, start, end, kind, phrasal)


def _is_inside_name(text: str, position: int) -> bool:
    before = text[max(position - 1, 0) : position]
    if before in _INSIDE_NAMES:
        return before != "" and not (before == "-" and text[position].isupper())
    return (
        before.isalnum()
        and before.isascii()
        and not text[position - 1 : position + 4].isupper()
        and not text.startswith(("passwort", "kennwort", "wachtwoord"), position)
    )


def _is_number(text: str, cue: re.Match[str]) -> bool:
    """Return True if the word is no verb and no part of a chip."""
    if cue["number"].isupper() or not cue["number"].lower().startswith(("pin", "puk")):
        return re.match(r" \d{1,2}\b", text[cue.end() : cue.end() + 5]) is None
    if text.startswith((":", "="), cue.end()):
        return False
    return _OF_CARD.search(text[max(cue.start() - 9, 0) : cue.start()]) is not None


def _numbers(
    text: str, low: str, start: int, end: int, *, by: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the numbers that a sentence gives as a code."""
    places = [] if by else [start + text.startswith(" ", start)]
    for link in _LINK.finditer(low, start, min(end + 4, len(text))):
        glued = link["sign"] == ":" and link.group() == ":" and link.start() > start
        if not (
            link["to"]
            or link["comma"]
            or (link["by"] and not by)
            or glued
            or "\n" in text[start : link.start()]
            or _is_of_another(low, start, link)
        ):
            places.append(link.end())
    for at in places:
        number = _PIN.match(text, at)
        if number is None or number.group() in _COUNTED or len(set(number.group())) < 2:
            continue
        if _UNIT.match(text, number.end()) is not None:
            continue
        yield number.span()
        more = _ANOTHER_PIN.match(text, number.end(), end)
        if more is not None:
            yield more.span("number")


def _given(
    text: str, low: str, start: int, end: int, kind: str, phrasal: bool
) -> Iterator[tuple[int, int]]:
    """Yield the passphrases, and values with a sign that elsewhere divides, that the word's
    sentence and its continuations give by a verb or a sign."""
    for link in _LINK.finditer(low, start, min(end + 4, len(text))):
        at = link.end()
        if at > end or at >= len(text):
            continue
        length = 0
        may_be_phrase = phrasal or (kind == "strong" and _ENGLISH.match(link.group()))
        if may_be_phrase and "(" not in link["quote"]:
            length = phrase_length(
                text, at, quoted=text[at - 1] in _QUOTES, phrasal=phrasal, sure=kind == "strong"
            )
        odd = _ODD.match(text, at) if kind == "strong" and not length else None
        if odd and _is_odd(odd.group()) and _END_OF_CLAUSE.match(text, odd.end()):
            length = len(odd.group())
        directly = kind == "strong" and _DIRECTLY.fullmatch(low, start, link.start())
        if link["is"] and directly and not length:
            length = _word_length(text, at, english=link["is"] in _IN_ENGLISH)
        if length and _place(low, start, link, kind) >= _GIVEN:
            yield at, at + length


def _word_length(text: str, at: int, *, english: bool) -> int:
    """Return the length of the mere word at `at`, if a clause ends with it and it is none of those
    that are said of passwords; else 0. Behind languages whose words of that kind are not listed,
    only one with a capital."""
    word = _MERE.match(text, at)
    if word is None or not (english or text[at].isupper()):
        return 0
    value = word.group()
    if shape(value) == NOTHING or value.lower() in STATES:
        return 0
    return len(value) if _END_OF_CLAUSE.match(text, word.end()) else 0


def _is_odd(value: str) -> bool:
    """Return True if `value` looks chosen but for the sign in it, and no part of it is a word of
    what is said of passwords or of code."""
    words = re.findall(r"[^\W\d_]{3,}", value.lower())
    looks = shape(re.sub(r"[=/|]|\.\.|::", "!", value.lstrip("#")))
    return looks >= UNUSUAL and not any(map(is_listed, words))


def _is_of_another(text: str, start: int, link: re.Match[str]) -> bool:
    """Return True if the word right before the link has the value, and no word says that the
    password is its."""
    return (
        _OF_OTHERS.search(text, max(link.end() - 40, 0), link.end()) is not None
        and _ITS.match(text, start, link.start()) is None
    )


_ENGLISH = re.compile(r"\W*(?:is|was|are|it['’]?s|that['’]s|words|\W)")


def _place(text: str, start: int, link: re.Match[str], kind: str) -> int:
    """Return how strongly a link gives what follows it."""
    between = text[start : link.start()]
    cost = len(_SENTENCE.findall(text, start, link.end()))
    if link["sign"]:
        if _PROSE.fullmatch(between) is None:
            return 0
        place = 3
    elif link["verb"]:
        near = len(between.split()) < 7 and "," not in between
        place = 3 + (near and kind == "strong" and link["is"] is not None)
    elif link["by"]:
        place = (3 if kind != "strong" else 2) + (kind == "weak" and between == " ")
    elif link["to"]:
        place = 3 if CHANGES.search(text, max(start - 60, 0), link.end() + 80) else 1
    elif link["comma"]:
        place = 1
    else:
        place = 3 if link["asked"] or (kind != "weak" and len(between) < 12) else 1
        place = 3 if kind == "strong" and "(" in link["quote"] else place
    return place + (text[link.end() - 1] in _QUOTES) - cost


_GIVEN = 3
_LONGEST = 160
"""Characters of a value, and of the clause that ends with it, beyond `REACH`."""
_QUOTES = frozenset("\"'`“«")


def _is_of_thing(text: str, start: int) -> bool:
    """Return True if the word for passwords before `start` is part of a name for something else:
    `password policy`."""
    following = _NEXT.match(text, start)
    return following is not None and (
        following[1] in _ABOUT
        or (following[1] not in _GIVING and name_kind(f"password_{following[1]}") is NameKind.PLAIN)
    )
