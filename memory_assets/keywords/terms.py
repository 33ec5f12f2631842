"""Terms of a text and of a question.

A word is indexed by its stem. A compound (`readFooter`, `read_footer`, `src/lake/files.py`,
`IL-10`) is indexed whole and in its parts, a path also by its last part, so that it is
found however it is asked for. What each choice is worth: docs/retrieval.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

import snowballstemmer

from memory_assets.keywords.word_forms import BASE_FORMS, WEAK_WORDS

# Changes whenever the same text would give other terms.
TERMS_VERSION = "1"

WEAK = 0.2
"""How much a word of the question counts that is only there to make it one."""

_LONGEST = 64
_COMPOUND = re.compile(r"[^\W_]+(?:[_\-./:'’][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_SYMBOL = re.compile(r"[(){}\[\]=_;<>:*+/\\|&#\"'`]")
_UNSPACED = re.compile(r"[⺀-鿿぀-ヿ가-힯豈-﫿]")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)


def text_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text, in reading order, as often as they occur."""
    for match in _COMPOUND.finditer(text):
        yield from _terms_of(match[0])


def query_terms(query: str) -> dict[str, float]:
    """Return the terms of a question with their weights: 1, or `WEAK` for words that only
    make it a question. A question of weak words alone asks for those."""
    weights: dict[str, float] = {}
    for match in _COMPOUND.finditer(query):
        weak = is_weak(match[0])
        for term in _terms_of(match[0]):
            weights[term] = max(weights.get(term, 0.0), WEAK if weak or is_weak(term) else 1.0)
    return weights


def date_terms(moment: datetime | None) -> tuple[str, ...]:
    """Return the terms of a time: its month, year and ISO date, so that the question "in
    October 2025" finds turns of that month."""
    if moment is None:
        return ()
    return (_stem(_MONTHS[moment.month - 1]), str(moment.year), moment.date().isoformat())


def is_weak(word: str) -> bool:
    """Return True for words of a question that carry no content."""
    return word.lower() in WEAK_WORDS


def symbol_share(text: str) -> float:
    """Return the share of characters that are typical of code: about .01 in prose, .06 in
    talk about code, .1 in code."""
    return len(_SYMBOL.findall(text)) / max(1, len(text))


@lru_cache(maxsize=100_000)
def _terms_of(compound: str) -> tuple[str, ...]:
    parts = _PART.findall(compound)
    words = [word for part in parts for word in _words_of(part)]
    terms = [_stem(word) for word in words if len(word) <= _LONGEST]
    if len(words) > 1 and len(compound) <= _LONGEST and not _UNSPACED.search(compound):
        terms.append(_stem(compound.lower()))
    if len(parts) > 1:
        terms += [_stem(part.lower()) for part in parts if 1 < len(_CAMEL.findall(part)) < _LONGEST]
        last = compound.rpartition("/")[2]
        if last != compound and len(last) <= _LONGEST and not last.isalnum():
            terms.append(last.lower())
    return tuple(terms)


def _words_of(part: str) -> list[str]:
    words = []
    for word in _CAMEL.findall(part) or [part]:
        if len(word) > 2 and _UNSPACED.match(word):
            words += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            words.append(word.lower())
    return words


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    word = BASE_FORMS.get(word, word)
    if not (word.isascii() and word.isalpha()):
        return word
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    return snowballstemmer.stemmer("english")
