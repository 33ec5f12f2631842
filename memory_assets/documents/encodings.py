"""The text of a file in whatever encoding it was written, or why it has none.

What is not Unicode is told by charset-normalizer, of the encodings that source code is still found
in. It is better left out than read as other characters than were written.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

_UNICODE = (  # the longer mark first: it begins with the shorter one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN = ("cp1252", "cp1250", "iso8859_2")
"""Latin letters with accents, of Western Europe and, where it cannot be that, of Central Europe."""
_SYLLABLES = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_LETTERS = ("cp1251", "koi8_r", "iso8859_5", "cp866", "cp1253", "cp1255", "cp1256")
"""Cyrillic, Greek, Hebrew and Arabic."""
_SHIFTED = b"\x1b$"
"""What begins Japanese in ISO-2022-JP, which is ASCII else."""
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_RARE = 0.25
"""The share of half-width kana above which a text was not written in Shift-JIS: what is read as
that by mistake has them."""
_LOOKED_AT = 200_000
"""Bytes by which an encoding is told: up to the last line's end among them."""
_RUN = re.compile(rb"[\x80-\xff]+")
_IN_A_WORD = re.compile(
    rb"(?<![\x80-\xff])(?:(?<=[A-Za-z])[\x80-\xff]{1,2}|[\x80-\xff]{1,2}(?=[A-Za-z]))(?![\x80-\xff])"
)
_MOSTLY = 0.5
"""Of the runs of bytes above ASCII, the share of short ones beside a Latin letter above which the
words are Latin."""
_FEW = 0.02
"""The share of such bytes up to which a text is read without them where they are not understood."""
_DAMAGED = 0.1
"""The share of damaged characters up to which a text is taken for UTF-8."""


def decoded(content: bytes) -> tuple[str | None, str]:
    """Return the text of a file with line feeds, or None and why it has none."""
    text, why_not = _read(content)
    if text is None:
        return None, why_not
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text, "") if text.strip() else (None, "empty")


def _read(content: bytes) -> tuple[str | None, str]:
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
    text = _damaged_utf8(content) or _told(content)
    return (text, "") if text is not None else (None, "encoding unknown")


def _damaged_utf8(content: bytes) -> str | None:
    """Return a text in UTF-8 of which few characters are damaged, None for another one."""
    text = content.decode("utf-8-sig", "replace")
    damaged = text.count("\ufffd")
    whole = sum(not character.isascii() for character in text) - damaged
    return text if damaged <= _DAMAGED * whole else None


def _told(content: bytes) -> str | None:
    """Return a text in one of the encodings, None if none is, or several are equally likely."""
    beginning = content[: content.rfind(b"\n", 0, _LOOKED_AT) + 1 or _LOOKED_AT]
    runs = _RUN.findall(beginning)
    latin = len(_IN_A_WORD.findall(beginning)) > _MOSTLY * len(runs)
    candidates = (*_SYLLABLES, _WESTERN[0]) if latin else (*_SYLLABLES, *_LETTERS, _WESTERN[0])
    found = _likeliest(beginning, candidates)
    if not found and latin:
        found = _likeliest(beginning, _WESTERN[1:])
    if latin and len(found) > 1:
        found = {name: text for name, text in found.items() if name in _WESTERN} or found
    if len(set(found.values())) == 1:
        with suppress(UnicodeDecodeError):
            return content.decode(next(iter(found)))
    few = sum(map(len, runs)) <= _FEW * len(beginning)
    return content.decode("ascii", "replace") if few else None


def _likeliest(content: bytes, encodings: tuple[str, ...]) -> dict[str, str]:
    """Return the text in each of the encodings that it is equally likely to be in."""
    from charset_normalizer import from_bytes  # 20 ms

    matches = [
        match
        for match in from_bytes(content, cp_isolation=list(encodings), preemptive_behaviour=False)
        if _is_plausible(str(match))
    ]
    likeliness = [(match.chaos, -match.coherence) for match in matches]
    return {
        match.encoding: str(match)
        for match, each in zip(matches, likeliness, strict=True)
        if each == min(likeliness)
    }


def _is_plausible(text: str) -> bool:
    letters = sum(not character.isascii() for character in text)
    return len(_HALF_WIDTH.findall(text)) <= _RARE * letters
