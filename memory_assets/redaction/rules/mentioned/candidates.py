"""The values near a word for passwords or for logging in that may be the password it is about.

Tokens that are more than a word stand before and after it (`mark`); numbers, words and phrases only
after it, and where something gives them. `clues.py` weighs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.named_values import OF_PROGRAMS
from memory_assets.redaction.rules.judging.password_look import UNUSUAL, shape
from memory_assets.redaction.rules.judging.phrases import (
    is_function,
    is_listed,
    is_said,
    is_technical,
    is_type,
)
from memory_assets.redaction.rules.mentioned.clues import (
    BASE,
    CHANGES,
    CODE,
    CUE,
    ITS,
    NEARER,
    QUOTES,
    STATES,
    UNSPACED,
    Candidate,
    Cue,
    Left,
    Value,
    atoms_of,
    class_of,
    common,
    left_of,
    look_clues,
    place_of,
)
from memory_assets.word_lists import word_set, words

REACH = 170
"""Characters after the word in which values are searched for."""
BACK = 90
"""Characters before the word in which values are searched for."""
_LINES = 4
"""Lines that are searched, including that of the word."""
_LONGEST = 60
_NEAR = 60
"""Characters after a word in which signs of code are counted."""
_MOST_SIGNS = 3
"""Signs of code there above which a word is not part of a sentence."""
_OF_TOKENS = ("login", "cred", "sudo")
"""Words that code is full of, behind which words and phrases are no values."""
_BEHIND_STRONG = 120
"""Characters after a word for passwords in which words and phrases may be values."""
_BEHIND_OTHERS = 60
"""Characters after another word in which they may be values."""
_RUN = re.compile(rf"[^\s\"'`<>{{}}\[\]|:“”«»„「」→–—{UNSPACED}]{{4,}}")
_MARK = re.compile(r"\d|[^\W_][^\w\s][^\W_]|_|[a-z][A-Z]|[^\W\d_]{3}[!#$]")
_GIVING = (
    "is|was|are|be|ist|war|lautet|est|es|era|è|é|jest|to|är|er|auf|as|als|with|mit|now|jetzt|again"
    "|type|enter|use|try|typed|entered|used|tried|say|wants|takes|expects|needs|still|noch|bleibt"
    "|words?"
)
_GIVES = re.compile(
    rf"[ :=→>(,.?\n\"'`“„«*…—–-](?:(?<= )(?:{_GIVING})(?=\W)|(?<! ))(?=(?P<gap>\W{{0,12}}))",
    re.IGNORECASE,
)
"""What gives the word or phrase behind it."""
_FIRST = re.compile(r"(?P<gap>\W{1,12})")
_WORD = re.compile(
    rf"[^\W\d_]{{4,40}}(?=[\"'`”»*)\]]{{0,3}}(?:[.,;:!?]{{0,2}}(?:\s|$)|[{UNSPACED}\\}}\]]))"
)
_PHRASE = re.compile(
    r"[^\W_](?:[\w&-]|['’](?=\w)){0,18}(?:[ ][\w&-](?:[\w&-]|['’](?=\w)){0,17}){1,8}"
    r"(?=[\"'`”»*)]{0,2}(?:[.,;:!?)](?:\s|$)|\s*$|[ ]?\n|[ ][-–—(]|(?<=[\"'`”»*])))"
)
_QUOTED = re.compile(
    rf"(?:(?!{NEARER.pattern})[^\"'`“„«\n]){{0,40}}(?:\"[^\"\n]{{3,80}}\"|`[^`\n]{{3,80}}`"
    r"|(?<!\w)'[^'\n]{3,80}'(?!\w)|[“„][^“”\n]{3,80}[“”]|«[^»\n]{3,80}»)",
    re.IGNORECASE,
)
"""What is quoted first behind a word, before a further one."""
_NUMBER = re.compile(
    r"(?<![\w.,:/$€#%+-])#?(?:\d{6}(?:-\d{6}){7}|\d{3,4}[ -]\d{3,4}(?:[ -]\d{2,4})?|\d(?:-\d){3,7}"
    r"|\d{4,10})#?(?![\w%€$]|[.,:/]\d|-\w)"
)
_DIGITS = re.compile(r"\d(?:\d{3}|-\d|\d\d[ -])")
"""Occurs in every such number; searching for it is cheap."""
_NEARER = words("pass pw kennw contrase senha mdp haslo heslo wachtw")
"""Beginnings of the words of `NEARER` that are ASCII."""
_BEGINNING = frozenset(("^", ".", "line"))
_NEW_SENTENCE = re.compile(r"\s{1,4}[A-Z\d]")
"""What stands before and behind an exclamation."""
_CODE_NAME = re.compile(r"(?=\w*[a-z][A-Z_])[A-Za-z]+(?:_[A-Za-z]+)*")
_GIVING_NAMES = word_set("with cue adverb line / -")
_GIVING_CLASSES = word_set("is gives to as . ( : = quote")
"""Classes of what gives a name in code as a password."""
_ODD = re.compile(
    r"(?<![^\s\"'`*])(?=\S{0,60}\d)(?=\S{0,60}[A-Z])(?:#[^\W_]{5,40}|[^\W\d_][^\W_]{2,30}"
    r"(?:[=/|]|\.\.|::)[^\W_]{2,30})[!#$*]?(?=[.,;:!?)\]\"'`*]{0,3}(?:\s|$))"
)
"""A value with a sign that elsewhere begins or divides what is no password."""
_DIVIDED = re.compile(r"[=/|#]|\.\.|::")
_WORDS = re.compile(r"[^\W\d_]{3,}")
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
_IDENTIFIER = re.compile(r"CVE-\d{4}-\d{4,7}|RFC-?\d{3,5}|ISO-\d+(?:-\d+)?|SIG[A-Z]{3,5}-\d")
"""What names a weakness, a norm or a signal."""
_OF_PROGRAM = re.compile(
    r"(?<!put )(?<!type )(?<!typed )(?<!fill )(?<!entered )\b(?:in|on|(?<!protected )by|uses|has"
    r"|error|sign in to)[ ]$"
)
"""What stands before or behind the name of a program with a number, or the code of an error."""
_NO_BEGINNING = frozenset(("", *"./~@#$%+*&-_"))
_NO_SIGNS = frozenset("()=\\")
"""Signs with which a value begins, and that it has, where it is code, an option or a path."""
_GLUED = re.compile(rf"(?![{UNSPACED}])[^\W_]")
_OPEN_QUOTES = "\"'`*"
"""Quotes behind which a word may go on; others end what is quoted."""
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_GOES_ON = re.compile(r"[ ]\w")


def find_candidates(text: str, cue: Cue) -> Iterator[Candidate]:
    """Yield the values around a word that may be passwords, with their clues."""
    end = _search_end(text, cue)
    if len(CODE.findall(text, cue.start, min(cue.end + _NEAR, end))) > _MOST_SIGNS:
        return  # that is code
    marks = [value for value in _marks(text, cue, end) if value.looks]
    most = max([value.looks for value in marks], default=0)
    for value in marks:
        if not _is_near(text, cue, value):
            continue
        left = _left_of_value(text, cue, value.start)
        if _names_something_else(text, cue, value, left.atoms):
            continue
        likely_marks = [mark for mark in marks if mark.looks >= UNUSUAL]
        between = sum(
            cue.end <= mark.start < value.start
            if value.start >= cue.end
            else value.end <= mark.start and mark.end <= cue.start
            for mark in likely_marks
        )
        near_clues = (
            f"others={min(between, 3)}",
            f"best={value.looks == most},{value.looks}",
            f"like={min(len(likely_marks), 4)},{value.looks}",
        )
        yield _with_clues(text, cue, value, left, near_clues)
    for value in _given_values(text, cue, end):
        left = _left_of_value(text, cue, value.start)
        if left.atoms[-1:] == ["to"] and not _is_changed(text, cue, value.start):
            continue
        begins = _verb_clues(text[value.start : value.end]) if value.form == "phrase" else ()
        yield _with_clues(text, cue, value, left, begins)


def _search_end(text: str, cue: Cue) -> int:
    """Return the end of the search for values: after `_LINES` lines, or at the next word for
    passwords that is neither part of another word nor in the first quoted text."""
    end = min(cue.end + REACH, len(text))
    line_end = cue.end - 1
    for _ in range(_LINES):
        line_end = text.find("\n", line_end + 1, end)
        if line_end < 0:
            break
    end = line_end if line_end >= 0 else end
    same = text[cue.start : cue.end]
    behind = text[cue.end : end]
    if same not in behind and behind.isascii() and not _has_nearer(behind.lower()):
        return end
    quoted = _QUOTED.match(text, cue.end, end)
    start = quoted.end() if quoted is not None else cue.end
    nearer = NEARER.search(text, start, end)
    end = nearer.start() if nearer is not None else end
    again = text.find(same, start, end)
    while again > 0 and text[again - 1].isalpha():
        again = text.find(same, again + 1, end)
    return again if again >= 0 else end


def _has_nearer(text: str) -> bool:
    """Return whether lower-case ASCII text may have a further word for passwords: looking for its
    beginning is cheap."""
    return any(beginning in text for beginning in _NEARER)


def _with_clues(text: str, cue: Cue, value: Value, left: Left, near: tuple[str, ...]) -> Candidate:
    """Return a value with all its clues; `near` are those of the values around it."""
    place = place_of(text, cue, value, left)
    look = look_clues(text[value.start : value.end], value, left.quoted, place[0])
    return Candidate(value.start, value.end, [BASE, *cue.clues, *place, *look, *near])


def _left_of_value(text: str, cue: Cue, first: int) -> Left:
    """Return what stands left of a value; for a phrase that says whose the password is, the word
    stands."""
    left = left_of(text, first)
    its = ITS.match(text, cue.end, first)
    if its is not None:
        return left._replace(atoms=[cue.word, *atoms_of(its["sign"].strip(" " + QUOTES))])
    return left


def _is_near(text: str, cue: Cue, value: Value) -> bool:
    """Return True if no other word is nearer to a value, which asks about it, too."""
    if value.start >= cue.end:
        return True
    gap = text[value.end : cue.start]
    return text[cue.start : cue.end] not in gap and NEARER.search(gap) is None


def _names_something_else(text: str, cue: Cue, value: Value, left: list[str]) -> bool:
    """Return True if a value is the name of something else, and nothing gives it."""
    first = value.start
    beside = class_of(left[-1]) if left else "^"
    gives = beside in _GIVING_CLASSES or _at_once(text, cue.end, first)
    if beside == "to":
        gives = _is_changed(text, cue, first)
    elif beside in ("and", "at"):
        gives |= _PAIRED.search(text, max(cue.start - 60, 0), first) is not None
    return is_named(text, cue.start, (first, value.end), beside, gives=gives) or (
        beside == "line" and _GOES_ON.match(text, value.end) is not None
    )


def _is_changed(text: str, cue: Cue, first: int) -> bool:
    """Return True if what stands behind "to" may be what a password was changed to."""
    if cue.word.startswith("has"):
        return True  # for "to" means "is" in Polish
    return CHANGES.search(text, max(cue.start - 60, 0), first) is not None


def _at_once(text: str, start: int, first: int) -> bool:
    """Return True if nothing stands between the word and a value, or an adverb or a sign or word
    that is not ASCII right before it."""
    between = text[start:first].rstrip(" ,;" + QUOTES)
    return first >= start and (
        not between or not between[-1].isascii() or class_of(between.rpartition(" ")[2]) == "adverb"
    )


def is_named(text: str, position: int, value: tuple[int, int], beside: str, *, gives: bool) -> bool:
    """Return True if a value looks like an exclamation, or like a name in code or of a program, and
    stands where no password is given."""
    first, last = value
    token = text[first:last]
    before = first < position
    if _IDENTIFIER.fullmatch(token) is not None:
        return True
    if token.endswith("!") and token[:-1].isalpha():
        return before and beside in _BEGINNING and _NEW_SENTENCE.match(text, last) is not None
    if _CODE_NAME.fullmatch(token) is not None:
        if before:
            gives = _IS_ONE.match(text, last) is not None or (gives and beside != "(")
        last_one = beside == "," and _ENDS.match(text, last) is not None
        named = is_technical(token) or not (gives or last_one or beside in _GIVING_NAMES)
        return named or _IN_CODE.search(text, max(first - 20, 0), first) is not None
    return _NUMBERED.fullmatch(token) is not None and (
        _OF_PROGRAM.search(text, max(first - 24, 0), first) is not None
        or _PROGRAM.match(text, last) is not None
    )


def _marks(text: str, cue: Cue, end: int) -> Iterator[Value]:
    """Yield the tokens around a word that are more than a word."""
    line = text.rfind("\n", max(cue.start - BACK, 0), cue.start) + 1
    begin, start = max(line, cue.start - BACK), cue.end
    for run in _RUN.finditer(text, begin, min(end + _LONGEST, len(text))):
        whole = run.group()
        if whole[1:].islower() and whole.rstrip(".,;:?*)").isalpha():
            continue  # as most are
        run_start = run.start()
        if run_start < start < run.end() and text[start] == "=":
            run_start = start + 1
            whole = text[run_start : run.end()]
        value = whole.lstrip("(,*‘")
        first = run_start + len(whole) - len(value)
        value = value.removesuffix("**")
        value = value.rstrip(".,;:?*" if value[-1:] in "!;" else ".,;:?*)")
        if "(" not in value:
            value = value.rstrip(")")
        last = first + len(value)
        if first > end or len(whole) > _LONGEST or (first < start and last > cue.start):
            continue
        if value[:1] in _NO_BEGINNING or not _NO_SIGNS.isdisjoint(value):
            continue
        inner = text[last : last + 1] in _OPEN_QUOTES and _GLUED.match(text, last + 1)
        if inner or _MARK.search(value) is None or text.endswith("redacted:", 0, first):
            continue
        looks = shape(value)
        if first >= start or text[last : cue.start].strip():
            yield Value(first, last, "mark", looks, f"mark{looks}")
    if cue.kind == "strong" and _DIVIDED.search(text, start, end) is not None:
        for odd in _ODD.finditer(text, start, end):
            looks = shape(_DIVIDED.sub("!", odd.group().lstrip("#")))
            if looks >= UNUSUAL and not any(map(is_listed, _WORDS.findall(odd.group().lower()))):
                yield Value(*odd.span(), "mark", looks, f"mark{looks}")


def _given_values(text: str, cue: Cue, end: int) -> Iterator[Value]:
    """Yield the numbers, words and phrases that something gives behind a word."""
    start = cue.end
    has_number = _DIGITS.search(text, start, end) is not None
    for number in _NUMBER.finditer(text, start, end) if has_number else ():
        first, last = number.span()
        if number.group() in OF_PROGRAMS:
            continue
        yield Value(first, last, "number", 0, f"number{min(last - first, 9)}")
    if cue.kind not in ("strong", "medium") or cue.word.startswith(_OF_TOKENS):
        return
    seen = set[int]()
    reach = start + (_BEHIND_STRONG if cue.kind == "strong" else _BEHIND_OTHERS)
    end = min(end, reach)
    for gives in (_FIRST.match(text, start, end), *_GIVES.finditer(text, start, end)):
        at = gives.end("gap") if gives is not None else start
        if at in seen or at == start:
            continue
        seen.add(at)
        if not text[at : at + 1].isalnum():
            continue
        word = _WORD.match(text, at, end)
        if word is not None and _may_be_word(word.group()) and text[at - 3 : at] != "```":
            yield Value(*word.span(), "word", 0, f"word{common(word.group())}")
        phrase = _PHRASE.match(text, at, reach)  # which may have the word for passwords in it
        if phrase is not None:
            pieces = phrase.group().split(" ")
            common_words = sum(map(is_said, pieces))
            telling = len(pieces) - common_words - sum(map(is_function, pieces))
            begins = class_of(pieces[0].lower()) != "is"
            if begins and telling > 0 and not (len(pieces) == 2 and common_words):
                share = 4 - -(-4 * telling // len(pieces))
                yield Value(*phrase.span(), "phrase", 0, f"phrase{share}")


def _verb_clues(phrase: str) -> tuple[str, ...]:
    """Return the clues of a phrase that begins as a verb may that says what a thing does."""
    first, second = phrase.lower().split(" ")[:2]
    does = first.endswith("s") and not first.endswith("ss") and common(first[:-1]) > 1
    return ("does", f"does={class_of(second)}") if does else ()


def _may_be_word(word: str) -> bool:
    """Return True if a word is none of those that are said of passwords."""
    low = word.lower()
    humps = () if word.islower() or word.istitle() else map(str.lower, _HUMPS.findall(word))
    if not values.CODE_WORDS.isdisjoint(humps):
        return False  # a name in code
    is_common = low in STATES or is_said(word) or is_technical(low)
    return not (is_common or is_type(word[-3:]) or CUE.search(low))
