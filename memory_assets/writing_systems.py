"""Words of all writing systems: text in one form, however it was typed, and the pieces by which
text is found that has no blanks between its words.

Text of ASCII alone, most of what is indexed, is in that form already.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

_LETTERS = {
    **{"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i"},
    **{"ẞ": "SS", "Æ": "AE", "Œ": "OE", "Ø": "O", "Đ": "D", "Ł": "L"},
    **{"\u06a9": "\u0643", "\u06cc": "\u064a", "\u0649": "\u064a"},
}
"""Letters that Unicode does not decompose, as they are typed where a keyboard lacks them: Latin
ones, and the Persian forms of Arabic ones."""
_PLAIN = str.maketrans(_LETTERS)
_UNPLAIN = re.compile(f"[{''.join(map(chr, _PLAIN))}]")
_OPTIONAL = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670"
    "\u200c\u200d\ufe00-\ufe0f]"
)
"""What a word is the same without: accents, the points of Hebrew and Arabic, hyphens and joiners
that are not seen."""
_LEFT_OUT = re.compile(rf"(?<![ИиУу])\u0306|(?!\u0306){_OPTIONAL.pattern}")
"""The marks, without the accent that makes another letter of и and у."""
_RUN_OF_MARKS = re.compile(r"[^\x00-\x7f\w\s]{32,}")
_MOST_MARKS = 32
"""Of so many marks in a row: to sort them takes quadratic time."""

IDEOGRAPHIC = "々〆〇ぁ-ゖゝ-ゟァ-ヺー-ヿㄅ-ㄯㇰ-ㇿ㐀-䶿一-鿿豈-\ufaff가-힣ᄀ-ᇿ\U00020000-\U0003ffff"
"""Characters that are a syllable or a word each: Han, kana, Hangul. Two say what a word does."""
ALPHABETIC = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
"""Thai, Lao, Burmese, Khmer: letters, of which three say what a word does."""
UNSPACED = re.compile(f"[{IDEOGRAPHIC}{ALPHABETIC}]")
_OF_LETTERS = re.compile(f"[{ALPHABETIC}]")
_WITH_MARKS = re.compile(r"[\u0900-\u1cff\ua800-\uabff]")
"""The scripts of which marks are part of a word: those of India and of South-East Asia."""


@lru_cache(maxsize=8)
def in_one_form(text: str) -> str:
    """Return a text with every character in the form in which it is compared: composed, of normal
    width, without accents and other marks that are left out as often as not, apostrophes and
    hyphens as typewriters have them. Case stays."""
    if text.isascii():
        return text
    text = _RUN_OF_MARKS.sub(lambda run: run[0][:_MOST_MARKS], text)
    text = unicodedata.normalize("NFKD", text)
    if _OPTIONAL.search(text):
        text = _LEFT_OUT.sub("", text)
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("\u2010", "-")
    return text.translate(_PLAIN) if _UNPLAIN.search(text) else text


def has_marks_in_words(text: str) -> bool:
    """Whether a text has a script of which marks are part of a word."""
    return not text.isascii() and _WITH_MARKS.search(text) is not None


@cache
def marks_in_words() -> str:
    """Return the marks as the inside of a character class of a regular expression."""
    places = (*range(0x0900, 0x1D00), *range(0xA800, 0xAC00))
    return "".join(chr(at) for at in places if unicodedata.category(chr(at)) in ("Mn", "Mc"))


def pieces(run: str) -> list[str]:
    """Return what is asked for to find a run of characters without blanks: every two syllables of
    it that stand together, or every three letters; a shorter run whole."""
    units, size = _units(run)
    if len(units) <= size:
        return [run]
    return ["".join(units[at : at + size]) for at in range(len(units) - size + 1)]


def shorter_pieces(run: str) -> Iterator[str]:
    """Yield what a run is indexed by besides, for who asks for less of it: each syllable, or every
    two letters."""
    units, size = _units(run)
    if len(units) >= size:
        for at in range(len(units) - size + 2):
            yield "".join(units[at : at + size - 1])


def _units(run: str) -> tuple[list[str], int]:
    """Return the syllables or letters of a run, each with its marks, and how many a piece has."""
    if not _OF_LETTERS.match(run):
        return list(run), 2
    units: list[str] = []
    for character in run:
        if units and character in marks_in_words():
            units[-1] += character
        else:
            units.append(character)
    return units, 3
