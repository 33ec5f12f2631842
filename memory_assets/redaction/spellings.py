"""How programs write a text within another one: escaped, percent-encoded, in hex, in base64."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from unicodedata import normalize
from urllib.parse import quote, quote_plus

_WHOLE = 8
"""A shorter form of a text than it is itself must have so many characters."""


def spellings(text: str) -> dict[str, str]:
    """Return each form in which a text may stand in another, with the name of the form: as it is,
    with other line ends, in one line, its letters composed or decomposed; each of these escaped as
    in JSON (once and twice) and in HTML, percent-encoded, in hex and in base64 at each alignment
    (also of UTF-16, and twice)."""
    forms: dict[str, str] = {}
    lines = text.replace("\r\n", "\n")
    others = (lines, lines.replace("\n", "\r\n"), " ".join(text.split()))
    composed = (normalize(form, text) for form in ("NFC", "NFD"))
    for plain in (text, *(other for other in (*others, *composed) if len(other) >= _WHOLE)):
        data = plain.encode("utf-8", "surrogatepass")
        wide = plain.encode("utf-16-le", "surrogatepass")
        once, percent = list(base64_spellings(data)), list(percent_spellings(data))
        twice = percent_spellings(quote(data, safe="").encode())
        escaped = (html.escape(plain), html.escape(plain, quote=False))
        by_form: dict[str, Iterable[str]] = {
            "plain": (plain,),
            "escaped": (*json_spellings(plain), *escaped, escaped[0].replace("&#x27;", "&#39;")),
            "percent-encoded": (*percent, *(twice if percent else ())),
            "hex": (data.hex(), data.hex().upper()),
            "base64": (*once, *base64_spellings(wide)),
            "base64 twice": (two for one in once for two in base64_spellings(one.encode())),
        }
        for form, spelled in by_form.items():
            forms |= {spelling: form for spelling in spelled if spelling not in forms}
    return forms


def json_spellings(value: str) -> Iterator[str]:
    """Yield the forms in which JSON writes a text, and a text that holds JSON."""
    for escaped in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        for spelling in (escaped, escaped.replace("/", "\\/")):
            if spelling != value:
                yield spelling
                yield json.dumps(spelling)[1:-1]
    html_safe = value
    for character in "<>&='":
        html_safe = html_safe.replace(character, f"\\u00{ord(character):02x}")
    if html_safe != value:
        yield html_safe


def percent_spellings(plain: bytes) -> Iterator[str]:
    """Yield the forms in which addresses and forms write these bytes, if they change any."""
    for spelling in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        if "%" in spelling:
            yield spelling
            yield re.sub(r"%..", lambda escape: escape[0].lower(), spelling)


def base64_spellings(plain: bytes) -> Iterator[str]:
    """Yield the characters that any base64 of what contains these bytes must contain, at each
    alignment."""
    for lead in range(3):
        encoded = base64.b64encode(b"\0" * lead + plain).decode()
        own = encoded[-(-lead * 4 // 3) : (lead + len(plain)) * 4 // 3]
        yield own
        if "+" in own or "/" in own:
            yield own.replace("+", "-").replace("/", "_")
