"""Decode the text of a file in whatever encoding it was written, or say why it has none.

What is not Unicode is told by chardet, by the lines that are not ASCII alone, because in source
code they are few. It is better left out than read as other characters than were written.
"""

from __future__ import annotations

import codecs
import re
from io import BytesIO
from itertools import islice

_UNICODE = (  # the longer mark first: it begins with the shorter one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SHIFTED = b"\x1b$"
"""What begins Japanese in ISO-2022-JP, which is ASCII else."""
_LATIN = ("cp1252", "cp1250", "iso8859-2", "cp1254")
"""Latin letters with accents, of Western and of Central Europe and of Turkey."""
_ENCODINGS = (
    *("gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949", *_LATIN),
    *("cp1251", "koi8-r", "iso8859-5", "cp866", "cp1253", "cp1255", "cp1256"),
)
"""The encodings that source code is still found in, by chardet's names of them."""
_LEAD, _TIMES = 0.03, 4
"""By how much, or by how many times, chardet's confidence must be above that in any other text."""
_CONTROL = re.compile("[\x80-\x9f]")
_WORDS = re.compile("[A-Za-z]?(?:[\u0370-\u06ff]++|[\u2e80-\ufaff]++)[A-Za-z]?")
"""Cyrillic, Greek, Hebrew, Arabic or East Asian characters, with the Latin letters beside them."""
_ASCII = bytes(range(128))
_LINES, _SAMPLE_BYTES = 1_000, 200_000
"""The lines that are not ASCII, and their bytes, from which an encoding is guessed."""
_MOST_NOT_ASCII = 0.02
"""The share of bytes that are not ASCII up to which a text that is not understood goes without."""
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
    text = _damaged_utf8(content) or _guessed(content)
    return (text, "") if text is not None else (None, "encoding unknown")


def _damaged_utf8(content: bytes) -> str | None:
    """Return a text in UTF-8 of which few characters are damaged, None for another one."""
    text = content.decode("utf-8-sig", "replace")
    damaged = text.count("\ufffd")
    whole = sum(not character.isascii() for character in text) - damaged
    return text if damaged <= _MOST_DAMAGED * whole else None


def _guessed(content: bytes) -> str | None:
    """Return the text in the likeliest encoding; None if none fits or several are as likely."""
    lines = b"".join(islice((line for line in BytesIO(content) if not line.isascii()), _LINES))
    sample = lines[: lines.rfind(b"\n", 0, _SAMPLE_BYTES) + 1 or _SAMPLE_BYTES]
    try:
        return content.decode(_likeliest(sample))
    except UnicodeDecodeError:
        strange = len(content.translate(None, _ASCII))
        few = strange <= _MOST_NOT_ASCII * len(content)
        return content.decode("ascii", "replace") if few else None


def _is_misread(word: str) -> bool:
    """Return whether other letters stand in one word with Latin ones; East Asian characters often
    stand beside a Latin word, but seldom one of them between two Latin letters."""
    before, after = word[0].isascii(), word[-1].isascii()
    is_east_asian = word[before] >= "\u2e80"
    return before and after and len(word) == 3 if is_east_asian else before or after


def _likeliest(sample: bytes) -> str:
    """Return the encoding of a text; ASCII where that is uncertain, but Windows-1252 where only the
    region of its Latin letters is."""
    from chardet import detect_all  # .3 s

    first: tuple[str, str, float] | None = None
    is_western = False
    for guess in detect_all(
        sample, ignore_threshold=True, include_encodings=_ENCODINGS, compat_names=False
    ):
        encoding, confidence = guess["encoding"] or "ascii", guess["confidence"]
        text = sample.decode(encoding, "replace")
        words = _WORDS.findall(text)
        mixed = sum(map(_is_misread, words))
        if _CONTROL.search(text) or mixed > len(words) / 2:
            continue
        if first is None:
            first = encoding, text, confidence
        elif text != first[1] and first[2] - confidence < _LEAD:
            if encoding in _LATIN and first[0] in _LATIN:
                is_western |= encoding == _LATIN[0]
            elif first[2] < _TIMES * confidence:
                return "ascii"
    return _LATIN[0] if is_western else first[0] if first else "ascii"
