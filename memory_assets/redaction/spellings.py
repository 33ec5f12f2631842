"""The forms in which programs embed a text in another: escaped, percent-encoded, hex, base64."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from unicodedata import normalize
from urllib.parse import quote, quote_plus

_WHOLE = 8
"""Characters of the shortest variant of a text that is searched for besides the text itself."""


def spellings(text: str) -> dict[str, str]:
    """Return each form in which a text may stand in another, with the name of the form: as it is,
    with other line ends, in one line, its letters composed or decomposed; each of these escaped as
    in JSON (once and twice) and in HTML, percent-encoded, in hex and in base64 at each alignment
    (also of UTF-16, and twice)."""
    forms: dict[str, str] = {}
    lines = text.replace("\r\n", "\n")
    variants = (lines, lines.replace("\n", "\r\n"), " ".join(text.split()))
    composed = (normalize(form, text) for form in ("NFC", "NFD"))
    for plain in (text, *(variant for variant in (*variants, *composed) if len(variant) >= _WHOLE)):
        data = plain.encode("utf-8", "surrogatepass")
        wide = plain.encode("utf-16-le", "surrogatepass")
        base64_forms = list(base64_spellings(data))
        base64_twice = (base64_spellings(form.encode()) for form in base64_forms)
        percent_forms = list(percent_spellings(data))
        percent_twice = percent_spellings(quote(data, safe="").encode())
        escaped = (html.escape(plain), html.escape(plain, quote=False))
        by_form: dict[str, Iterable[str]] = {
            "plain": (plain,),
            "escaped": (*json_spellings(plain), *escaped, escaped[0].replace("&#x27;", "&#39;")),
            "percent-encoded": (*percent_forms, *(percent_twice if percent_forms else ())),
            "hex": (data.hex(), data.hex().upper()),
            "base64": (*base64_forms, *base64_spellings(wide)),
            "base64 twice": chain.from_iterable(base64_twice),
        }
        for form, spelled in by_form.items():
            forms |= {spelling: form for spelling in spelled if spelling not in forms}
    return forms


def json_spellings(value: str) -> Iterator[str]:
    """Yield the forms of a text escaped as in JSON, once and twice."""
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
    """Yield the percent-encoded forms of these bytes that differ from them."""
    for spelling in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        if "%" in spelling:
            yield spelling
            yield re.sub(r"%..", lambda escape: escape[0].lower(), spelling)


def base64_spellings(plain: bytes) -> Iterator[str]:
    """Yield, for each of the three alignments, the characters that base64 of any data with these
    bytes contains."""
    for lead in range(3):
        encoded = base64.b64encode(b"\0" * lead + plain).decode()
        own = encoded[-(-lead * 4 // 3) : (lead + len(plain)) * 4 // 3]
        yield own
        if "+" in own or "/" in own:
            yield own.replace("+", "-").replace("/", "_")
