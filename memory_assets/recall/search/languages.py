"""Questions in German, French or Spanish: words of the trade that occur nowhere in what is
searched, replaced by the English ones (`glossary.txt`), because most sessions are in English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

from memory_assets.keywords import text_terms

_WORD = re.compile(r"(?<![\w./])[^\W\d_]+(?![\w/]|\.\w)")
_ELISION = re.compile(r"(?<!\w)['’](?=\w)")
_GLOSSARY = Path(__file__).with_name("glossary.txt")
_FEWEST = 2
"""Words that only a question in another language has, from which on it is one."""
_ENDING, _SHORT_ENDING, _SHORT = 4, 1, 3
"""Letters that may follow a stem, and those that may follow one of at most three letters."""
_LINKS = ("", "s", "es", "n", "en")
"""What German puts between the parts of a compound."""


def in_english(query: str, knows: Callable[[str], bool]) -> tuple[str, dict[str, str]] | None:
    """Return a question in another language in English, as far as the glossary goes, and the words
    of the trade that were replaced; None for a question in English. Words with a term that `knows`
    is True for stay.

    A word is in the glossary if it begins with a stem of it and has a short ending, or, in
    German, if it is composed of such words."""
    words = list(dict.fromkeys(_WORD.findall(query)))
    language = _language_of(words)
    if language is None:
        return None
    small = {word: _small_words()[language].get(_plain(word)) for word in words}
    replaced = {
        word: meant
        for word in words
        if small[word] is None
        and not knows([*text_terms(word)][-1])
        and (meant := _meant(_plain(word), language))
    }
    by = {word: english for word, english in small.items() if english is not None} | replaced
    english = _WORD.sub(lambda match: by.get(match[0], match[0]), query)
    return " ".join(_ELISION.sub("", english).split()), replaced


def _language_of(words: list[str]) -> str | None:
    """Return the language that most function words are of which are no English words."""
    languages = dict(_small_words())
    plain = {_plain(word) for word in words if len(word) > 1} - languages.pop("en").keys()
    counts = {language: len(plain & small.keys()) for language, small in languages.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= _FEWEST else None


@cache
def _small_words() -> dict[str, dict[str, str]]:
    """Return the function words of each language, with the English word for each, or nothing."""
    small_words: dict[str, dict[str, str]] = {}
    for line in _lines():
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
    for line in _lines():
        if not line.startswith(("@", "#")):
            english, _, others = line.partition(":")
            for stem in others.split():
                stems.setdefault(stem, english)
    return stems


@cache
def _lines() -> list[str]:
    return _GLOSSARY.read_text("utf-8").splitlines()


def _meant(word: str, language: str) -> str:
    """Return the English words for a word, or nothing."""
    stems = _stems()
    for end in range(len(word), 1, -1):
        stem, ending = word[:end], word[end:]
        if stem not in stems:
            continue
        if len(ending) <= (_SHORT_ENDING if len(stem) <= _SHORT else _ENDING):
            return stems[stem]
        if language == "de":
            for link in _LINKS:
                if ending.startswith(link) and (rest := _meant(ending[len(link) :], language)):
                    return f"{stems[stem]} {rest}"
    return ""


def _plain(word: str) -> str:
    """Return a word in lower case without accents."""
    letters = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
