"""Decode the text of a file in whatever encoding it was written, or say why it has none.

What is not Unicode is told by its characters that are not ASCII alone, because of source code they
are few: Chinese, Japanese and Korean by how common they are, letters by charset-normalizer, of the
encodings that source code is still found in. It is better left out than read as other characters
than were written.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from math import inf
from pathlib import Path

_UNICODE = (  # the longer mark first: it begins with the shorter one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN = ("cp1252", "cp1250", "iso8859_2")
"""Latin letters with accents, of Western Europe and, where it cannot be that, of Central Europe."""
_SYLLABLES = {"gb18030": "zh", "big5": "tw", "cp932": "ja", "euc_jp": "ja", "cp949": "ko"}
"""Encodings of characters of two bytes, and what is written in them."""
_LETTERS = ("cp1251", "koi8_r", "iso8859_5", "cp866", "cp1253", "cp1255", "cp1256")
"""Cyrillic, Greek, Hebrew and Arabic."""
_SHIFTED = b"\x1b$"
"""What begins Japanese in ISO-2022-JP, which is ASCII else."""
_CHARACTERS = Path(__file__).with_name("common_characters.txt")
_COMMON, _ORDINARY, _UNUSUAL, _FOREIGN = 6.0, 9.3, 12.3, 15.0
"""How unlikely a character is, as -ln of its probability: of some hundred that make up most of a
text, of the first level of its national standard, of the second, of neither."""
_LETTER, _CAPITAL, _SIGN = 3.5, 6.0, 11.0
"""How unlikely what is read as a letter of one byte is: a small one, a capital, none at all."""
_SURE, _WRITTEN = 6.0, 9.2
"""By how much the best reading must be likelier than any other, in all; and how unlikely its
characters may be on average."""
_FIRST_LEVEL = {
    "zh": ("gb2312", 0xB0, 0xD7, 0xF7),
    "tw": ("big5", 0xA4, 0xC6, 0xF9),
    "ja": ("euc_jp", 0xB0, 0xCF, 0xF4),
    "ko": ("euc_kr", 0xB0, 0xC8, 0xC8),
}
"""By language the standard, and the first bytes of its first level, and of its last character."""
_PUNCTUATION = re.compile("[\u2010-\u203b\u3000-\u3020\uff01-\uff5e]")
_KANA = re.compile("[\u3041-\u30fe]")
_SAMPLE_BYTES = 200_000
"""Bytes from which an encoding is guessed: up to the last line's end among them."""
_LINES = 300
"""The lines with other characters than ASCII by which Chinese, Japanese and Korean are told."""
_RUN = re.compile(rb"[\x80-\xff]+")
_IN_A_WORD = re.compile(
    rb"(?<![\x80-\xff])(?:(?<=[A-Za-z])[\x80-\xff]{1,2}|[\x80-\xff]{1,2}(?=[A-Za-z]))(?![\x80-\xff])"
)
_LATIN_SHARE = 0.5
"""Of the runs of bytes above ASCII, the share of short ones beside a Latin letter above which the
words are Latin."""
_MOST_NOT_ASCII = 0.02
"""The share of such bytes up to which a text is read without them where they are not understood."""
_MOST_DAMAGED = 0.1
"""The share of damaged characters up to which a text is taken for UTF-8."""


def decoded(content: bytes) -> tuple[str | None, str]:
    """Return the text of a file with line feeds, or None and why it has none."""
    text, why_not = _decode(content)
    if text is None:
        return None, why_not
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text, "") if text.strip() else (None, "empty")


def _decode(content: bytes) -> tuple[str | None, str]:
    for mark, encoding in _UNICODE:
        if content.startswith(mark):
            try:
                return content.decode(encoding), ""
            except UnicodeDecodeError:
                return None, "binary"
    if b"\0" in content:
        return None, "binary"
    try:
        return content.decode("iso2022_jp_2" if _SHIFTED in content else "utf-8-sig"), ""
    except UnicodeDecodeError:
        pass
    text = _damaged_utf8(content) or _guess_encoding(content)
    return (text, "") if text is not None else (None, "encoding unknown")


def _damaged_utf8(content: bytes) -> str | None:
    """Return a text in UTF-8 of which few characters are damaged, None for another one."""
    text = content.decode("utf-8-sig", "replace")
    damaged = text.count("\ufffd")
    whole = sum(not character.isascii() for character in text) - damaged
    return text if damaged <= _MOST_DAMAGED * whole else None


def _guess_encoding(content: bytes) -> str | None:
    """Return the text in the likeliest encoding; None if none fits or several are equal."""
    beginning = content[: content.rfind(b"\n", 0, _SAMPLE_BYTES) + 1 or _SAMPLE_BYTES]
    runs = _RUN.findall(beginning)
    latin = len(_IN_A_WORD.findall(beginning)) > _LATIN_SHARE * len(runs)
    encoding = _guess_asian_encoding(beginning, latin)
    if encoding == "":
        texts = _likeliest(beginning, _WESTERN[:1] if latin else (*_LETTERS, _WESTERN[0]))
        if not texts and latin:
            texts = _likeliest(beginning, _WESTERN[1:])
        encoding = next(iter(texts)) if len(set(texts.values())) == 1 else None
    if encoding:
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    few = sum(map(len, runs)) <= _MOST_NOT_ASCII * len(beginning)
    return content.decode("ascii", "replace") if few else None


def _guess_asian_encoding(content: bytes, latin: bool) -> str | None:
    """Return the encoding of a text in Chinese, Japanese or Korean, "" for one in letters, and None
    if that is uncertain. `latin`: its words look like Latin ones."""
    lines = (line for line in content.split(b"\n") if not line.isascii())
    content = b"\n".join(islice(lines, _LINES))
    costs: dict[str, float] = {}
    numbers: dict[str, int] = {}
    for encoding in (*_SYLLABLES, *(_WESTERN if latin else (_WESTERN[0], *_LETTERS))):
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if language := _SYLLABLES.get(encoding):
                read = [_cost(language, character) for character in text if not character.isascii()]
                costs[encoding], numbers[encoding] = sum(read), len(read)
            else:
                costs[encoding] = sum(map(_cost_of_letter, text, f" {text}"))
    first = min(costs, key=costs.__getitem__, default="")
    is_of_letters = first not in _SYLLABLES
    others = costs.keys() & _SYLLABLES.keys() if is_of_letters else costs.keys() - {first}
    is_sure = min(map(costs.__getitem__, others), default=inf) - costs.get(first, 0) >= _SURE
    if is_of_letters:
        return "" if is_sure or latin else None
    return first if is_sure and costs[first] <= _WRITTEN * numbers[first] else None


@lru_cache(maxsize=20_000)
def _cost(language: str, character: str) -> float:
    """Return how unlikely a character is in a language."""
    if _PUNCTUATION.match(character):
        return _COMMON
    if _KANA.match(character):
        return _COMMON - 1 if language == "ja" else _UNUSUAL
    if character in _common_characters()[language]:
        return _COMMON + (language == "ja")
    standard, first, ordinary, last = _FIRST_LEVEL[language]
    try:
        lead, *rest = character.encode(standard)
    except UnicodeEncodeError:
        return _FOREIGN
    if not first <= lead <= last or len(rest) != 1:
        return _UNUSUAL
    return _ORDINARY if lead <= ordinary else _UNUSUAL


def _cost_of_letter(character: str, before: str) -> float:
    """Return how unlikely a character is in a text of letters of one byte: 0 in ASCII."""
    if character.isascii():
        return 0.0
    if not character.isalpha() or (character.isupper() and before.islower()):
        return _SIGN
    return _CAPITAL if character.isupper() else _LETTER


@cache
def _common_characters() -> dict[str, frozenset[str]]:
    lines = _CHARACTERS.read_text("utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines if not line.startswith("#"))
    return {name: frozenset(characters) for name, characters in pairs}


def _likeliest(content: bytes, encodings: tuple[str, ...]) -> dict[str, str]:
    """Return the text in each of the encodings that it is equally likely to be in."""
    from charset_normalizer import from_bytes  # 20 ms

    matches = list(from_bytes(content, cp_isolation=list(encodings), preemptive_behaviour=False))
    likeliness = [(match.chaos, -match.coherence) for match in matches]
    return {
        match.encoding: str(match)
        for match, score in zip(matches, likeliness, strict=True)
        if score == min(likeliness)
    }
