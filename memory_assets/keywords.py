"""Terms of a text and of a question: how words, identifiers, paths and dates are indexed and asked
for. Where terms are kept: `stores/keyword_index/index.py`; how they are scored: `recall/`.

A word is indexed by its stem. A compound (`readFooter`, `read_footer`, `src/lake/files.py`,
`IL-10`) is indexed whole and in its parts, a path also by its last part, so that it is
found however it is asked for. What each choice is worth: benchmarks/notes/retrieval.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

from memory_assets.writing_systems import (
    ALPHABETIC,
    IDEOGRAPHIC,
    UNSPACED,
    has_marks_in_words,
    in_one_form,
    marks_in_words,
    pieces,
    shorter_pieces,
)

_WEAK = """
a about above after again all also am an and any are as at be because been before being
below between both but by can could did do does doing done down during each few for from
further get got had has have having he her here hers him his how i if in into is it its
just let like me more most my no nor not of off on once only or other our out over own
same she should so some such than that the their them then there these they this those
through to too under until up us very was we were what when where which while who whom
whose why will with would you your yours s t d ll re ve m don doesn didn isn wasn aren
couldn shouldn wouldn won hasn haven ain
"""

WEAK_WORDS = frozenset(_WEAK.split())

_IRREGULAR = """
am is are was were been being:be|has had having:have|does did done doing:do|goes went gone:go
got gotten:get|made:make|took taken:take|came:come|seen saw:see|knew known:know|thought:think
gave given:give|found:find|told:tell|became:become|left:leave|felt:feel|brought:bring
began begun:begin|kept:keep|held:hold|wrote written:write|stood:stand|heard:hear|meant:mean
met:meet|ran:run|paid:pay|sat:sit|spoke spoken:speak|lain:lie|led:lead|grew grown:grow
lost:lose|fell fallen:fall|sent:send|built:build|understood:understand|drew drawn:draw
broke broken:break|spent:spend|rose risen:rise|drove driven:drive|bought:buy|wore worn:wear
chose chosen:choose|ate eaten:eat|slept:sleep|flew flown:fly|sang sung:sing|swam swum:swim
taught:teach|caught:catch|sold:sell|fought:fight|threw thrown:throw|forgot forgotten:forget
hid hidden:hide|shook shaken:shake|woke woken:wake|rode ridden:ride|hung:hang
stole stolen:steal|drank drunk:drink|blew blown:blow|tore torn:tear|bit bitten:bite
shot:shoot|stuck:stick|struck:strike|swung:swing|dug:dig|dealt:deal|sought:seek|bent:bend
lent:lend|lit:light|fed:feed|bled:bleed|bred:breed|fitted:fit|froze frozen:freeze
forgave forgiven:forgive|knelt:kneel|leapt:leap|learnt:learn|shrank shrunk:shrink
sank sunk:sink|slid:slide|spun:spin|sprang sprung:spring|swore sworn:swear|swept:sweep
undid undone:undo|overwrote overwritten:overwrite|rewrote rewritten:rewrite|rebuilt:rebuild
withdrew withdrawn:withdraw|men:man|women:woman|children:child|people:person|feet:foot
teeth:tooth|mice:mouse|geese:goose|lives:life|wives:wife|knives:knife|leaves:leaf
halves:half|shelves:shelf|selves:self|indices indexes:index|vertices:vertex|matrices:matrix
criteria:criterion
"""

BASE_FORMS = {
    form: base
    for forms, base in (
        entry.split(":") for line in _IRREGULAR.split("\n") if line for entry in line.split("|")
    )
    for form in forms.split()
}
"""The base form of each irregular form."""
# Changes whenever the same text would give other terms.
TERMS_VERSION = "5"

WEAK = 0.2
"""How much a word of the question counts that is only there to make it one."""

IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]\w*_\w{1,64}|[a-z]+\d*[A-Z]\w{1,64}|[A-Z][a-z0-9]+[A-Z]\w{0,64}|[A-Z]+-?\d{2,16})\b"
)
"""A name as code has it: `read_footer`, `readFooter`, `TypeError`, `TS2345`."""

_LONGEST = 64
_GERMAN = """
auch auf aus bei beim dass dem den der deshalb durch eine einem einen einer fur haben ich ist
kann keine konnen mehr nach nicht noch nur oder schon sich sind uber und vom von warum weil wenn
werden wie wir wird wurde zum zur
"""
"""Words that show German, without accents; none is an English word or a name of code."""
_LONG_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][a-z]{8,}(?![A-Za-z0-9_])")
_SHORTEST_HEAD, _SHORTEST_END = 4, 5
_ONSET = re.compile(
    r"(?!ung|heit|keit|lich|isch|schaft|ation|tion|ier|erung|end[e-]|ens|ern|ers)"
    r"(?:[aeiouy]|[bcdfghjklmnprstvwz][aeiouy]|sch[aeioulmnrw]|s[pt][aeiour]|[bfgkp]l|[bdfgkpt]r"
    r"|ch[aeiour]|[gk]n|pf|ph|qu|th|zw)"
)
"""How a German word can begin, in lower case without accents."""
_SYMBOL = re.compile(r"[(){}\[\]=_;<>:*+/\\|&#\"'`]")
_TOKEN = re.compile(r"\w+")
REDACTION_TAG = re.compile(r"<redacted[:-][a-z0-9:-]{1,80}>")
"""The tags that replace redacted values; they are no words of the text."""
_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_CYRILLIC = re.compile(r"[а-яѐ-џ]+")
_MONTHS = """
january february march april may june july august september october november december
"""


class _Patterns(NamedTuple):
    """A word with all that it is composed of, its parts, and the words that a part is written
    together of."""

    compound: re.Pattern[str]
    part: re.Pattern[str]
    word: re.Pattern[str]


def _patterns_for(text: str) -> _Patterns:
    """Return the patterns for a text in one form: fewer for ASCII alone, which takes less time."""
    if text.isascii():
        return _patterns(unspaced=False, with_marks=False)
    return _patterns(UNSPACED.search(text) is not None, has_marks_in_words(text))


@cache
def _patterns(unspaced: bool, with_marks: bool) -> _Patterns:
    marks = marks_in_words() if with_marks else ""
    apart = f"{IDEOGRAPHIC}{ALPHABETIC}" if unspaced else ""
    runs = (f"[{IDEOGRAPHIC}]+", f"[{ALPHABETIC}{marks}]+") if unspaced else ()
    letter, other = rf"[^\W_{apart}]", rf"[^\W\d_A-Za-z{apart}]"
    if marks:
        letter, other = f"(?:{letter}|[{marks}])", f"(?:{other}|[{marks}])"
    compound = rf"{letter}+(?:[_\-./:']{letter}+)*"
    camel = (r"[A-Z]+(?=[A-Z][a-z])", r"[A-Z]?[a-z]+", "[A-Z]+", r"\d+")
    return _Patterns(
        re.compile("|".join((compound, *runs))),
        re.compile("|".join((f"{letter}+", *runs))),
        re.compile("|".join((*camel, *runs, f"{other}+"))),
    )


def text_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text, in reading order, as often as they occur."""
    return chain.from_iterable(map(_terms_of, _compounds(text)))


def indexed_terms(text: str) -> Iterator[str]:
    """Yield the terms that a text is found by: its own, and the shorter ones."""
    terms = list(text_terms(text))
    return chain(terms, shorter_terms(text, terms))


def shorter_terms(text: str, terms: Iterable[str]) -> Iterator[str]:
    """Yield what a text is found by beside its terms: single syllables of a script without blanks
    (Chinese), or two letters (Thai); the ends of long words, if the text has German ones
    (`Zahlungsdienst` is found by `dienst`)."""
    if not _german_terms().isdisjoint(terms):
        for word in _LONG_WORD.findall(in_one_form(text)):
            yield from ends_of_compound(word.lower())
    if not text.isascii():
        text = in_one_form(text)
        if UNSPACED.search(text):
            for run in _patterns_for(text).word.findall(text):
                if UNSPACED.match(run):
                    yield from shorter_pieces(run)


@lru_cache(maxsize=100_000)
def ends_of_compound(word: str) -> tuple[str, ...]:
    """Return the terms of what may be the last part of a German compound: all ends of five letters
    or more behind four or more that a word can begin as and that are no derivation alone."""
    last = len(word) - _SHORTEST_END
    ends = (word[at:] for at in range(_SHORTEST_HEAD, last + 1) if _ONSET.match(word, at))
    return tuple(_stem(end) for end in ends)


@cache
def _german_terms() -> frozenset[str]:
    return frozenset(map(_stem, _GERMAN.split()))


def _compounds(text: str) -> list[str]:
    """Return the words of a text, in one form, each with all that it is composed of, but for those
    of redaction tags, which say nothing of what the text is about."""
    if "<redacted" in text:
        text = REDACTION_TAG.sub(" ", text)
    text = in_one_form(text)
    return _patterns_for(text).compound.findall(text)


def query_terms(query: str) -> dict[str, float]:
    """Return the terms of a question with their weights: 1, or `WEAK` for words that only
    make it a question. A question of weak words alone asks for those."""
    weights: dict[str, float] = {}
    for compound in _compounds(query):
        weak = is_weak(compound)
        for term in _terms_of(compound):
            weights[term] = max(weights.get(term, 0.0), WEAK if weak or is_weak(term) else 1.0)
    return weights


def pasted_terms(line: str) -> set[str]:
    """Return the terms by which a line of tool output is found when it is pasted: each pair of
    words that stand next to each other. No text yields such a term."""
    words = [word[:_LONGEST] for word in _TOKEN.findall(_COLOUR.sub(" ", line).lower())]
    return {f"~{word} {after}" for word, after in pairwise(words)}


def identifier_terms(text: str) -> set[str]:
    """Return the terms by which the identifiers in a text are found, whole and in any case. A
    text of one word is taken to be an identifier."""
    words = _TOKEN.findall(text)
    names = words if len(words) == 1 else IDENTIFIER.findall(text)
    return {f"~{name.lower()}" for name in names}


def content_words(query: str) -> list[str]:
    """Return the words of a question that carry content, in the case in which they were typed."""
    words = _compounds(query)
    return [word for word in words if (len(word) > 1 or UNSPACED.match(word)) and not is_weak(word)]


def named_words(query: str) -> list[str]:
    """Return the capitalised words of a question after its first one: names and acronyms."""
    query = in_one_form(query)
    words = _compounds(query)
    if words and query.startswith(words[0]):
        words = words[1:]
    return [word for word in words if word[0].isupper() and not is_weak(word)]


def date_terms(moment: datetime | None) -> tuple[str, ...]:
    """Return the terms of a time: its month, year and ISO date on this machine's clock, so that the
    question "in October 2025" finds turns of that month, and a day is the user's."""
    if moment is None:
        return ()
    moment = moment.astimezone()
    return (_stem(_MONTHS.split()[moment.month - 1]), str(moment.year), moment.date().isoformat())


def is_weak(word: str) -> bool:
    """Return True for words of a question that carry no content."""
    return word.lower() in WEAK_WORDS


def symbol_share(text: str) -> float:
    """Return the share of characters that are typical of code: about .01 in prose, .06 in
    talk about code, .1 in code."""
    return len(_SYMBOL.findall(text)) / max(1, len(text))


@lru_cache(maxsize=100_000)
def _terms_of(compound: str) -> tuple[str, ...]:
    _, part_of, word_of = _patterns_for(compound)
    parts = part_of.findall(compound)
    words = [word for part in parts for word in _words_of(part, word_of)]
    terms = [_stem(word) for word in words if len(word) <= _LONGEST]
    if len(words) > 1 and len(compound) <= _LONGEST and not UNSPACED.search(compound):
        terms.append(_stem(compound.casefold()))
    if len(parts) > 1:
        terms += [
            _stem(part.casefold()) for part in parts if 1 < len(word_of.findall(part)) < _LONGEST
        ]
        last = compound.rpartition("/")[2]
        if last != compound and len(last) <= _LONGEST and not last.isalnum():
            terms.append(last.casefold())
    return tuple(terms)


def _words_of(part: str, word_of: re.Pattern[str]) -> list[str]:
    words: list[str] = []
    for word in word_of.findall(part) or [part]:
        words += pieces(word) if UNSPACED.match(word) else [word.casefold()]
    return words


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    word = BASE_FORMS.get(word, word)
    if word.isascii():
        return str(_stemmer("english").stemWord(word)) if word.isalpha() else word
    return str(_stemmer("russian").stemWord(word)) if _CYRILLIC.fullmatch(word) else word


@cache
def _stemmer(language: str) -> Any:
    import snowballstemmer  # 15 ms, for the stemmers of all languages

    return snowballstemmer.stemmer(language)
