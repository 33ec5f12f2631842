"""Passwords that are mentioned: a word for passwords, then the value, without an assignment.

`login admin / X`, `the pw for staging is X`, "Here is the password:" and X alone on the next line,
`id/password: ann/X, bob/Y`. One judgement for all forms: what the value looks like beside ordinary
text (`judging/likelihood.py`), how strong the word is, and what stands between the two. For the
engine: `find_mentions` is asked at every match of `KEYWORDS` in the ASCII copy of the text, and
looks at `REACH` characters after it, or at a list of pairs. Values before the word:
`value_first.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import spoken_password
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import evidence, is_generated
from memory_assets.redaction.rules.judging.phrases import OF_CODE, Look, look_of
from memory_assets.word_lists import words

_BEGINNINGS = words(
    "passw pasw passo pssw passp passc bindpw rootpw masterauth contrase kennwort wachtwoord senord"
    " zugangsdaten"
)
"""Beginnings of words that mean a password and little else, in several languages and spellings."""
_STRONG_WORDS = words("requirepass pw pwd mdp has?o haslo heslo senha creds")
_WEAK_WORDS = words("login logins log-in credentials secrets clave parola")
_WEAK_PHRASES = ("log in as", "mot de passe", "mots de passe", "parola d'ordine")
KEYWORDS = tuple(
    [(word.encode(), False) for word in _BEGINNINGS]
    + [(word.encode(), True) for word in (*_STRONG_WORDS, *_WEAK_WORDS, *_WEAK_PHRASES)]
)
"""Lower-case words as in the ASCII copy of a text, and whether each is a whole word."""

REACH = 120
_ENDINGS = r"[^\W\d_]{0,8}"
_KEYWORD = re.compile(
    rf"(?i)(?:(?P<strong>(?:{'|'.join(_BEGINNINGS)}){_ENDINGS}|mots? de passe|parola d'ordine"
    rf"|(?<![a-z])(?:{'|'.join(_STRONG_WORDS)}))"
    rf"|(?<![a-z])(?:{'|'.join((*_WEAK_WORDS, 'log in as'))}))(?![\w(\[/%-]|\.\w)".replace(
        "has?o", "hasło"
    )
)
_VALUE = re.compile(r"[^\s\"'`<>(){}\[\],;|:=&。、，]{5,100}")
_AFTER_SIGN = re.compile(r"={1,2}[^\s\"'`<>(){}\[\],;|:&]{1,60}")
"""What follows an equals sign inside a value."""
_LIST = re.compile(r"[^\n:=]{0,40}[:=][ \t]{0,4}(?:\r?\n)?")
_LISTED_PAIR = re.compile(
    r"[ \t{\[(]{0,8}(?:[-*•][ \t]{1,4})?[\"'`]?[\w.@+-]{1,60}[\"'`]?"
    r"(?P<sep>[ \t]{0,4}(?:[:=|/→]|->|=>)[ \t]{0,4}|[ \t]{1,24})[\"'`]?"
    r"(?P<value>[^\s\"'`<>(){}\[\],;|]{5,100})[\"'`]?"
    r"(?:[ \t})]{0,4}(?:[,;]|and\b|\r?\n|$)|[ \t]{1,4}(?=[\w.@+-]{1,60}[:=/]))"
)
"""A user and a password, up to the next pair."""
_MOST_PAIRS = 50
_LISTED = re.compile(
    r"[\"'`*]{0,3}(?:[ \t]{0,4}(?:[,;/|、，；&]|\b(?:and|or|und|oder|et|ou|y|o)\b)[ \t]{0,4}"
    r"|(?P<blank>[ \t]{1,4})|[ \t]{0,8}[,;]?\r?\n[ \t>|]{0,24})"
    r"(?:[-*•]|\d{1,4}[.)])?[ \t]{0,4}[\"'`*]{0,3}"
    r"(?:(?P<tag><redacted[:-][^<>\s]{1,80}>)|(?P<value>[^\s\"'`<>(){}\[\],;|:=&。、，；]{3,100}))"
)
"""The next value of a list, on the line or on the next one; a tag of an earlier pass is one."""
_PLURAL = re.compile(r"(?i)(?:s|rter)$|^mots ")
"""A word for passwords that announces several."""
_MOST_LISTED = 20_000
_MOST_OTHERS = 2
"""So many values in a row that look like no passwords end a list."""
_STOP = re.compile(r"[.;!?。](?=\s|$)|\n(?![ \t]{0,8}(?:is|was|has been|to)\s)")
_WORD = re.compile(r"\w+")
_ASSIGNED = re.compile(
    r"(?i)(?:[:=：]|->|=>|→|\b(?:is|was|are|being|became|becomes|equals|to|ist|lautet|auf|est|devient|es|é|è|à|to|jest|är|er)"
    r"(?: (?:still|now|currently|just|again|really|noch|jetzt|ahora|toujours))?)"
    r"[ \t]{0,4}[\"'`*]{0,3}$"
)
_PAIR = re.compile(r"(?:^|[\s:=(])(?!https?:)[\w.@+-]{1,60}(?: ?/ |:)$")
_OF_ANOTHER = re.compile(
    r"(?i)(?:(?!\w{0,20}(?:value|wert)\b)\b[\w-]{1,40}(?:[\"']\s{0,4}[:=]|=)|(?:id|uuid|sha\d*|hash|commit|checkpoint|version|node)\W?:)"
    r"\s{0,4}[\"'`]{0,2}$"
)
"""What precedes a value that another name has."""
_AT = r"(?:\[?\d{1,2}:\d\d(?::\d\d)?\]?[ ]{1,2}(?=[\w.<-]{1,20}>?:[ ]))"
"""The time before a speaker's name, in the log of a conversation."""
_NEXT_LINE = re.compile(
    r"(?:[^\n]{0,40}?(?:(?P<asked>\?)|[:=] ?|<<-?\\?[\"']?\w{1,20}[\"']?|\"{3}|'{3}|[|>][+-]?|\\))?"
    r"[ \t]{0,4}\r?\n"
    r"(?:[ \t]{0,8}(?:```\w{0,12}|[=~-]{3,80})?\r?\n){0,2}[ \t>*:›❯│┃-]{0,24}"
    rf"{_AT}?"
    r"(?:(?:[Aa]nswer|A|[Uu]ser|[Hh]uman|[Rr]eply|[Rr]esponse|Me|You|[Aa]ssistant"
    r"|(?(asked)[A-Za-z][\w.-]{0,20}|A)|(?<=\d[\d\]][ ])[\w.-]{1,20}):[ ]{1,2}"
    r"(?:(?:it|that)(?:['’]?s| is)\s{1,6})?)?"
    r"[`\"']{0,3}"
    r"(?P<value>[^\s\"'`<>,;|&]{5,100})[`\"']{0,3}[ \t]{0,8}\\?(?=\r?\n|$)"
)
_BELOW = re.compile(
    r"(?: [A-Za-z'-]{1,16}){1,6}:?\r?\n(?:[ \t]{0,8}(?:```\w{0,12}|[=~-]{3,80})?\r?\n){0,2}"
    rf"[ \t]{{0,8}}(?:{_AT}[\w.<-]{{1,20}}>?:[ ])?"
    r"(?P<value>[^\s\"'`<>,;|&]{8,100})[ \t]{0,8}(?=\r?\n|$)"
)
"""A few words more, and the value alone on the next line."""
_NOT_CHOSEN = re.compile(
    r"(?i)\.[a-z]{1,5}(?::\d+)*$|^\d+[-.x/%+]?[a-z]{0,10}$|^#|^\W*\d+\W*$"
    r"|^v?\d+(?:\.\w+)+|^\W*[\d.,:–-]+[a-z%]{0,3}$|^(?:[a-z]+[-_])+\w{0,12}$|://|\\|\.\.|^-|^[a-z]+\d?/|^@"
)
_WORD_AND_NUMBER = re.compile(r"(?i)^[a-z]{1,12}[-_]?\d{0,2}$")
_NEVER = -99.0
_MARKED = re.compile(
    r"\d|[a-z][A-Z]|[A-Za-z][!#$%^*+~@][A-Za-z]|[a-z]{4}(?:-[a-z]{4,11}-|\.[a-z]{4,11}\.)[a-z]{4}"
)
"""Occurs in every value that is judged; searching for it is cheap."""
_BITS = 8.0
_STRONG_BITS = 6.0
_ASSIGNED_BITS = 10.0
_ADJACENT_BITS = 4.0
_MOST_BITS = _STRONG_BITS + _ASSIGNED_BITS
_WORD_BITS = 3.0
_FEW_WORDS = 2.0
_LONG_WORD = 8
_SHORTEST_HEX = 16
_CLASS_BITS = 3.0
_JOINED_BITS = -3.0
"""Bits of words in one, which names of products are as well."""


def find_mentions(text: str, position: int, listed: int = 0) -> list[tuple[int, int]]:
    """Return the ranges of the passwords that the keyword at `position` announces. Lists are not
    read again before `listed`."""
    keyword = _KEYWORD.match(text, position)
    if keyword is None or "\u017f" in keyword.group():  # as letters go, a long s is none here
        return []
    if _MARKED.search(text, keyword.end(), keyword.end() + REACH) is None:
        return []
    strong = _STRONG_BITS if keyword["strong"] else 0.0
    first_mention = _one_mention(text, keyword.end(), strong)
    mentions = [first_mention] if first_mention else []
    if first_mention and strong and first_mention[1] >= listed:
        several = _PLURAL.search(keyword.group()) is not None
        mentions += _list_after(text, first_mention[1], several=several)
    listed_bits = strong or _STRONG_BITS * (keyword.group().lower() == "secrets")
    return [*mentions, *_pairs(text, keyword.end(), listed_bits)]


def _is_joined_by_sign(value: str) -> bool:
    """Return True if `value` is words with a sign of passwords between them."""
    return not value.isalpha() and "-" not in value and "." not in value and values.is_joined(value)


def _one_mention(text: str, start: int, strong: float) -> tuple[int, int] | None:
    """Return the range of the password after a keyword that ends at `start`, or None."""
    if strong or text[start : start + 1] == ":":
        alone = _NEXT_LINE.match(text, start, start + REACH)
        if alone is not None and (
            _score(alone["value"]) + strong + _ASSIGNED_BITS >= _BITS
            or (strong and look_of(alone["value"]) >= Look.WORDS)
        ):
            return alone.span("value")
    if strong:
        below = _BELOW.match(text, start, start + REACH)
        if below is not None and (
            _score(below["value"]) + strong >= _BITS - _CLASS_BITS
            or look_of(below["value"]) >= Look.WORDS
        ):
            return below.span("value")
    stop = _STOP.search(text, start, start + REACH)
    end = stop.start() if stop else min(start + REACH, len(text))
    for candidate in _VALUE.finditer(text, start, end + (stop is not None and text[end] != "\n")):
        value = candidate.group().rstrip(".")
        if _MARKED.search(value) is None or (score := _score(value)) + _MOST_BITS < _BITS:
            continue
        link = _link(text[start : candidate.start()], bool(strong))
        if (
            not values.is_joined(value)
            and _WORD_AND_NUMBER.match(value)
            and not (strong and link >= _least_link(value))
        ):
            continue
        if score + strong + link >= _BITS:
            rest = _AFTER_SIGN.match(text, candidate.start() + len(value))
            return candidate.start(), rest.end() if rest else candidate.start() + len(value)
    return None


def _list_after(text: str, position: int, *, several: bool) -> Iterator[tuple[int, int]]:
    """Yield the further passwords of a list whose first one ends at `at`: the whole run at once,
    because what one pass leaves behind a tag is found by the next, and passes are few. Unless
    `several` are announced, a value must look like one by itself: `python3` is none."""
    least_score = _BITS - (_MOST_BITS if several else 0.0)
    other_entries = 0
    for _ in range(_MOST_LISTED):
        entry = _LISTED.match(text, position)
        if entry is None or other_entries > _MOST_OTHERS:
            return
        position = entry.end()
        if entry["tag"]:
            other_entries = 0
            continue
        value = entry["value"].rstrip(".")
        if _MARKED.search(value) and _score(value) >= least_score:
            other_entries = 0
            yield entry.start("value"), entry.start("value") + len(value)
        elif entry["blank"]:
            return
        else:
            other_entries += 1


def _least_link(value: str) -> float:
    """Return the bits that a sign of assignment must have before `value`, a word and a number: of a
    long one, a few words may stand between it and the word for passwords."""
    return _ASSIGNED_BITS - _FEW_WORDS * (len(value) >= _LONG_WORD)


def _pairs(text: str, start: int, strong: float) -> Iterator[tuple[int, int]]:
    """Yield the passwords of a list of users and passwords that begins after the keyword."""
    head = _LIST.match(text, start)
    if head is None:
        return
    at = head.end()
    for _ in range(_MOST_PAIRS):
        pair = _LISTED_PAIR.match(text, at)
        if pair is None:
            return
        if strong + _ASSIGNED_BITS >= _BITS - _score(pair["value"]) and (
            strong or not pair["sep"].isspace()
        ):
            yield pair.span("value")
        at = pair.end()


def _link(between: str, strong: bool) -> float:
    """Return the bits that what stands between keyword and value adds."""
    apart = len(_WORD.findall(between))
    if apart and _OF_ANOTHER.search(between[-60:]) is not None:
        return _NEVER
    if _PAIR.search(between) is not None and apart <= 4:
        return _ASSIGNED_BITS
    if _ASSIGNED.search(between) is not None:
        return _ASSIGNED_BITS - (apart - 1) * _WORD_BITS / 3
    if not strong:
        return _NEVER
    return -apart * _WORD_BITS if apart else _ADJACENT_BITS


def _score(value: str) -> float:
    """Return the bits for `value` itself; far below zero if it can be no password."""
    if values.is_hex(value):
        return 0.0 if len(value) >= _SHORTEST_HEX and not value.isdecimal() else _NEVER
    if values.is_joined(value):
        return 0.0 if _is_joined_by_sign(value) else _JOINED_BITS
    if (
        _NOT_CHOSEN.search(value)
        or OF_CODE.search(value)
        or not spoken_password(value)
        or not is_generated(value, _NEVER)
    ):
        return _NEVER
    classes = sum(any(map(kind, value)) for kind in (str.islower, str.isupper, str.isdigit))
    bits = evidence(value)
    if values.is_chosen(value):
        bits = max(bits, 0.0)
    return bits + _CLASS_BITS * (classes - 2 + (not value.isalnum()))
