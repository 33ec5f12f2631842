"""Tell whether a part of an address is ordinary: words, numbers, names of files, ids of a form.

What a part looks like is one thing, how little it takes to redact it another: that depends on where
it stands (`Bar`), from places where hardly anything but a secret stands to those of public ids.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import evidence, is_time

_NEVER = 100_000


class Bar(NamedTuple):
    """What a part must reach at a place to be taken for a secret."""

    bits: float
    """Of evidence that it was drawn, if it is neither hexadecimal nor a UUID."""
    length: int
    """Its shortest length, then."""
    hexadecimal: int
    """The shortest length of hexadecimal digits."""
    uuid: bool
    """True if a UUID is enough."""


AFTER_SECRET_WORD = Bar(10, 8, 10, True)
"""Directly behind a word such as `webhook`."""
NEAR_SECRET_WORD = Bar(16, 12, 16, True)
"""Further behind it, or on a host that is named so."""
RECEIVING = Bar(14, 8, 16, True)
"""On a host that does little but receive."""
BEHIND_ACTION = Bar(20, 12, _NEVER, False)
"""Behind a word such as `session`, which an id follows more often than a secret."""
BEHIND_AUTH = Bar(20, 12, 32, False)
"""Behind `auth` and `login`, which no commit or file follows."""
SIGNATURE = Bar(4, 8, 8, True)
"""Under a name for signatures."""
SECRET_NAME = Bar(12, 10, 16, True)
"""Under a name for what gives access."""
CODE = Bar(10, 8, 16, True)
"""Under a name for codes that give access once, which are short."""
SHORT_NAME = Bar(12, 10, 16, False)
"""Under a name that has such values, and ids."""
ANYWHERE = Bar(20, 16, _NEVER, False)
"""Where nothing says what stands there: hexadecimal digits and UUIDs are ids and hashes."""
UNNAMED_FIELD = Bar(30, 18, _NEVER, False)
"""Under a name that says nothing: addresses are full of ids of campaigns and visitors."""
USERS_HASH = Bar(20, 16, 32, False)
"""Under a name for hashes, beside a user."""
CALL_FIELD = Bar(30, 18, 32, False)
"""Under such a name, where programs call."""
COLLECTION = Bar(40, 26, _NEVER, False)
"""Behind the name of a collection, which has ids."""
NOTIFYING = Bar(8, 8, 16, True)
"""In addresses of services that notify."""
OWN_SCHEME = Bar(20, 16, 32, False)
"""In addresses of other schemes than the web's."""
NOWHERE = Bar(_NEVER, _NEVER, _NEVER, False)

_LONGEST_UNNAMED = 400
"""Characters; what is longer is a picture or a document."""

_PIECE = re.compile(r"(?:[\w~+-]|%(?:2[BbFf]|3[Dd]))+={0,2}")
"""A piece of a part, without what separates pieces; `%2B`, `%2F` and `%3D` are base64."""
_EXTENSION = re.compile(
    r"(?:\.(?:html?|php\d?|aspx?|jspx?|cgi|css|m?jsx?|tsx?|map|json5?|xml|ya?ml|toml|ini|conf|lock"
    r"|md|rst|txt|log|csv|tsv|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svgz?|webp|avif|ico|bmp|tiff?"
    r"|mp[34]|m4[av]|mov|avi|webm|ogg|wav|flac|zip|tar|t?gz|bz2|xz|zst|7z|rar|whl|egg|gem|jar|war"
    r"|deb|rpm|apk|dmg|exe|msi|iso|img|py|pyi|rb|rs|go|java|kt|c|cc|cpp|h|hpp|cs|sh|sql|ipynb|wasm"
    r"|woff2?|ttf|eot|ics|rss|atom|m3u8|mpd|sig|asc|patch|diff|nupkg|tgz|torrent|bin|dat|parquet"
    r"|gguf|safetensors|ts|send)(?![\w-])){1,3}$",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"(?i)\.(?:ics|xml|rss|atom|m3u8|mpd|json|send|sh|ya?ml|svg|mp3|mp4)$")
"""Ends of names of files that are made for one person."""
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_HEXADECIMAL = re.compile(r"(?<![^\W_])(?=\d*[A-Fa-f])(?:[0-9a-f]{10,}|[0-9A-F]{10,})(?![^\W_])")
_JOINTS = re.compile("[-_]")
_OTHERWISE_NAMED = re.compile(r"(?:diff|GHSA|CVE|RFC|ISBN|PEP|ASIN)[-_]|base64,", re.IGNORECASE)
"""Beginnings of what says itself that it is no secret."""
_NEVER_DRAWN = re.compile(r"[a-z]+(?:[-_][a-z]+)*|v?\d+(?:[._-]\d+)*|[A-Z][a-z]+|[A-Z_]+")


def is_file(segment: str) -> bool:
    """Return True if `segment` is the name of a file, other than of one made for one person."""
    return _EXTENSION.search(segment) is not None and _CONTENT.search(segment) is None


def stem(segment: str) -> str:
    """Return `segment` without the extension of a file."""
    return _EXTENSION.sub("", segment)


def is_secret(value: str, bar: Bar) -> bool:
    """Return True if some piece of `value` reaches `bar`, and `value` is no stand-in."""
    return bar is not NOWHERE and _NEVER_DRAWN.fullmatch(value) is None and _reaches(value, bar)


def _reaches(value: str, bar: Bar) -> bool:
    if bar is UNNAMED_FIELD and len(value) > _LONGEST_UNNAMED:
        return False
    plain = unquote(value)
    if (
        values.is_identifier_of_something(plain)
        or values.is_reference(plain)
        or values.is_placeholder(plain)
        or is_time(plain)
        or _OTHERWISE_NAMED.match(plain)
    ):
        return False
    pieces = value.replace("+", " ") if bar is UNNAMED_FIELD else value
    return any(_piece_reaches(piece, bar) for piece in _PIECE.findall(pieces))


def _piece_reaches(piece: str, bar: Bar) -> bool:
    """Return True if one piece reaches `bar`: by UUIDs and hexadecimal digits in it, or by the
    rest of it."""
    rest = _UUID.sub("", piece)
    if rest != piece and bar.uuid:
        return True
    for digits in _HEXADECIMAL.findall(rest):
        if len(digits) >= bar.hexadecimal and len(set(digits)) >= 6:
            return True
    rest = unquote(_HEXADECIMAL.sub("", rest))
    return any(_is_drawn(part, bar) for part in (rest, *_JOINTS.split(rest)))


def _is_drawn(value: str, bar: Bar) -> bool:
    return (
        len(value) >= bar.length
        and (values.has_digit(value) or len(value) >= 20)
        and evidence(value) >= bar.bits
    )
