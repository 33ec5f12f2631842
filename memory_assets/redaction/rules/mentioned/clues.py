"""What speaks for and against a value's being the password that a sentence tells.

A value is a token near a word for passwords or for logging in. Each clue is a text such as
`left=is`; how much each weighs was fitted to sentences of several authors and to transcripts
(`benchmarks/told_fit.py`) and stands in `weights.txt`: `score` above zero, it is one. Clues are of
place (distance, what stands left and right, sentences and lines between), of the value's look
(`judging/chosen.py`) and of the surroundings (code or prose, other values near).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memory_assets.redaction.rules.judging.chosen import UNUSUAL, shape
from memory_assets.redaction.rules.judging.likelihood import evidence
from memory_assets.redaction.rules.judging.phrases import is_said, look_of
from memory_assets.redaction.rules.wordlist import word_set

REACH = 160
BACK = 120
"""Characters after and before the word in which values are looked for."""
_LINES = 3
"""So many lines are looked at, the word's among them."""
_WEIGHTS = {
    clue: float(weight)
    for clue, _, weight in (
        line.partition("\t")
        for line in Path(__file__).with_name("weights.txt").read_text("utf-8").splitlines()
    )
}
BASE = "base"
"""The clue that every value has."""
UNSPACED = r"\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_RUN = re.compile(rf"[^\s\"'`<>{{}}\[\]|:“”«»„「」→–—{UNSPACED}]{{4,}}")
_WORDS = re.compile(r"[^\W\d_]{1,60}(?!\w)")
_MARK = re.compile(r"\d|[^\W_][^\w\s][^\W_]|_|[a-z][A-Z]|[^\W\d_]{3}[!#$]")
_ATOM = re.compile(rf"↵|[{UNSPACED}]|[^\W_]+(?:['’\-.][^\W_]+)*|[^\w\s↵]+|_")
_QUOTES = "\"'`“”«»„*‘’「」"
_SENTENCE = re.compile(r"[.!?。](?=\s)")
_CODE = re.compile(r"[{}()<>\[\];=|$\\]")
_PLAIN_WORD = re.compile(r"(?<![^\s(])[^\W\d_]+(?=[\s.,;:!?)]|$)")
_CUE = re.compile(
    r"(?i)pass|pwd?\b|kennw|contrase|senha|mdp|haslo|hasło|heslo|wachtw|密码|パスワード|пароль"
)
_NEARER = re.compile(rf"(?<![A-Za-z])(?:{_CUE.pattern[4:]})", re.IGNORECASE)
"""Such a word that is not the end of a name: `DBPW`."""
BELONGING = (
    r"[ ]\(?(?:for|of|to|on|in|at|from|für|von|vom|auf|im|de|del|della|do|da|du|para|pour|van"
    r"|voor)[ ](?![^\n]{0,160} where )"
)
"""How a phrase begins that says whose the password is."""
_ITS = re.compile(
    BELONGING
    + r"(?P<this>(?:this|my|our|your|his|her|diesen?|mein(?:en)?|ce(?:tte)?|mon|ma|este|mi)[ ])?"
    r"(?:[^\W\d]+[ ]){0,3}[^\W\d]+\)?"
    r"(?P<sign>[ ]?[:=][ \"'`“„«*]*$|(?(this)[ ][\"'`“„«]$|$^))"
)
"""Such a phrase, and the sign behind it, or a quote behind `this ...`."""
CHANGES = re.compile(
    r"\b(?:set|chang|reset|rotat|updat|switch|mov|ge?setzt|änder|geänder|cambi|mud|impost|remis"
    r"|mis|chang|modifi)\w*"
)
STATES = word_set(
    "broken insecure useless stale outdated obsolete gone weird strange ugly terrible horrible"
    " awful great annoying trivial obvious mandatory plaintext ciphertext nullable immutable"
    " unsafe safe visible vulnerable awkward stupid silly ridiculous crucial critical essential"
    " vital sensitive alphanumeric numeric personal private global identical similar equal"
    " different unclear uncertain irrelevant important dangerous harmless hashes hardcoded"
    " elsewhere nowhere there here untouched intact pending active inactive alive legacy fake"
    " dummy nonsense garbage rubbish history ungültig gültig unbekannt bekannt geheim sicher"
    " unsicher kaputt optional pflicht notwendig nötig"
)
"""Words for what a password is, besides those of `judging/phrases.py`."""
_GIVING = word_set("is gives to as . ( : = quote")
"""Classes of what stands before a value that is a mere word."""
_BEGINNING = frozenset(("^", ".", "line"))
_NEW_SENTENCE = re.compile(r"\s{1,4}[A-Z\d]")
"""What stands before and behind an exclamation."""
_CODE_NAME = re.compile(r"(?=\w*[a-z][A-Z_])[A-Za-z]+(?:_[A-Za-z]+)*")
_GIVING_NAMES = word_set("with cue adverb line / -")
_PAIRED = re.compile(
    r"(?:\b(?:with|as|is|mit|avec|con|com) \w{1,30} (?:and|und|et|y|e)"
    rf"|{CHANGES.pattern}[^\n]{{0,60}} from) [\"'`]?$"
)
"""What stands before the second of a login, or before a password that was changed."""
_IS_ONE = re.compile(
    r"[\"'`*”»]*(?:,[ ](?:my|our|that's)\b|[ ](?:should|must|is|was|as|works|ist|war|als|est"
    r"|comme|es|como|è|come|for)(?![a-z]))"
)
"""What stands before a name in code, or behind it, where it is a password."""
_ENDS = re.compile(r"[.!]?[ \t\r]{0,4}(?:\n|$)")
_IN_CODE = re.compile(r"\w\.\(?$|\.\($")
_PROGRAM = re.compile(r"[ ](?:apps?|accounts?|designs?|pages?|projects?|tenants?|only)\b")
_NUMBERED = re.compile(r"[A-Za-z]+\d{1,5}(?:\.\d+)?|[A-Z][a-z]+\d[A-Z][a-z]+|[A-Z]+_[A-Z_]*\d?")
_OF_PROGRAM = re.compile(
    r"(?<!put )(?<!type )(?<!typed )(?<!fill )(?<!entered )\b(?:in|on|(?<!protected )by|uses|has"
    r"|error|sign in to)[ ]$"
)
"""What stands before or behind the name of a program with a number, or the code of an error."""
_END_OF_STRING = re.compile(r"[.!?]?(?P<end>)\\?\"[}\]]")
"""The end of a string in JSON, which is one of a text."""
_GLUED = re.compile(rf"(?![{UNSPACED}])[^\W_]")
_OPEN_QUOTES = "\"'`*"
"""Quotes behind which a word may go on; others end what is quoted."""
_GOES_ON = re.compile(r"[ ]\w")
_HUMP = re.compile(r"[a-z][A-Z]")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_CLASSES = {
    word: name
    for name, listed in {
        "is": "is was are be been becomes became remains stays equals reads ist war bleibt lautet"
        " heißt heisst est es era è é jest je it's its that's c'est pw's password's 是 为 為 は 는"
        " 은 är er was: será sera",
        "gives": "wants takes expects needs requires answer answered type typed enter entered use"
        " used using try tried took chose picked say supply provide paste put set give gives gave"
        " accepts accepted chosen want take expect need require entering typing pasted nimm nimmst"
        " gib nutze verwende probier benutze usa utiliza usar utilise mets mis tape prova"
        " inserisci metti gebruik użyj 用",
        "with": "with mit avec con com met z med by via",
        "to": "to auf a à zu into en em in na naar till 成 を",
        "as": "as als como comme come jako som 作 として",
        "adverb": "now still again currently just also always actually simply probably only really"
        " something like jetzt noch momentan derzeit immer wieder ahora ora invece toujours"
        " maintenant changed reset einfach agora nun then mal",
        "at": "on at for from of für von vom im de del della di do da du su sul para pour sur dans"
        " der op voor dla w för about than since until after before",
        "the": "the an my our your his her their das die den dem ein eine mein dein unser le la les"
        " un une mon ma ton el los una mi tu il lo mio o os um uma meu seu het een mijn this that"
        " these",
        "and": "and or und oder y et ou e but aber pero mais",
        "no": "not no never nicht kein nie ne pas non não niet without ohne sin sans",
        "of": "user users username account host server version versions id named called line port"
        " file commit branch node section page room ticket issue table database db package install"
        " import hash type class method function email address url name role group project team env"
        " instance cluster region zone bucket queue topic image model login benutzer nutzer usuario"
        " utilisateur utente usuário path field namespace column key script test module",
    }.items()
    for word in listed.split()
}
_GOES_ON_AFTER = word_set("is gives to as with")
"""Classes of what stands at the end of a line in the middle of a clause."""

_BEFORE_WORDS = frozenset(
    word for word, name in _CLASSES.items() if name in ("is", "gives", "to", "as", "adverb")
)
_NO_WORDS: frozenset[str] = frozenset()
_GIVING_SIGNS = frozenset(":=→?.(是为は는은")
_SHORTEST_WORD, _LONGEST = 5, 60


class Candidate(NamedTuple):
    """A value near a word for passwords, and its clues."""

    start: int
    end: int
    clues: list[str]


def score(clues: list[str]) -> float:
    """Return how much likelier a value with these clues is a password than not: the logarithm of
    the odds."""
    return sum(_WEIGHTS.get(clue, 0.0) for clue in clues)


def candidates(text: str, position: int, start: int, kind: str) -> Iterator[Candidate]:
    """Yield the values around the word of a `kind` that stands from `position` to `start`."""
    begin = max(text.rfind("\n", max(position - BACK, 0), position) + 1, position - BACK)
    end = min(start + REACH, len(text))
    line_end = start - 1
    for _ in range(_LINES):
        line_end = text.find("\n", line_end + 1, end)
        if line_end < 0:
            break
    end = line_end if line_end >= 0 else end
    tokens, shapes = [], []
    for first, last in _tokens(text, begin, position, start, end, words=kind == "strong"):
        value = text[first:last]
        looks = shape(value)
        if looks and (first >= start or text[last:position].strip()):
            tokens.append((first, last))
            shapes.append(looks)
    if not tokens:
        return
    about = _about(text, position, start, kind)
    word = text[position:start]
    for (first, last), looks in zip(tokens, shapes, strict=True):
        gap = text[start:first] if first >= start else text[last:position]
        if word in gap or _NEARER.search(gap) is not None:
            continue  # that is nearer, and asks about the value, too
        value = text[first:last]
        left, quoted = _left(text, first)
        its = _ITS.match(text, start, first)
        if its is not None:
            left = [text[position:start].lower(), *_atoms(its["sign"].strip(" " + _QUOTES))]
        beside = _class(left[-1]) if left else "^"
        gives = beside in _GIVING or _at_once(text, start, first)
        if beside == "to":
            changes = CHANGES.search(text, max(position - 60, 0), first)
            gives = changes is not None or text.startswith(("has", "Has"), position)
        elif beside in ("and", "at"):
            gives |= _PAIRED.search(text, max(position - 60, 0), first) is not None
        if value.isalpha() and not _HUMP.search(value):
            given = kind == "strong" and first >= start and (quoted or beside in _GIVING)
            if not (given and (gives or quoted)) or _CUE.search(value) or value.lower() in STATES:
                continue
        elif _is_named(text, position, (first, last), beside, gives=gives) or (
            beside == "line" and _GOES_ON.match(text, last)
        ):
            continue
        between = sum(
            other >= UNUSUAL
            for (at, stop), other in zip(tokens, shapes, strict=True)
            if (start <= at < first if first >= start else last <= at and stop <= position)
        )
        near = [
            f"others={min(between, 3)}",
            f"best={looks == max(shapes)},{looks}",
            f"like={min(sum(other >= UNUSUAL for other in shapes), 4)},{looks}",
        ]
        place = _place(text, (position, start), (first, last), kind, looks, left)
        look = _look(value, looks, quoted, place[0])
        yield Candidate(first, last, [BASE, *about, *place, *look, *near])


def _tokens(
    text: str, begin: int, position: int, start: int, end: int, *, words: bool
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of what may be a password: tokens that are more than a word, and words where
    something gives them."""
    for run in _RUN.finditer(text, begin, min(end + _LONGEST, len(text))):
        at = run.start()
        if at < start < run.end() and text[start] == "=":
            at = start + 1
        value = text[at : run.end()]
        if len(value) > _LONGEST or (value.isalpha() and not _HUMP.search(value)):
            continue
        first = at + len(value) - len(value.lstrip("(,*‘"))
        value = text[first : run.end()].removesuffix("**")
        value = value.rstrip(".,;:?*" if value[-1:] in "!;" else ".,;:?*)")
        if "(" not in value:
            value = value.rstrip(")")
        last = first + len(value)
        if first > end or (first < start and last > position):
            continue
        inner = text[last : last + 1] in _OPEN_QUOTES and _GLUED.match(text, last + 1)
        if _MARK.search(value) and not inner and not text.endswith("redacted:", 0, first):
            yield first, last
    at = before = start
    for word in _WORDS.finditer(text, start, end) if words else ():
        first, last = word.span()
        between = text[before:first]
        if last - first >= _SHORTEST_WORD and text[last : last + 1] not in ("(", "[", "-"):
            said = between.strip(" \n" + _QUOTES)
            known = _BEFORE_WORDS if said in ("", ":") else _NO_WORDS
            quoted = between[-1:] in _QUOTES and between != ""
            if said[-1:] in _GIVING_SIGNS or quoted or text[at:before].lower() in known:
                yield first, last
        at, before = first, last


def _at_once(text: str, start: int, first: int) -> bool:
    """Return True if nothing stands between the word and a value, or an adverb or a sign or word
    that is not ASCII right before it."""
    said = text[start:first].rstrip(" ,;" + _QUOTES)
    return first >= start and (
        not said or not said[-1].isascii() or _CLASSES.get(said.rpartition(" ")[2]) == "adverb"
    )


def _is_named(
    text: str, position: int, value: tuple[int, int], beside: str, *, gives: bool
) -> bool:
    """Return True if a value looks like an exclamation, or like a name in code or of a program, and
    stands where no password is given."""
    first, last = value
    token = text[first:last]
    before = first < position
    if token.endswith("!") and token[:-1].isalpha():
        return before and beside in _BEGINNING and _NEW_SENTENCE.match(text, last) is not None
    if _CODE_NAME.fullmatch(token) is not None:
        if before:
            gives = _IS_ONE.match(text, last) is not None or (gives and beside != "(")
        last_one = beside == "," and _ENDS.match(text, last) is not None
        named = not (gives or last_one or beside in _GIVING_NAMES)
        return named or _IN_CODE.search(text, max(first - 20, 0), first) is not None
    return _NUMBERED.fullmatch(token) is not None and (
        _OF_PROGRAM.search(text, max(first - 24, 0), first) is not None
        or _PROGRAM.match(text, last) is not None
    )


def _about(text: str, position: int, start: int, kind: str) -> list[str]:
    """Return the clues that all values around a word share: what it is, and prose or code."""
    line_start = max(text.rfind("\n", max(position - 200, 0), position) + 1, position - 200)
    line_end = text.find("\n", start, start + 200)
    line = text[line_start : line_end if line_end >= 0 else start + 200]
    signs = len(_CODE.findall(line)) * 100 // max(len(line), 20)
    code = 0 if not signs else 1 if signs < 3 else 2 if signs < 7 else 3
    plain = len(_PLAIN_WORD.findall(line))
    prose = 0 if plain < 2 else 1 if plain < 5 else 2
    before = _atoms(text[max(0, position - 30) : position])
    word = text[position:start].lower()
    return [
        f"kind={kind}",
        f"word={word[:6]}",
        f"code={code},{prose}",
        f"code={code},{kind}",
        f"word={word[:6]},{code}",
        f"cue-left={_class(before[-1]) if before else '^'},{kind}",
    ]


def _left(text: str, first: int) -> tuple[list[str], bool]:
    """Return the words and signs before a value, without quotes and adverbs, and whether it is
    quoted."""
    atoms = _atoms(text[max(0, first - 60) : first])
    quoted = first > 0 and text[first - 1] in _QUOTES
    while atoms and not atoms[-1].strip(_QUOTES):
        atoms.pop()
    if atoms:
        atoms[-1] = atoms[-1].rstrip(_QUOTES)
    if atoms[-1:] == ["↵"] and _class("".join(atoms[-2:-1])) in _GOES_ON_AFTER:
        atoms.pop()
    while len(atoms) > 1 and _CLASSES.get(atoms[-1]) == "adverb":
        atoms.pop()
    return atoms, quoted


def _place(
    text: str,
    cue: tuple[int, int],
    value: tuple[int, int],
    kind: str,
    looks: int,
    left: list[str],
) -> list[str]:
    """Return the clues of where a value stands; the first is the class of what is left of it."""
    after = value[0] >= cue[1]
    gap = text[cue[1] : value[0]] if after else text[value[1] : cue[0]]
    classes = ["^", "^", *map(_class, left[-2:])][-2:]
    if after and not gap.strip(" \t*\"'`“„«"):
        classes[1] = "cue"
    ends = _END_OF_STRING.match(text, value[1])
    atoms = _atoms(text[value[1] : value[1] + 50 if ends is None else ends.start("end")])
    while atoms and not atoms[0].strip(_QUOTES):
        atoms.pop(0)
    if atoms:
        atoms[0] = atoms[0].lstrip(_QUOTES)
    right = [*map(_class, atoms[:2]), "$", "$"][:2]
    side = "after" if after else "before"
    far = _bucket(len(gap.split()))
    sentences, lines = min(len(_SENTENCE.findall(gap)), 2), min(gap.count("\n"), 3)
    beside = classes[1]
    return [
        f"left={beside}",
        f"{side}",
        f"{side},{kind}",
        f"{side},{far}",
        f"{side},{far},{kind}",
        f"{side},sentences={sentences}",
        f"{side},lines={lines}",
        f"sentences={sentences},lines={lines},{kind}",
        f"{side},comma={',' in gap}",
        f"left={beside},{side}",
        f"left={beside},{kind}",
        f"left={classes[0]},{beside}",
        f"left={beside},look={looks}",
        f"left={beside},{side},{far}",
        f"right={right[0]},{side}",
        f"right={right[0]},{right[1]},{side}",
        f"right={right[0]},left={beside}",
        f"look={looks},{kind}",
        f"look={looks},{side},{far}",
        f"left-word={left[-1] if left else '^'},{side}",
        f"left-word={left[-1] if left else '^'}",
        f"left-but-one={left[-2] if len(left) > 1 else '^'}",
        f"right-word={atoms[0] if atoms else '$'}",
        *(f"between={atom},{side}" for atom in sorted(set(_atoms(gap)[:14]))),
    ]


def _look(value: str, looks: int, quoted: bool, left: str) -> list[str]:
    """Return the clues of how a value looks, and of that beside what is left of it."""
    common = [f"common={_common(value)},{left}"] if value.isalpha() else []
    return [
        *_look_alone(value, looks),
        f"quoted={quoted},{looks}",
        f"quoted={quoted},{left}",
        f"capital={value[0].isupper()},{left}",
        *common,
    ]


@lru_cache(maxsize=512)  # a value stands in the surroundings of many words
def _look_alone(value: str, looks: int) -> tuple[str, ...]:
    bits = evidence(value)
    drawn = -2 if bits < -10 else -1 if bits < 0 else 0 if bits < 8 else 1 if bits < 20 else 2
    pieces = _LETTERS.findall(value)
    said = sum(map(is_said, pieces))
    known = 0 if not said else 2 if said == len(pieces) else 1
    signs = "".join(sign for sign in "-_./" if sign in value)
    digit = any(map(str.isdigit, value))
    long = min(len(value) // 3, 6)
    return (
        f"look={looks}",
        f"look={looks},{int(look_of(value))}",
        f"known={known},{looks}",
        f"drawn={drawn},{looks}",
        f"long={long},{looks}",
        f"signs={signs}",
        f"signs={signs},{looks}",
        f"digit={digit},lower={value.islower()},upper={value.isupper()}",
        f"mere={value.isalpha()},{value.isdecimal()}",
        *([f"common={_common(value)}"] if value.isalpha() else []),
    )


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    path = Path(__file__).parents[3] / "embedding" / "vocab.txt"
    return frozenset(path.read_text("utf-8").split())


def _common(word: str) -> int:
    """Return whether a word is in the vocabulary of English, or nearly."""
    low = word.lower()
    if low in _vocabulary():
        return 2
    return int(any(low[:-cut] in _vocabulary() for cut in (1, 2, 3) if len(low) - cut > 3))


def _atoms(text: str) -> list[str]:
    """Return the words and signs of `text` in lower case; `↵` ends a line."""
    return _ATOM.findall(text.lower().replace("\n", "↵"))


def _class(atom: str) -> str:
    """Return what a word or sign is for the value beside it."""
    if not atom:
        return "quote"
    listed = _CLASSES.get(atom)
    if listed is not None:
        return listed
    if atom == "↵":
        return "line"
    if _CUE.search(atom) is not None:
        return "cue"
    if not atom[0].isalnum():
        for sign in ":：=>→,、，;([)].!?。-–—/":
            if sign in atom:
                return _SIGNS.get(sign, sign)
        return "sign"
    if any(map(str.isdigit, atom)):
        return "number"
    return "word" if atom.isascii() or atom.islower() else "other"


_SIGNS = {"：": ":", ">": "=", "→": "=", "、": ",", "，": ",", ";": ",", "[": "(", "]": ")"}
_SIGNS |= {"!": ".", "?": ".", "。": ".", "–": "-", "—": "-"}


def _bucket(count: int) -> int:
    return count if count < 4 else 4 if count < 6 else 6 if count < 9 else 9 if count < 14 else 14
