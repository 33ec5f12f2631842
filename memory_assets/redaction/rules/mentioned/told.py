"""Passwords that sentences tell: a word for passwords or for logging in and, in its sentence, in
the one after it or before the word, a value that looks chosen or stands where a value is given.

How much a value must look like a password depends on how it is given: less behind a verb or a sign
(`it is now X`, `lets me in with X`), more beside the word (`temp password X`), most anywhere else.

For the engine: `find_told` is asked at every match of `passwords.KEYWORDS` and `KEYWORDS` and looks
at `REACH` characters after it and `BEFORE` before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.names import NameKind, name_kind
from memory_assets.redaction.rules.judging.phrases import (
    Look,
    is_one_word,
    look_of,
    phrase_length,
)
from memory_assets.redaction.rules.wordlist import word_set

REACH = 200
BEFORE = 100
KEYWORDS = tuple(
    word.encode()
    for word in (
        "pass phrase", "unlock phrase", "unlock code", "code secret", "logged in", "log in",
        "sign in", "signed in", "get in", "me in", "you in", "sudo", "wifi", "wi-fi",
        "root account", "one secret", "the secret", "secret word", "three words", "four words",
        "five words", "six words", "the pass ", "encrypted", "protected", "unlock",
    )
)  # fmt: skip
"""Lower-case words, besides those of `passwords.py`, after which a password is told."""
_STRONG = re.compile(
    r"(?i)(?:pas+[wcp]|(?:the )?pass(?=[ ])|kennwort|contrase|wachtwoord|senha|mots? de passe"
    r"|mdp|has.o|heslo|l.senord|pwd?\b|unlock (?:code|phrase)|code secret|secret word"
    r"|(?:one|the) secret|(?:three|four|five|six) words)[^\W_]*(?![\w(\[/%-]|\.\w|::)"
)
"""Words for passwords. Others say that somebody logs in."""
_WEAK = re.compile(
    f"(?i)(?:{'|'.join(word.decode() for word in KEYWORDS)}|log-?ins?|credentials|creds|clave"
    r"|parola)(?![a-z])"
)
_LETS_IN = re.compile(r"(?i)(?:me|you|get) in|root account|wi-?fi|clave|parola")
"""Words for passwords behind which stands a secret alone; behind others a user or a program may."""
_NEXT = re.compile(r"[ ]([a-z]{4,})(?=:|[ ](?:is|are|was|uses?)\b)")
_ABOUT = word_set("rule rules backend driver strategy engine protocol requirements scheme library")
"""Words behind one for passwords, besides those that end names, which make it that of a thing."""
_GIVING = word_set("change changed reset code line lines entry down")
_ADVERBS = (
    r"(?:[ ](?:now|still|again|currently|just|always|only|the words?|with|set to|changed to"
    r"|simply|probably|literally|maybe|either|jetzt|noch|übrigens|wieder|nun|ahora|maintenant"
    r"|toujours|agora)){0,2}"
)
_GIVING_SOURCE = (
    r"(?:[ \n](?:is|was|are|be|becomes?|became|lautet|ist|war|hei(?:ß|ss)t|est|(?-i:es)|è|é|reads"
    r"|wants?|takes?|expects?|answer(?:s|ed)?|type|enter|say|says|give it|use|used|uses|try|tried"
    r"|with|mit"
    r"|avec|con|com|to|auf|an|c['’]est|it['’]s|that['’]s|i think|i\.e\.,?|namely|words)(?!\w)"
    rf"{_ADVERBS}:?|[:=?—–]|->|→|=>)[ \t]*(?:\r?\n[ \t>]*)?[\"'`“«„「(*]{{0,3}}"
)
"""What gives the value right behind it."""
_GIVES = re.compile(f"(?i){_GIVING_SOURCE}$")
_GIVEN = re.compile(f"(?i){_GIVING_SOURCE}")
_MARKED = re.compile(r"\d|[a-z][A-Z]|[^\W_][-_.!#$%^*+~&?@]\w")
"""Occurs in every value that is judged; searching for it is cheap."""
_BESIDE = re.compile(r"(?i)[ ]*(?:\r?\n)?[ \t]*[\"'`“«„「(*,]{0,3}[ ]?[\"'`“«„]?")
"""What stands between a word for passwords and a value beside it."""
_GIVEN_AS = re.compile(
    r"(?i)[\"'`”»“)*]{0,3},?[ ](?:[—–-]{1,2}[ ]?)?(?:as|for|at|when|is|was|i mean|being|ist|als"
    r"|war|es|est|comme"
    r"|de|como|da|para|pour|into)\b[^\n.;:]{0,40}$"
)
"""What stands between a value and the word for passwords that says what it was."""
_TOKEN = re.compile(
    r"(?<![^\s\"'`“«„「(*:=→—–，。、：])(?P<value>(?!\*)[^\s\"'`<>(){}\[\]|“”«»„「」、。，：=:;]{5,60}+)"
    r"(?![(\[{=]|[\"'`<]\w|[ ](?:credentials?|accounts?|auth\w*)\b)"
)
_WORDS = re.compile(r"[^\W\d_]{2,14}\d{0,4}(?: [^\W\d_]{2,14}\d{0,4}){1,8}")
_TWO_WORDS = re.compile(r"[^\W\d_]{2}[\"'`“«(]?[ \n][\"'`“«(]?[^\W\d_]{3}")
"""Occurs where words are given; searching for it is cheap."""
_QUOTES = "\"'`“«„「("
_ENDS = re.compile(r"\n[ \t]*\n|[{}<>\[\]|]|=(?=\S)")
"""What ends the sentences that a word for passwords may tell about."""
_NEXT_SENTENCE = re.compile(
    r"(?i)[.!?;](?=\s)(?!\s+(?:it|that|this|the new one|here|now|both|on)\b)"
)
_SENTENCE = re.compile(rf"{_NEXT_SENTENCE.pattern}|\n")
_OF_OTHERS = re.compile(
    r"(?i)(?<![a-z])(?:users?|username|account|host|server|versions?|id|named|called|of|line|port|file"
    r"|via|see|than|since|until|commit|branch|node|section|page|room|ticket|issue|table|database|db"
    r"|package|install|import|ids?:?|hash|type|class|method|function|email|address|url|name|role|group"
    r"|project|benutzer|nutzer|usuario|utilisateur|identifiant)"
    r"(?:[ ](?:is|was|to|with|:|=)){0,2}[ :=]{1,3}[\"'`(]?$"
)
_IN_OTHERS = re.compile(r"(?i)\b(?:for|on|at|in|from|by|of|via|as|like|auf|für|sur|pour) [\"'`]?$")
_CHANGED_FROM = re.compile(r"(?i)(?:pass\w*|pin|pw|changed|rotated|it|[a-z]+) from [\"'`]?$")
_NOUN_GIVEN = re.compile(
    rf"(?i)(?<!\w)(?:is|was|ist|war|lautet|hei(?:ß|ss)t|est|es|è|é){_ADVERBS} [\"'`“«]?$"
)
_NOUN = re.compile(r"[A-ZÄÖÜ][^\W\dA-Z_]{5,20}(?=[.,;!]?(?:\s*$|\n| (?:and|und|et|y)\b)|[.,;!][ ])")
"""A word with a capital, alone behind a verb: a name, as people take for passwords."""
_DRAWN_BITS = 15
_FEW_BLANKS = 3
_INSIDE_NAMES = frozenset("_.-/$@#:&,")


def find_told(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the passwords that the sentences around a word at `position` tell."""
    before = text[max(position - 1, 0) : position]
    if before in _INSIDE_NAMES or (
        before.isalnum() and before.isascii() and not text[position - 1 : position + 4].isupper()
    ):
        return
    word = _STRONG.match(text, position)
    cue = word or _WEAK.match(text, position)
    if cue is None or (word is not None and _is_of_thing(text, cue.end())):
        return
    lets_in = word is not None or _LETS_IN.match(text, position) is not None
    start = cue.end()
    limit = min(start + REACH, len(text))
    stop = _ENDS.search(text, start, limit)
    end = stop.start() if stop else limit
    if word is not None:
        yield from _phrases(text, start, end, word)
    sentence = _SENTENCE.search(text, start, end)
    near = sentence.start() if sentence else end
    follows = _NEXT_SENTENCE.search(text, near + 1, end) if sentence else None
    for token in _TOKEN.finditer(text, start, follows.start() if follows else end):
        at = token.start("value")
        value = token["value"].rstrip(".,;:!?*")
        if _MARKED.search(value) is None:
            continue
        needed = _needed(text, start, at, word is not None, lets_in, at < near)
        if needed is not None and look_of(value) >= needed:
            yield at, at + len(value)
    if word is not None:
        yield from _before(text, position)


def _needed(text: str, start: int, at: int, strong: bool, lets_in: bool, near: bool) -> Look | None:
    """Return how the value at `at`, behind a word for passwords that ends at `start`, must look;
    None if it belongs to something else."""
    between = text[max(at - 48, start) : at]
    if _OF_OTHERS.search(text[max(at - 40, 0) : at]) is not None:
        return None
    if _GIVES.search(between) is not None:
        if strong:
            return Look.WORDS
        if text[at - 1] in ":=":
            return None
        return Look.MIXTURE if lets_in else Look.CHOSEN
    if _CHANGED_FROM.search(between) is not None and strong:
        return Look.MIXTURE
    if _IN_OTHERS.search(between) is not None:
        return None
    if not strong:
        return None
    beside = _BESIDE.fullmatch(text, start, at) is not None
    if beside or text[at - 1] in _QUOTES:
        return (
            Look.WORDS
            if beside and text[at].isupper() and text[at - 1] in _QUOTES
            else Look.MIXTURE
        )
    return Look.CHOSEN if near else None


def _before(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the values before a word for passwords in its sentence."""
    first = max(position - BEFORE, 0)
    for stop in _SENTENCE.finditer(text, first, position):
        first = stop.end()
    for token in _TOKEN.finditer(text, first, position):
        at = token.start("value")
        value = token["value"].rstrip(".,;:!?*")
        end = at + len(value)
        if _MARKED.search(value) is None or text[end:position].isspace():
            continue  # `the app01 password`
        before = text[max(at - 40, 0) : at]
        if _OF_OTHERS.search(before) is not None or _IN_OTHERS.search(before) is not None:
            continue
        given = _GIVEN_AS.match(text, end, position)
        needed = Look.CHOSEN
        if given is None and ("  " in text[end:position] or is_generated(value, _DRAWN_BITS)):
            continue  # another cell, or an id
        if given is not None:
            needed = Look.WORDS if given.group().count(" ") < _FEW_BLANKS else Look.MIXTURE
        if look_of(value) >= needed:
            yield at, end


def _phrases(text: str, start: int, end: int, word: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the passphrases of several words, and the sole words, that a verb or a sign gives."""
    if _TWO_WORDS.search(text, start, end) is None:
        return
    for gives in _GIVEN.finditer(text, start, end):
        at = gives.end()
        if text[at - 1].isalnum() or _OF_OTHERS.search(text[max(at - 40, 0) : at]) is not None:
            continue
        words = _WORDS.match(text, at, min(at + 120, len(text)))
        length = phrase_length(words.group(), 3 if text[at - 1] in _QUOTES else 4) if words else 0
        if not length and word[0][-6:].lower() != "secret":
            noun = _NOUN.match(text, at)
            given = noun and _NOUN_GIVEN.search(text, max(at - 40, start), at)
            length = len(noun.group()) if noun and given and is_one_word(noun.group()) else 0
        if length:
            yield at, at + length


def _is_of_thing(text: str, start: int) -> bool:
    """Return True if the word for passwords before `start` is part of a name for something else:
    `password policy`."""
    following = _NEXT.match(text, start)
    return following is not None and (
        following[1] in _ABOUT
        or (following[1] not in _GIVING and name_kind(f"password_{following[1]}") is NameKind.PLAIN)
    )
