"""Passwords that sentences tell: a word for passwords or for logging in, and a value beside it.

One judgement for all sentences: what speaks for and against each value around the word is weighed
(`clues.py`, `candidates.py`), and so is a value that looks like a password near a word that only
hints at one (`hinted.py`). For the engine: `find_in_sentences` is asked at every match of
`passwords.KEYWORDS` and `KEYWORDS`, and `find_hinted` at those of `hinted.TRIGGERS`. How far they
look, `candidates.py` and `hinted.py` say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memory_assets.redaction.rules.judging.names import NameKind, name_kind
from memory_assets.redaction.rules.mentioned import candidates, clues, hinted
from memory_assets.redaction.rules.mentioned.clues import BELONGING, Candidate
from memory_assets.word_lists import word_set

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
    r"|c?.?digo d[aoe]|codice (?:d\w+|pin)|kod d[oa](?![a-z])|(?:alarm|tür|tor|zahlen)code)"
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
_NAMED_ON = re.compile(r"[A-Za-z0-9_(\[/%-]|\.\w|::")
"""What follows where a word for passwords is a part of a name."""
_NEXT = re.compile(r"[ ]([A-Za-z]{4,})(?=:|[ ](?:is|are|was|uses?)\b)")
_ABOUT = word_set(
    "rule rules backend driver strategy engine protocol requirements scheme library validation"
    " validator check hashing manager"
)
"""Words behind one for passwords, besides those that end names, which make it that of a thing."""
_GIVING = word_set("change changed reset code line lines entry down")
_NAMED_OTHER = re.compile(
    rf"(?<![a-z])(?:{'|'.join(clues.OF_OTHERS)}|login as|called|of|via|than|since|until|ids?:"
    r"|env\w*)"
    r"(?:[ ](?:is|was|to|with|:|=)){0,2}[ :=]{1,3}[\"'`(]?$"
)
_AMOUNT = re.compile(
    r"(?:timeout|port|limit|retr(?:y|ies)|attempts|size|count|length|max\w*|min\w*|ttl|interval"
    r"|delay|rounds|iterations|cost|age|expir\w*|lifetime|duration|_?ms|_?secs?|seconds)"
    r"[\"'`]?(?:[ ]?(?:is|of|to|=|:)){1,2}[ ]?[\"'`]?$"
    r"|\b(?:length|channel|login failed with|review|freeze)[ ][\"'`]?$"
    r"|\b(?:error|exit|status|return|response|reason|result|zip|postal|area|country) code"
    r"[^\n]{0,24}$"
)
"""What stands before a number that a setting has: `timeout: 60000`."""
_ITS = re.compile(BELONGING + r"[^,.;:]*(?:[:=][ \"'`“„«*]*)?$")
_ANSWERS = re.compile(r"(?i)\?[\"')*]{0,3}\s{1,4}[>*]{0,4}(?:user|you)[*]{0,2}:[*]{0,2} [\"'`]?$")
"""What stands before the answer to a question, in the log of a conversation."""
_UNIT = re.compile(
    r"[ ]?[x×*][ ]?\d|[ ](?:px|r?em|pt|[kcm]?m|k?g|m?s|min|[km]?hz|[kmg]i?b|sec(?:ond)?s?|minutes"
    r"|hours|days|bytes|bits|pixels|percent|times|characters|chars|items|entries|rows|lines"
    r"|tests|exits)\b",
    re.IGNORECASE,
)
"""What follows a number that is a size or an amount."""
_BEFORE_CODE = re.compile(
    r"(?<![^\s\"'`*(])(?P<number>\d{4,8})[\"'`*]{0,3} (?:is|was|as) (?:(?:your|my|our|the|a) )?"
    r"(?:[a-z-]{1,14} )?$"
)
_STATED = re.compile(
    r"(?:[ ]?[:=]|[ ](?:is|was|ist|est|es))?[ ][\"'`*]{0,2}(?P<number>\d{6}|\d\d(?:-\d\d){2})"
    r"(?![\w%€$-]|[.,:/]\d)"
)
"""A number of the length of most codes, right behind the word."""
_REFERENCE = re.compile(r"#\d+(?![\d#])")
"""The number of an issue."""
_COUNTED = "01234567890123"
_OF_CARD = re.compile(
    r"(?i)(?:^|\n|\b(?:the|my|your|our|his|her|a|el|la|il|le|o|die|der|den|sim|old|new|card|door"
    r"|recovery|unlock)[ ])$"
)
_INSIDE_NAMES = frozenset("_.-/$@#:&,")
_ASCII_VALUE = re.compile(r"[A-Za-z0-9]{3}")
"""Occurs where a password is told after a word in any script; searching for it is cheap."""


def passwords_around(text: str, word: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the passwords that the sentences around a matched word tell."""
    if _ASCII_VALUE.search(text, word.end(), word.end() + candidates.REACH) is not None:
        yield from find_in_sentences(text, word.start())


def find_in_sentences(text: str, position: int) -> Iterator[tuple[int, int]]:
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
        stated = _STATED.match(text, cue.end())
        if stated is not None and _UNIT.match(text, stated.end()) is None:
            yield stated.span("number")
    if kind == "strong" and _is_of_thing(text, cue.end()):
        return
    for value in candidates.find_candidates(text, clues.Cue(text, *cue.span(), kind)):
        if not clues.is_password(text, value) or _is_of_something_else(text, cue.end(), value):
            continue
        if kind == "number" or _REFERENCE.match(text, value.start, value.end) is None:
            yield value.start, value.end


def find_hinted(text: str, positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the passwords at some of the `positions`, in order, that `hinted.py` is
    asked at."""
    seen = -1
    for position in positions:
        if position < seen:
            continue  # within the run that was looked at
        seen, value = hinted.candidate(text, position)
        if value is None or not clues.is_password(text, value):
            continue
        if text[value.start].isalpha() or not _is_of_something_else(text, value.start, value):
            yield value.start, value.end


def _is_of_something_else(text: str, start: int, value: Candidate) -> bool:
    """Return True if a value is an amount, or what the word right before it has: `id: ...`."""
    before = text[max(value.start - 40, 0) : value.start].lower()
    if _UNIT.match(text, value.end) is not None or before[-2:-1] == "@":
        return True
    is_digit = text[value.start : value.end].lstrip("#")[:1].isdigit()
    if is_digit and _AMOUNT.search(before) is not None:
        return True
    return _NAMED_OTHER.search(before) is not None and not (
        (start <= value.start and _ITS.match(text, start, value.start))
        or _ANSWERS.search(before) is not None
    )


def _is_inside_name(text: str, position: int) -> bool:
    before = text[max(position - 1, 0) : position]
    if before in _INSIDE_NAMES:
        return not (before == "-" and text[position].isupper())
    return (
        before.isalnum()
        and before.isascii()
        and not text[position - 1 : position + 4].isupper()
        and not text.startswith(("passwort", "kennwort", "wachtwoord"), position)
    )


def _is_number(text: str, cue: re.Match[str]) -> bool:
    """Return True if the word is no verb and no part of a chip."""
    if cue["number"].isupper() or not cue["number"].lower().startswith(("pin", "puk")):
        return re.match(r" \d{1,2}(?![\w-])", text[cue.end() : cue.end() + 5]) is None
    if text.startswith((":", "="), cue.end()):
        return False
    return _OF_CARD.search(text[max(cue.start() - 9, 0) : cue.start()]) is not None


def _is_of_thing(text: str, start: int) -> bool:
    """Return True if the word for passwords before `start` is part of a name for something else:
    `password policy`."""
    following = _NEXT.match(text, start)
    return following is not None and (
        following[1].lower() in _ABOUT
        or (
            following[1].islower()
            and following[1] not in _GIVING
            and name_kind(f"password_{following[1]}") is NameKind.PLAIN
        )
    )
