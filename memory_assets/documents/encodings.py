"""Decode the text of a file in whatever encoding it was written, or say why it has none.

Texts that are not Unicode are decoded as chardet guesses, from their non-ASCII lines alone, because
source code has few. A text is left out rather than decoded to wrong characters.
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
"""The escape sequence that begins Japanese in ISO-2022-JP, which is ASCII otherwise."""
_LATIN = ("cp1252", "cp1250", "iso8859-2", "cp1254")
"""Latin letters with accents, of Western and of Central Europe and of Turkey."""
_ENCODINGS = (
    *("gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949", *_LATIN),
    *("cp1251", "koi8-r", "iso8859-5", "cp866", "cp1253", "cp1255", "cp1256"),
)
"""The encodings that source code is still found in, by chardet's names of them."""
_LEAD = 0.03
"""Difference of chardet's confidence from which the first guess is taken."""
_TIMES = 4
"""Ratio of chardet's confidence from which the first guess is taken even so."""
_CONTROL = re.compile("[\x80-\x9f]")
_WORDS = re.compile("[A-Za-z]?(?:[\u0370-\u06ff]++|[\u2e80-\ufaff]++)[A-Za-z]?")
"""Cyrillic, Greek, Hebrew, Arabic or East Asian characters, with the Latin letters beside them."""
_ASCII = bytes(range(128))
_LINES = 1_000
"""Non-ASCII lines from which an encoding is guessed."""
_SAMPLE_BYTES = 200_000
"""Bytes of these lines."""
_MOST_NOT_ASCII = 0.02
"""Share of non-ASCII bytes up to which a text of unknown encoding is kept without them."""
_MOST_DAMAGED = 0.1
"""Ratio of damaged to valid non-ASCII characters up to which a text counts as UTF-8."""


def decoded(content: bytes) -> tuple[str | None, str]:
    """Return the text of a file, its line ends as line feeds, and ""; or None and the reason."""
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
    text = _damaged_utf8(content) or _decode_by_guess(content)
    return (text, "") if text is not None else (None, "encoding unknown")


def _damaged_utf8(content: bytes) -> str | None:
    """Return a text in UTF-8 with few damaged characters; None if it is no UTF-8."""
    text = content.decode("utf-8-sig", "replace")
    damaged = text.count("\ufffd")
    whole = sum(not character.isascii() for character in text) - damaged
    return text if damaged <= _MOST_DAMAGED * whole else None


def _decode_by_guess(content: bytes) -> str | None:
    """Return the text in the likeliest encoding; None if none fits or several are as likely."""
    lines = b"".join(islice((line for line in BytesIO(content) if not line.isascii()), _LINES))
    sample = lines[: lines.rfind(b"\n", 0, _SAMPLE_BYTES) + 1 or _SAMPLE_BYTES]
    try:
        return content.decode(_likeliest_encoding(sample))
    except UnicodeDecodeError:
        strange = len(content.translate(None, _ASCII))
        few = strange <= _MOST_NOT_ASCII * len(content)
        return content.decode("ascii", "replace") if few else None


def _is_misread(word: str) -> bool:
    """Return True if other letters are in one word with Latin ones. East Asian characters often
    stand next to a Latin word, but a single one seldom between two Latin letters."""
    before, after = word[0].isascii(), word[-1].isascii()
    is_east_asian = word[before] >= "\u2e80"
    return before and after and len(word) == 3 if is_east_asian else before or after


def _likeliest_encoding(sample: bytes) -> str:
    """Return the encoding of a text: ASCII if it is uncertain, or Windows-1252 if only the region
    of its Latin letters is uncertain."""
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
    if is_western:
        return _LATIN[0]
    return first[0] if first else "ascii"
