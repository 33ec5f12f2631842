"""Draws the values that fill the templates of `addresses.py`: tokens, passwords, ids."""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from memory_assets.word_lists import words

_SIZED = re.compile(r"([a-zA-Z])(\d+)")
_ALPHABETS = {
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "b": string.ascii_letters + string.digits,
    "B": string.ascii_letters,
    "u": string.ascii_letters + string.digits + "_-",
    "U": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "T": string.ascii_uppercase + "234567",
}
_WORDS = words(
    "summer winter dragon monkey harbor falcon orange castle guitar silver tiger coffee purple"
    " rocket shadow pepper bailey maggie hunter butter cactus banjo velvet anchor meadow lobster"
)
_FRAMES = (
    *("{}", "see {} for it", 'curl -s "{}"', "url = '{}'", "- [link]({})", "`{}`"),
    *('{{"url": "{}", "n": 1}}', "GET {}\n200 OK", "2024-05-01 12:00:01 INFO calling {}\n"),
    "export URL={}",
)
VARIANTS = {
    **{"pw": 5, "pwplain": 3, "wn": 3, "tok": 5, "weak": 3, "odd": 3, "oddpath": 3, "escaped": 3},
}
"""How many values of a kind are tried; two of all others."""
_WEAK = words(
    "sunshine letmein qwerty hunter2 admin s3cret test1234 welcome toor P4ssw0rd iloveyou 123456"
    " abc123 trustno1 dbpass1 Winter2024 secret root guest postgres"
)
_SIGNS = {
    "odd": "!$^&*()_+-=[]{}|;,.~",
    "oddfield": "!$*()_-.~",
    "odddollar": "$!$",
    "oddpath": "@:/?#%!",
    "oddquote": "'!",
    "odddouble": '"$',
    "oddangle": "<>^&",
}
"""The signs in passwords of a kind, each of which has two of them at least."""


class Values:
    """Draws values of all kinds."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)

    def draw(self, kind: str, variant: int) -> str:
        """Return a value of `kind`, in one of the forms that it has."""
        sized = _SIZED.fullmatch(kind)
        if sized is not None:
            return self._token(_ALPHABETS[sized[1]], int(sized[2]))
        named = self._named(variant).get(kind)
        return named() if named else self._base64(kind)

    def frame(self) -> str:
        """Return what an address stands in."""
        return self._chance.choice(_FRAMES)

    def below(self, number: int) -> int:
        """Return a number below `number`."""
        return self._chance.randrange(number)

    def _token(self, alphabet: str, length: int) -> str:
        while True:  # a drawn token of ten or more has a digit
            token = "".join(self._chance.choice(alphabet) for _ in range(length))
            if length < 10 or alphabet.isalpha() or any(map(str.isdigit, token)):
                return token

    def _joined(self, sign: str, *kinds: str) -> str:
        return sign.join(self.draw(kind, 0) for kind in kinds)

    def _base64(self, kind: str) -> str:
        """Return base64, escaped for an address, of which `kind` ends with the length."""
        length = int(kind.lstrip(string.ascii_letters))
        size = {44: 32, 28: 20, 172: 128}.get(length, length * 3 // 4)
        drawn = base64.b64encode(self._chance.randbytes(size)).decode()
        return drawn.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")

    def _named(self, variant: int) -> dict[str, Callable[[], str]]:
        plain = (0, 3, 2, 6, 9)
        return {
            "uuid": lambda: self._joined("-", "h8", "h4", "h4", "h4", "h12"),
            "tg": lambda: self._joined("", "d10") + ":AA" + self.draw("u33", 0),
            "jwt": lambda: (
                "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI" + self._joined(".", "b40", "u43")
            ),
            "jwtish": lambda: "eyJ1c2VyX2lkIjo" + self._joined(".", "b50", "u27"),
            "pat52": lambda: self._token(string.ascii_lowercase + "234567", 52),
            "ghp": lambda: "ghp_" + self.draw("b36", 0),
            "ghs": lambda: "ghs_" + self.draw("b36", 0),
            "glpat": lambda: "glpat-" + self.draw("u20", 0),
            "dashed": lambda: self._joined("-", "d12", "d13", "h32"),
            "dashedwords": lambda: "-".join(self._chance.sample(_WORDS, 4)),
            "grouped4": lambda: self._joined("-", "l4", "l4", "l4", "l4", "l4"),
            "tk": lambda: "ac-" + self.draw("uuid", 0),
            "gotify": lambda: "A" + self.draw("u14", 0),
            "ucode": lambda: (
                self._token(string.ascii_uppercase, 4) + "-" + self._word()[:4].upper()
            ),
            "shp": lambda: "shppa_" + self.draw("h32", 0),
            "tok": lambda: self.draw(("h32", "b32", "u43", "uuid", "b20")[variant % 5], 0),
            "pw": lambda: self._password(variant % 11),
            "pwplain": lambda: self._password(plain[variant % 5]),
            "wn": lambda: self._password((0, 4, 6)[variant % 3]),
            "weak": lambda: self._chance.choice(_WEAK),
            "weakdollar": lambda: self._chance.choice(_WEAK) + "$",
            "escaped": lambda: quote(self._odd("!$&*+=;,@:/?#%"), safe=""),
            **{kind: partial(self._odd, signs) for kind, signs in _SIGNS.items()},
            "pin": lambda: self._token(string.digits, self._chance.randint(4, 8)),
        }

    def _odd(self, signs: str) -> str:
        """Return a password of letters, digits and `signs`, at least two of them."""
        drawn = list(self.draw(f"b{self._chance.randint(7, 12)}", 0))
        for _ in range(self._chance.randint(2, 4)):
            drawn.insert(self.below(len(drawn) + 1), self._chance.choice(signs))
        return "".join(drawn)

    def _word(self) -> str:
        return self._chance.choice(_WORDS)

    def _password(self, form: int) -> str:
        """Return a password that a person chose, or a drawn one, escaped for an address."""
        word, number = self._word(), self._chance.randint(1, 9_999)
        sign = self._chance.choice(("%40", "%23", "$"))
        return (
            *(f"{word}{number}", f"{word.title()}{number}%21", f"{word}-{self._word()}-{number}"),
            *(word, f"{word[:4]}{number % 100}", f"{word.title()}{sign}{number}"),
            *(self.draw("b14", 0), self.draw("u15", 0) + "!", f"{word}_{self._word()}"),
            *(f"p{number}w", self.draw("h24", 0)),
        )[form]
