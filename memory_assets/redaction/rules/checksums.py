"""Tokens that carry a checksum of themselves.

GitHub and npm end a classic token in six base62 digits, the CRC-32 of the thirty
characters after the prefix ("Behind GitHub's new authentication token formats", GitHub's
blog, 2021; npm's tokens follow it). A valid checksum proves a token, whatever words it
happens to contain; a wrong one proves nothing, since invented and cut-off tokens are
redacted all the same.
"""

from __future__ import annotations

import zlib

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM, _CHECK = 30, 6
CHECKED = frozenset(("github-token", "npm-token"))
"""The rules whose tokens have a checksum."""


def checksum(random_part: str) -> str:
    """Return the six base62 digits of the checksum of a token's random part."""
    number, digits = zlib.crc32(random_part.encode()), ""
    while number:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits.rjust(_CHECK, "0")


def is_proven(rule: str, token: str) -> bool:
    """Return True if `token`, found by `rule`, ends in its own checksum."""
    body = token.partition("_")[2]
    return (
        rule in CHECKED
        and body.isascii()
        and len(body) == _RANDOM + _CHECK
        and checksum(body[:_RANDOM]) == body[_RANDOM:]
    )
