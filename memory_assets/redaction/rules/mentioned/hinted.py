"""Values that look like passwords near words that only hint at one: `then Strudel88 when it asks`,
`root there is Kessel-9`.

For the engine: `candidate` is asked at every match of `TRIGGERS`, which is inside the value or at
its end; it looks at `BACK` characters before the value and `REACH` after it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memory_assets.redaction.rules.judging.named_values import OF_PROGRAMS
from memory_assets.redaction.rules.judging.password_look import UNUSUAL, shape
from memory_assets.redaction.rules.judging.phrases import is_function, is_said, is_technical
from memory_assets.redaction.rules.mentioned import candidates
from memory_assets.redaction.rules.mentioned.clues import (
    CODE,
    STATES,
    Candidate,
    Cue,
    Value,
    class_of,
    common,
    left_of,
    look_clues,
    place_of,
)

_ENDS = rb"(?:[ \t\r\n\"'`),;:*\]]|\.?\z|\.[ \r\n])"
TRIGGERS = (
    rb"(?:^|[ \n\"'`(*])[A-Za-z?][A-Za-z?._-]{2,24}[0-9]{1,5}[!?#$]?" + _ENDS,
    rb"[A-Za-z]{2}[!#$&~+][A-Za-z0-9]{2}",
    rb"[g-zG-Z][0-9][a-z]{2}|[a-z]{2}[0-9][g-z]",
    rb"(?i:(?:keypad|alarm|panel|safe|lock|locker|sim|gate|door|tablet|phone|bios|garage|code"
    rb"|combination)(?:\W[^\n0-9]{0,38})?(?: is| was|:| =|,| now| to| with| takes| wants)"
    rb"|wants|wanted|expects|accepts|takes|ask(?:s|ed)? for|enter(?:ing|ed)?|typ(?:e|ing|ed)|dial"
    rb"|tape[rz]?|tippe?n?|digita|introduce|(?:lock|open|lift|disarm|protect)(?:ed|s)? (?:with|by))"
    rb" [\"'`*]{0,2}#?[0-9]{4}",
)
"""What values are or contain that are judged, in the ASCII copy of a text, and mostly what stands
before and behind them; the last is of numbers that something asks for or that open something."""
BACK = 70
"""Characters before a value in which hints are searched for."""
REACH = 45
"""Characters after a value in which hints are searched for."""
_NEAR = 40
"""Characters before and after a value in which signs of code are counted."""
_MOST_SIGNS = 2
"""Signs of code there above which a value is not part of a sentence."""
_LONGEST = 60
_HEAD = 16
"""Characters of a line before a value up to which the line above is searched as well."""
_BEFORE = re.compile(r"[.!)\"'`*\]\s]{0,3}[^\s\"'`(*<>={}\[\]|:,;“”„«»]{0,60}")
_AFTER = re.compile(r"[^\s\"'`<>={}()\[\]|:,;“”„«»*]{0,60}")
_LONGEST_VALUE = 32
_NO_BASE64 = frozenset("/+=")
_BEYOND_LATIN = "\u017f"
_GLUED = re.compile(r"[\"'`<>={}()\[\]|:,;][^\W_]")
"""What follows where a value is only a part of a run."""
_OF_NAME = frozenset("/\\@$")
"""Signs beside which a value is part of a path, an address or a variable."""
_MEMBER = re.compile(r"\"[ ]?:[ ]?\"$")
"""What stands before the value of an object's member, which has rules of its own."""
_WORD = re.compile(r"(?<![\w.-])(?!(?i:root) causes?\b)[^\W\d_]{2,}(?![\w-])")
_HINTS = {
    word: kind
    for kind, listed in {
        "act": "type typed typing enter enters entered entering prompt prompts prompted take"
        " takes took want wants wanted accept accepts expect expects open opens try tried use uses"
        " used using eingeben eintippen eintippt tape tapez unlock unlocks unlocked lets gets log"
        " logs logged sign signs signed paste gave gesetzt connect connects connected"
        " authenticate answer share shares shared ask asks asked einloggen anmelden anmeldest"
        " entering dial taper tippe tippen digita introduce locked opened lifted disarms disarmed"
        " protected",
        "who": "root admin user users username login logins account accounts benutzer usuario ssh"
        " sudo vpn rcon nas router wifi wlan db database redis mongo postgres grafana jenkins"
        " enable bios vnc ftp sftp ssid keystore alarm panel tresor safe locker creds credentials"
        " zugang zugangsdaten server console",
        "token": "token tokens secret community psk jwt cookie code codes passcode tan pin"
        " pins puk schlüssel clé keypad panel sim lock locks gate door garage combination",
        "strong": "password passwords passwort passphrase passwd pw pwd kennwort contraseña"
        " senha mdp heslo hasło haslo",
    }.items()
    for word in listed.split()
}
"""Words that hint at a password or tell one, by kind."""
_LETTERS = bytes(
    ord(sign.lower() if sign.isalpha() else " ") for sign in bytes(range(256)).decode("latin-1")
)


def _words(text: str) -> list[bytes]:
    """Return the runs of letters of a short text in lower case: a fifth of what a regular
    expression takes."""
    return text.replace("ł", "l").encode("latin-1", "replace").translate(_LETTERS).split()


_HINTED = frozenset(spelled[0] for spelled in map(_words, _HINTS) if len(spelled) == 1)


def candidate(text: str, position: int) -> tuple[int, Candidate | None]:
    """Return where the run around `position` ends, and the value that it is, with its clues; None
    if it does not look like a password or nothing near hints at one."""
    if _HINTED.isdisjoint(_words(text[max(position - BACK, 0) : position + REACH])):
        return position, None
    begin = max(position - _LONGEST, 0)
    before = _BEFORE.match(text[begin:position][::-1])
    after = _AFTER.match(text, position - before.end()) if before is not None else None
    if after is None:
        return position, None
    first, last = after.span()
    return last, _candidate(text, first, last)


def _candidate(text: str, start: int, end: int) -> Candidate | None:
    value = _bare(text, start, end)
    if not value:
        return None
    if len(CODE.findall(text, max(start - _NEAR, 0), end + _NEAR)) > _MOST_SIGNS:
        return None  # that is code
    look = _look(value)
    if look is None:
        return None
    hints = _hints(text, start, end)
    end = start + len(value)
    if not hints or _is_within(text, start, end, look):
        return None
    shaped = Value(start, end, *look)
    clues = {"shaped", *(f"shaped={kind}" for kind in hints), f"shaped={len(hints)}"}
    left = left_of(text, start)
    beside = class_of(left.atoms[-1]) if left.atoms else "^"
    if shaped.form == "mark" and candidates.is_named(
        text, start, (start, end), beside, gives=False
    ):
        return None
    for kind, hint in hints.items():
        cue = Cue(text, *hint.span(), f"{kind}?")
        clues.update(cue.clues, place_of(text, cue, shaped, left))
    clues.update(look_clues(text[start:end], shaped, left.quoted, "shaped"))
    return Candidate(start, end, clues)


def _hints(text: str, first: int, last: int) -> dict[str, re.Match[str]]:
    """Return the words around a value that hint at passwords: of each kind the nearest before it,
    or else behind it."""
    hints = dict[str, re.Match[str]]()
    head = max(first - _HEAD, 0)
    begin = max(text.rfind("\n", max(first - BACK, 0), head) + 1, first - BACK, 0)
    line_end = text.find("\n", last, last + REACH)
    for word in _WORD.finditer(text, begin, first):
        kind = _HINTS.get(word.group().lower())
        if kind is not None and (kind != "token" or "\n" not in text[word.end() : first]):
            hints[kind] = word
    end = line_end if line_end >= 0 else min(last + REACH, len(text))
    for word in _WORD.finditer(text, last, end):
        kind = _HINTS.get(word.group().lower())
        if kind is not None:
            hints.setdefault(kind, word)
    return hints


def _bare(text: str, first: int, last: int) -> str:
    """Return what stands from `first` to `last`, without the signs behind it; nothing if it is a
    part of something else, or too short or long for a password."""
    value = text[first:last].rstrip(".?")
    if value.endswith("!") and value[:-1].isalpha():
        value = value[:-1]
    last = first + len(value)
    if not 4 <= len(value) <= _LONGEST_VALUE or not _NO_BASE64.isdisjoint(value):
        return ""
    if text[first - 1 : first] in _OF_NAME or text[last : last + 1] in _OF_NAME:
        return ""
    return "" if max(value) >= _BEYOND_LATIN or _GLUED.match(text, last) else value


def _is_within(text: str, first: int, last: int, look: tuple[str, int, str]) -> bool:
    """Return True if a value is in an address or an object, which have rules of their own, or is a
    common word in the middle of a sentence."""
    if text[first - 1 : first] == '"' and _MEMBER.search(text, max(first - 6, 0), first):
        return True
    if "://" in text[max(first - _NEAR, 0) : last].rpartition(" ")[2]:
        return True
    return look[2] == "word2" and text[last : last + 2].replace(" ", "a").isalpha()


@lru_cache(maxsize=1024)  # a text has most of its names more than once
def _look(value: str) -> tuple[str, int, str] | None:
    """Return the form and looks of a `Value`; None if it does not look like a password."""
    if value.rstrip("#").isdecimal():
        return None if value in OF_PROGRAMS else ("number", 0, f"number{min(len(value), 9)}")
    if value.isalpha() and (value.islower() or value.istitle()):
        if value.lower() in STATES or is_said(value) or is_function(value) or is_technical(value):
            return None
        return "word", 0, f"word{common(value)}"
    looks = shape(value)
    return ("mark", looks, f"mark{looks}") if looks >= UNUSUAL else None
