"""Clues for and against a value being the password that a sentence mentions.

Each clue is a text such as `left=is`; how much each weighs was fitted to sentences of several
authors and to transcripts (`benchmarks/told_fit.py`) and stands in `weights.txt`: if all together
weigh `LEAST` or more, it is taken. Clues are of the word for passwords near it, of its place
(distance, what stands left and right, the line), of its look (`judging/password_look.py`), and of
the surroundings (code or prose, other values near). `candidates.py` and `hinted.py` say what is
weighed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from memory_assets.redaction.rules.judging.likelihood import evidence
from memory_assets.redaction.rules.judging.phrases import is_said
from memory_assets.word_lists import word_set, words

WEIGHTS = {
    clue: round(float(weight) * 100)
    for clue, _, weight in (
        line.partition("\t")
        for line in Path(__file__).with_name("weights.txt").read_text("utf-8").splitlines()
    )
}
"""The weight of each clue in hundredths; sums of whole numbers do not depend on their order."""
LEAST = 50
"""Least total weight of a password: the logarithm, 0.51, of odds of five to three."""
BASE = "base"
"""The clue that every value has."""
UNSPACED = r"\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_ATOM = re.compile(rf"↵|[{UNSPACED}]|[^\W_]+(?:['’\-.][^\W_]+)*|[^\w\s↵]+|_")
QUOTES = "\"'`“”«»„*‘’「」"
SENTENCE = re.compile(r"[.!?。](?=\s)")
CODE = re.compile(r"[{}()<>\[\];=|$\\]")
PLAIN_WORD = re.compile(r"(?<![^\s(])[^\W\d_]+(?=[\s.,;:!?)]|$)")
CUE = re.compile(
    r"(?i)pass|pwd?\b|kennw|contrase|senha|mdp|haslo|hasło|heslo|wachtw|密码|パスワード|пароль"
)
NEARER = re.compile(rf"(?<![A-Za-z])(?:{CUE.pattern[4:]})", re.IGNORECASE)
"""Such a word that is not the end of a name: `DBPW`."""
BELONGING = (
    r"[ ]\(?(?:for|of|to|on|in|at|from|für|von|vom|auf|im|de|del|della|do|da|du|para|pour|van"
    r"|voor)[ ](?![^\n]{0,160} where )"
)
"""How a phrase begins that says whose the password is."""
ITS = re.compile(
    BELONGING
    + r"(?P<this>(?:this|my|our|your|his|her|diesen?|mein(?:en)?|ce(?:tte)?|mon|ma|este|mi)[ ])?"
    r"(?:[^\W\d]+[ ]){0,3}[^\W\d]+\)?"
    r"(?P<sign>[ ]?[:=][ \"'`“„«*]*$|(?(this)[ ][\"'`“„«]$|$^))"
)
"""Such a phrase, and the sign behind it, or a quote behind `this ...`."""
CHANGES = re.compile(
    r"\b(?:set|chang|reset|rotat|updat|switch|mov|ge?setzt|änder|geänder|cambi|mud|impost|remis"
    r"|mis|modifi|default|equal|revert|went)\w*"
)
STATES = word_set(
    "broken insecure useless stale outdated obsolete gone weird strange ugly terrible horrible"
    " awful great annoying trivial obvious mandatory plaintext ciphertext nullable immutable"
    " unsafe safe visible vulnerable awkward stupid silly ridiculous crucial critical essential"
    " vital sensitive alphanumeric numeric personal private global identical similar equal"
    " different unclear uncertain irrelevant important dangerous harmless hashes hardcoded"
    " elsewhere nowhere there here untouched intact pending active inactive alive legacy fake"
    " dummy nonsense garbage rubbish history ungültig gültig unbekannt bekannt geheim sicher"
    " unsicher kaputt optional pflicht notwendig nötig verbunden getrennt vergessen eingeben"
    " wiederholen oublié olvidada dimenticata 这是必填项"
)
"""Words for what a password is, besides those of `judging/phrases.py`."""
LETTERS = re.compile(r"[^\W\d_]{3,}")
OF_OTHERS = words(
    "user users username account host server version versions id named line port file commit branch"
    " node section page room ticket issue table database db package install import hash type class"
    " method function email address url name role group project team instance cluster region zone"
    " bucket queue topic image model nick nickname handle alias tenant mandant role ssid domain"
    " flag frame case"
)
"""Words for what is no password and has a name or a number."""
_CLASSES = {
    word: name
    for name, listed in {
        "is": "is was are be been becomes became remains stays equals reads ist war bleibt lautet"
        " heißt heisst est es era è é jest je it's its that's c'est pw's password's 是 为 為 は 는"
        " 은 är er será sera",
        "gives": "wants takes expects needs requires answer answered typed enter entered use"
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
        "of": " ".join(OF_OTHERS) + " called env login benutzer nutzer usuario utilisateur utente"
        " usuário path field namespace column key script test module",
    }.items()
    for word in listed.split()
}
_GOES_ON_AFTER = word_set("is gives to as with")
"""Classes of what stands at the end of a line in the middle of a clause."""

END_OF_STRING = re.compile(r"[.!?]?(?P<end>)\\?\"[}\]]")
"""The end of a string in JSON, which is one of a text."""
_HEAD = re.compile(
    r"[\s>*•–#│┃|⏺⎿-]*(?:\d{1,2}[.)] )?(?:\[?\d{1,2}:\d\d(?::\d\d)?\]? )?"
    r"(?:<?[A-Za-z][\w.]{0,12}(?: ?\d{1,2}:\d\d)?>?(?::| {2,}))?[\s\"'`*]*"
)
"""What may stand before a value that is alone on its line: signs of lists, a time, a speaker."""
_USER = re.compile(
    r"(?i)(?:user(?:name| name)?|benutzer|usuario|login|account|als|as|name|utilisateur)\W{1,4}"
    r"[\"'`]?[\w.@-]{2,40}[\"'`]?\W{1,5}(?:and |und |then |with |mit |pass\w* |pw )?[\"'`]?$"
)
_PAIR = re.compile(r"(?:^|[\s(\"'`:])[\w.@+-]{2,40}[\"'`]? ?[/:,+|;]{1,2} ?[\"'`]?$")
"""A user, and a user before a dividing sign, before a value."""
_USERS = word_set("user username benutzer usuario login account als as name utilisateur")
_DIVIDING = frozenset("/:,+|;")


class Value(NamedTuple):
    """A value: its range, its form (`mark`, `number`, `word`, `phrase`), how much it looks like a
    password (`judging/password_look.py`), and form and look together."""

    start: int
    end: int
    form: str
    looks: int
    look: str


class Candidate(NamedTuple):
    """A value that may be a password, and its clues."""

    start: int
    end: int
    clues: Iterable[str]


class Cue:
    """A word of a `kind` for passwords or for logging in, from `start` to `end` in `text`."""

    def __init__(self, text: str, start: int, end: int, kind: str) -> None:
        """Note where it is."""
        self.text = text
        self.start = start
        self.end = end
        self.kind = kind

    @cached_property
    def word(self) -> str:
        """The word, in lower case."""
        return self.text[self.start : self.end].lower()

    @cached_property
    def atoms(self) -> list[str]:
        """The words of it, which say nothing more as words before a value."""
        return atoms_of(self.word)

    @cached_property
    def clues(self) -> list[str]:
        """The clues that all values around share: which word it is, and prose or code."""
        text, start, end = self.text, self.start, self.end
        line_start = max(text.rfind("\n", max(start - 200, 0), start) + 1, start - 200)
        line_end = text.find("\n", end, end + 200)
        line = text[line_start : line_end if line_end >= 0 else end + 200]
        signs = len(CODE.findall(line)) * 100 // max(len(line), 20)
        code = bisect_right((1, 3, 7), signs)
        plain = len(PLAIN_WORD.findall(line))
        prose = bisect_right((2, 5), plain)
        before = atoms_of(text[max(0, start - 30) : start])
        return [
            f"kind={self.kind}",
            f"word={self.word[:8]}",
            f"code={code},{prose}",
            f"cue-left={class_of(before[-1]) if before else '^'},{self.kind}",
        ]


def is_password(_text: str, value: Candidate) -> bool:
    """Return True if the odds that a value of a text is a password are at least five to three."""
    return score(value.clues) >= LEAST


def score(clues: Iterable[str]) -> int:
    """Return how much likelier a value with these clues is a password than not: the logarithm of
    the odds, in hundredths."""
    weight = WEIGHTS.get
    return sum([weight(clue, 0) for clue in clues])


class Left(NamedTuple):
    """What stands before a value: words and signs, without quotes and adverbs right before it;
    whether it is quoted; and all of its line, the last nine."""

    atoms: list[str]
    quoted: bool
    line: list[str]


def left_of(text: str, first: int) -> Left:
    """Return what stands before the value at `first`."""
    atoms = atoms_of(text[max(0, first - 60) : first])
    line = atoms[-9:]
    if "↵" in line:
        line = line[len(line) - line[::-1].index("↵") :]
    quoted = first > 0 and text[first - 1] in QUOTES
    while atoms and not atoms[-1].strip(QUOTES):
        atoms.pop()
    if atoms:
        atoms[-1] = atoms[-1].rstrip(QUOTES)
    if atoms[-1:] == ["↵"] and class_of("".join(atoms[-2:-1])) in _GOES_ON_AFTER:
        atoms.pop()
    while len(atoms) > 1 and _CLASSES.get(atoms[-1]) == "adverb":
        atoms.pop()
    return Left(atoms, quoted, line)


def place_of(text: str, cue: Cue, value: Value, before: Left) -> list[str]:
    """Return the clues of where a value stands; the first is the class of what is left of it."""
    start, end, form, _, look = value
    kind, word, left = cue.kind, cue.word[:8], before.atoms
    after = start >= cue.end
    gap = text[cue.end : start] if after else text[end : cue.start]
    classes = ["^", "^", *map(class_of, left[-2:])][-2:]
    if after and not gap.strip(" \t*\"'`“„«"):
        classes[1] = "cue"
    atoms = _right(text, end)
    right = [*map(class_of, atoms[:2]), "$", "$"][:2]
    side = "after" if after else "before"
    far = bucket(len(gap.split()))
    sentences = min(len(SENTENCE.findall(gap)), 2)
    lines = min(gap.count("\n"), 3)
    beside = classes[1]
    left_word = left[-1] if left else "^"
    right_word = atoms[0] if atoms else "$"
    return [
        f"left={beside}",
        f"{side}",
        f"{side},{far},{kind}",
        f"{side},sentences={sentences}",
        f"{side},comma={',' in gap}",
        f"left={beside},{kind},{form}",
        f"left={classes[0]},{beside},{form}",
        f"left={beside},look={look}",
        f"left={beside},{side},{far}",
        f"right={right[0]},{side}",
        f"right={right[0]},{right[1]},{form}",
        f"right={right[0]},left={beside},{form}",
        f"look={look},{kind}",
        f"look={look},{side},{far}",
        f"left-word={left_word},{side}",
        f"left-word={left_word},{form}",
        f"left-but-one={left[-2] if len(left) > 1 else '^'}",
        f"right-word={right_word},{form}",
        f"word={word},{form}",
        f"word={word},{side}",
        *_line(text, value, lines, before.line),
        *(f"between={atom},{side}" for atom in set(atoms_of(gap[:90])[:14])),
        *(f"before={atom}" for atom in set(before.line).difference(cue.atoms)),
        *(f"behind={atom}" for atom in set(atoms[:7])),
    ]


def _right(text: str, end: int) -> list[str]:
    """Return the words and signs behind a value, without quotes."""
    string_end = END_OF_STRING.match(text, end)
    atoms = atoms_of(text[end : end + 50 if string_end is None else string_end.start("end")])
    while atoms and not atoms[0].strip(QUOTES):
        atoms.pop(0)
    if atoms:
        atoms[0] = atoms[0].lstrip(QUOTES)
    return atoms


def _line(text: str, value: Value, lines: int, before: list[str]) -> list[str]:
    """Return the clues of the line that a value stands on: whether it is all of it, what the line
    above ends with, and whether a user stands before the value."""
    first, last, form, _, look = value
    begin = max(first - 70, 0)
    head = text[max(text.rfind("\n", begin, first) + 1, begin) : first]
    end = text.find("\n", last, last + 20)
    tail = text[last : end if end >= 0 else last + 20]
    ends = not tail.strip(" \t\r.!\"'`*),;")
    alone = ends and _HEAD.fullmatch(head) is not None
    above = text[max(first - len(head) - 20, 0) : first - len(head)].rstrip()[-1:] if alone else ""
    sign = above if above in ":?.," else "word"
    pair = head.rstrip(" \"'`")[-1:] in _DIVIDING and _PAIR.search(head) is not None
    user = not _USERS.isdisjoint(before) and _USER.search(head) is not None
    return [
        f"alone={alone},{form}",
        f"alone={alone},ends={ends},{form}",
        f"alone={alone},{lines},{sign},{form}",
        f"pair={pair},{look}",
        f"user={user},{form}",
    ]


def look_clues(text: str, value: Value, quoted: bool, left: str) -> list[str]:
    """Return the clues of how a value looks, and of that beside what is left of it."""
    look = value.look
    letters = text.isalpha()
    case = case_of(text)
    frequency = common(text) if letters else 3
    return [
        *look_alone(text, look),
        f"quoted={quoted},{look}",
        f"quoted={quoted},{left}",
        f"case={case},{left}",
        f"case={case},{frequency},{left}",
    ]


def case_of(value: str) -> str:
    """Return `l` for lower case, `u` for upper, `t` for a capital, and `m` for all else."""
    if value.islower():
        return "l"
    if value.isupper():
        return "u"
    return "t" if value.istitle() else "m"


@lru_cache(maxsize=512)  # a value stands in the surroundings of many words
def look_alone(value: str, look: str) -> tuple[str, ...]:
    """Return the clues of how a value looks by itself."""
    bits = evidence(value)
    drawn = bisect_right((-10, 0, 8, 20), bits) - 2
    pieces = LETTERS.findall(value)
    known_pieces = sum(map(is_said, pieces))
    known_share = 0  # 0 for none, 1 for some, 2 for all
    if known_pieces:
        known_share = 2 if known_pieces == len(pieces) else 1
    usual = min(map(common, pieces), default=3)
    signs = "".join(sign for sign in "-_./" if sign in value)
    return (
        f"look={look}",
        f"known={known_share},{look}",
        f"common={usual},{look}",
        f"drawn={drawn},{look}",
        f"long={min(len(value) // 3, 6)},{look}",
        f"signs={signs},{look}",
        f"case={case_of(value)},{look}",
    )


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    path = Path(__file__).parents[3] / "embedding" / "vocab.txt"
    return frozenset(path.read_text("utf-8").split())


def common(word: str) -> int:
    """Return whether a word is in the vocabulary of English, or nearly."""
    low = word.lower()
    if low in _vocabulary():
        return 2
    return int(any(low[:-cut] in _vocabulary() for cut in (1, 2, 3) if len(low) - cut > 3))


def atoms_of(text: str) -> list[str]:
    """Return the words and signs of `text` in lower case; `↵` ends a line."""
    return _ATOM.findall(text.lower().replace("\n", "↵"))


def class_of(atom: str) -> str:
    """Return what a word or sign is for the value beside it."""
    if not atom:
        return "quote"
    listed = _CLASSES.get(atom)
    if listed is not None:
        return listed
    if atom == "↵":
        return "line"
    if CUE.search(atom) is not None:
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


def bucket(count: int) -> int:
    """Return a count, roughly where it is large."""
    return count if count < 4 else 4 if count < 6 else 6 if count < 9 else 9 if count < 14 else 14
