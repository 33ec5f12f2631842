"""Correct words of a question that occur nowhere in what is searched: typing errors become the
nearest words that occur, and technical words of a question in German, French or Spanish become
English (`glossary.txt`), because most sessions are in English. No hit is lost by it, since nothing
contains the word that was typed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from memory_assets.keywords import content_words, identifier_terms, is_weak, text_terms
from memory_assets.recall.search.corpus import Corpora, Corpus, Integers
from memory_assets.stores.keyword_index.index import KeywordIndex
from memory_assets.writing_systems import in_one_form

_WORD = re.compile(r"(?<![\w./-])[A-Z]?[a-z]+(?![\w/-]|\.\w)")
"""A plain word: no acronym, and no part of a path or an identifier."""
_SHORTEST = 4
"""Letters of a word from which on one error is corrected."""
_LONG = 8
"""Letters from which on two are."""
_LONGEST_ENDING = 9
_SHORTEST_PART = 4
"""Letters of a part of a compound."""
_SHORTEST_HEAD = 6
"""Letters of a word that a compound may begin with."""
_LINKS = ("", "s", "es", "n", "en")
"""What German puts between the parts of a compound."""
_WORD_PIECES = Path(__file__).parents[2] / "embedding" / "vocab.txt"
"""The word pieces of the embedding model, among them the commonest words of English: what is one
of them was not mistyped."""
_MOST_CORRECTED = 3
"""Words of a query that are corrected at most."""
_MOST_TERMS = 8
"""Terms by which one of them is corrected at most."""
_ROWS_READ = 64
"""Rows of the index that are read for each of them."""


class Vocabulary:
    """The terms of some kinds of rows, of one project or all; used within `index.reading()`. A
    term is a stem (`receiv`): the words that it stands for are in texts."""

    def __init__(self, corpora: Corpora, kinds: Sequence[str], project: str | None) -> None:
        self.index = corpora.index
        self._parts = [(part, part.scope(project)) for part in map(corpora.corpus, kinds)]

    def knows(self, term: str) -> bool:
        """Return True if any row of these kinds contains a term, of whatever project."""
        return any(len(corpus.postings(term)[0]) for corpus, _ in self._parts)

    def occurrences(self, term: str) -> int:
        """Return the number of rows that contain a term."""
        return sum(len(self._rows(term, *part)) for part in self._parts)

    def texts_with(self, term: str) -> list[str]:
        """Return the texts of the first rows that contain a term, without accents."""
        return [
            in_one_form(row.text)
            for corpus, scope in self._parts
            for row in corpus.rows_at(self._rows(term, corpus, scope)[:_ROWS_READ].tolist())
            if row is not None
        ]

    def _rows(self, term: str, corpus: Corpus, scope: slice) -> Integers:
        rows, _ = corpus.postings(term)
        turns = corpus.turn[rows]
        inside: Integers = rows[(turns >= scope.start) & (turns < scope.stop)]
        return inside


def corrections(query: str, vocabulary: Vocabulary) -> dict[str, str]:
    """Return, for words of a query that do not occur, the words that are meant: of those that are
    one error away (two for words of eight letters or more) the nearest, of equals those with most
    of the letters that were typed, and of these the most frequent. Where there is none, the two
    words that a compound is made of, or a compound that begins with the word. At most three words
    are corrected; the first letter is taken to be right, or swapped with the second."""
    unknown = []
    for typed in dict.fromkeys(_WORD.findall(query)):
        if len(typed) < _SHORTEST or is_weak(typed):
            continue
        if any(map(vocabulary.knows, text_terms(typed))) or typed.lower() in _common_words():
            continue
        unknown.append(typed)
    methods = (_nearest_word, _split_compound, _most_frequent_compound)
    meanings = {
        typed: next(filter(None, (method(typed.lower(), vocabulary) for method in methods)), "")
        for typed in unknown[:_MOST_CORRECTED]
    }
    return {typed: meant for typed, meant in meanings.items() if meant}


def missing_words(query: str, index: KeywordIndex) -> tuple[str, ...]:
    """Return the words of a query that carry content and occur nowhere in memory, of whatever kind
    and project, not even in part."""
    words = [word for word in dict.fromkeys(content_words(query)) if not word.isnumeric()]
    terms = {word: {*text_terms(word), *identifier_terms(word)} for word in words}
    occurring = set(index.occurring(set().union(*terms.values())))
    return tuple(word for word in words if occurring.isdisjoint(terms[word]))


def with_corrections(query: str, by: dict[str, str]) -> str:
    """Return a query with its words corrected."""
    return _WORD.sub(lambda match: by.get(match[0], match[0]), query)


@cache
def _common_words() -> frozenset[str]:
    return frozenset(_WORD_PIECES.read_text("utf-8").split())


def _nearest_word(typed: str, vocabulary: Vocabulary) -> str:
    """Return the nearest word that occurs, or ""."""
    most = 1 if len(typed) < _LONG else 2
    letters = set(typed)
    near = []
    for start in (typed[0], typed[1] + typed[0]):
        for term in vocabulary.index.terms_with(start):
            ending = len(typed) - len(term)
            if -most <= ending <= _LONGEST_ENDING and len(set(term) - letters) <= most:
                errors = _errors(term, typed, most + 1, beginning=True)
                if errors <= most + 1:
                    near.append((2 * errors + abs(ending), term))
    begins = re.compile(rf"\b[{typed[:2]}][a-z]+", re.IGNORECASE)
    words: list[tuple[int, int, int, str]] = []
    nearest = 0
    for distance, term in sorted(near)[:_MOST_TERMS]:
        if words and distance > nearest + 1:
            break
        nearest = nearest if words else distance
        candidates = {
            word_found.lower()
            for text in vocabulary.texts_with(term)
            for word_found in begins.findall(text)
        }
        words += [
            (errors, len(letters - set(word)), -vocabulary.occurrences(term), word)
            for word in candidates
            if len(set(word) ^ letters) <= 2 * most
            and (errors := _errors(word, typed, most)) <= most
            and term in text_terms(word)
        ]
    return min(words)[3] if words else ""


def _split_compound(typed: str, vocabulary: Vocabulary) -> str:
    """Return the two words that occur of which a compound is made, the most equal in length, or
    `""`."""
    splits = []
    for at in range(_SHORTEST_PART, len(typed) - _SHORTEST_PART + 1):
        for link in _LINKS:
            head, rest = typed[:at], typed[at:].removeprefix(link)
            if not typed[at:].startswith(link) or len(rest) < _SHORTEST_PART:
                continue
            if is_weak(head) or is_weak(rest):
                continue
            if all(map(vocabulary.knows, (*text_terms(head), *text_terms(rest)))):
                splits.append((-min(len(head), len(rest)), f"{head} {rest}"))
    return min(splits)[1] if splits else ""


def _most_frequent_compound(typed: str, vocabulary: Vocabulary) -> str:
    """Return the most frequent compound that begins with a word, or `""`."""
    if len(typed) < _SHORTEST_HEAD:
        return ""
    counts = {term: vocabulary.occurrences(term) for term in vocabulary.index.terms_with(typed)}
    begins = re.compile(rf"\b{typed}[a-z]+", re.IGNORECASE)
    for term in sorted(filter(counts.get, counts), key=lambda form: (-counts[form], form)):
        for text in vocabulary.texts_with(term):
            for word in begins.findall(text):
                if term in text_terms(word):
                    return str(word.lower())
    return ""


def _errors(left: str, right: str, most: int, *, beginning: bool = False) -> int:
    """Return the number of letters inserted, left out, changed or swapped with the next one between
    two words, or between `left` and the nearest beginning of `right`; if it is above `most`,
    something above it."""
    if len(left) - len(right) > most or (not beginning and len(right) - len(left) > most):
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, start=1):
        last, before, row = before, row, [at]
        for to, other in enumerate(right, start=1):
            errors = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == right[to - 2] and left[at - 2] == other:
                errors = min(errors, last[to - 2] + 1)
            row.append(errors)
        if min(row) > most:
            return most + 1
    return min(row) if beginning else row[-1]


_WORD_OF_ANY = re.compile(r"(?<![\w./])[^\W\d_]+(?![\w/]|\.\w)")
_ELISION = re.compile(r"(?<!\w)['’](?=\w)")
_GLOSSARY = Path(__file__).with_name("glossary.txt")
_FEWEST_FOREIGN = 2
"""Words that only a question in another language has, from which on it is one."""
_LONGEST_SUFFIX = 4
"""Letters that may follow a stem."""
_SHORT_STEM_SUFFIX = 1
"""Letters that may follow a short stem."""
_SHORT_STEM = 3
"""Letters of the longest stem that is short."""


def in_english(query: str, knows: Callable[[str], bool]) -> tuple[str, dict[str, str]] | None:
    """Return a question in another language in English, as far as the glossary goes, and the
    technical words that were replaced; None for a question in English. Words with a term for which
    `knows` is True stay.

    A word is in the glossary if it begins with a stem of it and has a short ending, or, in
    German, if it is composed of such words."""
    words = list(dict.fromkeys(_WORD_OF_ANY.findall(query)))
    language = _language_of(words)
    if language is None:
        return None
    small = {word: _function_words()[language].get(_without_accents(word)) for word in words}
    technical = {
        word: meant
        for word in words
        if small[word] is None
        and not knows([*text_terms(word)][-1])
        and (meant := _look_up(_without_accents(word), language))
    }
    by = {word: english for word, english in small.items() if english is not None} | technical
    english = _WORD_OF_ANY.sub(lambda match: by.get(match[0], match[0]), query)
    return " ".join(_ELISION.sub("", english).split()), technical


def _language_of(words: list[str]) -> str | None:
    """Return the language with most function words among `words`, None if there are too few."""
    languages = dict(_function_words())
    plain = {_without_accents(word) for word in words if len(word) > 1} - languages.pop("en").keys()
    counts = {language: len(plain & small.keys()) for language, small in languages.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= _FEWEST_FOREIGN else None


@cache
def _function_words() -> dict[str, dict[str, str]]:
    """Return the function words of each language, with the English word for each, or nothing."""
    small_words: dict[str, dict[str, str]] = {}
    for line in _glossary_lines():
        if line.startswith("@"):
            language, *words = line[1:].split()
            pairs = (word.partition("=") for word in words)
            small_words.setdefault(language, {}).update(
                (word, english) for word, _, english in pairs
            )
    return small_words


@cache
def _stems() -> dict[str, str]:
    """Return the English word of each stem."""
    stems: dict[str, str] = {}
    for line in _glossary_lines():
        if not line.startswith(("@", "#")):
            english, _, others = line.partition(":")
            for stem in others.split():
                stems.setdefault(stem, english)
    return stems


@cache
def _glossary_lines() -> list[str]:
    return _GLOSSARY.read_text("utf-8").splitlines()


def _look_up(word: str, language: str) -> str:
    """Return the English words for a word, or `""`."""
    stems = _stems()
    for end in range(len(word), 1, -1):
        stem, ending = word[:end], word[end:]
        if stem not in stems:
            continue
        if len(ending) <= (_SHORT_STEM_SUFFIX if len(stem) <= _SHORT_STEM else _LONGEST_SUFFIX):
            return stems[stem]
        if language == "de":
            for link in _LINKS:
                if ending.startswith(link) and (rest := _look_up(ending[len(link) :], language)):
                    return f"{stems[stem]} {rest}"
    return ""


def _without_accents(word: str) -> str:
    """Return a word in lower case without accents."""
    letters = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
