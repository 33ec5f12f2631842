"""Fills in the texts of `missed_kinds_texts.py`.

`{t}` is 24 drawn letters and digits (`{t16}` 16), `{x}` 32 hex digits (`{x28}` 28, `{X}` 64,
`{X48}` 96), `{u}` a UUID, `{b}` and `{b43}` base64 of 32 bytes, `{b64}` of 240, `{p}` a drawn
password with a sign, `{c}` a word and a number as people choose them, `{w}` words in one, with a
sign or without; `{c1}`, `{t1}` and so on are pieces of one. `B64(...)`, `B64URL(...)`, `URL(...)`,
`HEX(...)`, `HEXB(...)` (as `\\x41`) and `QP(...)` encode what is in their brackets, the innermost
first; `HEXR40` is 40 hex digits.
"""

from __future__ import annotations

import base64
import quopri
import random
import re
import string
import uuid
from urllib.parse import quote

from memory_assets.word_lists import words

_WORDS = words(
    "harbor walnut marigold granite lantern falcon meadow copper thistle juniper saffron beacon"
    " orchid timber pepper anchor velvet cobalt willow ember"
)
_ALPHANUMERIC = string.ascii_letters + string.digits
_HOLE = re.compile(r"\{(?P<kind>[tcwpxXub]\d{0,2})\}")
_ENCODED = re.compile(r"(?P<how>B64URL|B64|URL|HEXB|HEX|QP)\((?P<plain>[^()]*)\)")
_HEX_OF = re.compile(r"HEXR(\d+)")


def filled(template: str, seed: int = 0) -> tuple[str, list[str]]:
    """Return the text of a template, and what of it may not stay: values, or what encodes them."""
    source = random.Random(f"{template}{seed}")
    secrets: list[str] = []

    def value(hole: re.Match[str]) -> str:
        secrets.append(_drawn(hole["kind"], source))
        return secrets[-1]

    text = _HEX_OF.sub(lambda hole: _of("0123456789abcdef", int(hole[1]), source), template)
    text = _HOLE.sub(value, text)
    encoded: list[str] = []
    while found := _ENCODED.search(text):
        plain = found["plain"]
        coded = _encoded(found["how"], plain)
        if found["how"] not in ("URL", "QP"):
            encoded = [each for each in encoded if each not in plain] + [coded]
        text = text[: found.start()] + coded.replace("(", "").replace(")", "") + text[found.end() :]
    return text, encoded or secrets


def _drawn(kind: str, source: random.Random) -> str:
    number = int(kind[1:] or 0)
    if kind[0] == "t":
        return _mixed(number if number > 2 else 24 if not number else 12, source)
    if kind[0] == "c":
        word = source.choice(_WORDS)
        return word if number == 1 else f"{word}{source.randint(10, 9999)}"
    if kind[0] == "w":
        first, second = (word.capitalize() for word in source.sample(_WORDS, 2))
        return first + source.choice(("", "!", "*")) + second
    if kind[0] == "p":
        return f"{_mixed(9, source)}{source.choice('!#%')}{_mixed(4, source)}"
    if kind[0] == "u":
        return str(uuid.UUID(int=source.getrandbits(128), version=4))
    if kind[0] in "xX":
        return _of(
            "0123456789abcdef", number * (1 + (kind[0] == "X")) or 32 << (kind[0] == "X"), source
        )
    coded = base64.b64encode(source.randbytes(240 if number == 64 else 32)).decode()
    return coded.rstrip("=") if number == 43 else coded


def _mixed(count: int, source: random.Random) -> str:
    drawn = _of(_ALPHANUMERIC, count - 3, source)
    return drawn + source.choice("BCDFGHJK") + source.choice("23456789") + source.choice("pqrstvwx")


def _of(pool: str, count: int, source: random.Random) -> str:
    return "".join(source.choice(pool) for _ in range(count))


def _encoded(how: str, plain: str) -> str:
    data = plain.encode()
    if how == "B64":
        return base64.b64encode(data).decode()
    if how == "B64URL":
        return base64.urlsafe_b64encode(data).decode().rstrip("=")
    if how == "URL":
        return quote(plain, safe="")
    if how == "QP":
        return quopri.encodestring(data).decode()
    return "".join(f"\\x{byte:02x}" for byte in data) if how == "HEXB" else data.hex()
