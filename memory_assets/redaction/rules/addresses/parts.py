"""Take an address apart, keeping the place of each part in the text.

An address begins at `://`, with its scheme before it, and ends at white space, a quote, or the
scheme of the next address (`https://a/?next=https://b`), so that each character is in one address.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 8_000
"""Most characters that are read of an address."""
_BODY = re.compile(r"(?:[^\s\"'<>`\\:]++|:(?!//))*+")
_BACKWARDS = re.compile(r"[A-Za-z0-9.+-]{0,29}[A-Za-z]")
"""A scheme, read from its end."""
_FIELD = re.compile(r"(?:(?P<name>[\w.:$%\[\]-]{1,80}?)=)?(?P<value>.*)", re.DOTALL)
_BRACKETS = re.compile(r"(?i)\[|\]|%5B|%5D")
"""Around the parts of a name: `user[password]`."""
_TAIL = ".,;:!?([{)]}|*"
"""What ends sentences and brackets, and no token."""
_FRAGMENT = re.compile(r"[^&=,!/:#]+")


class Part(NamedTuple):
    """A part of an address: its text, where that begins, and the name it has in the address."""

    value: str
    start: int
    name: str = ""


class Address(NamedTuple):
    """An address in a text. Parts without text are left out."""

    scheme: str
    """In lower case; empty if none stands before `://`."""
    user: Part
    """Without the password."""
    password: str
    """Empty if there is none, `:` if it is empty."""
    host: Part
    """In lower case, with the port."""
    segments: list[Part]
    """Of the path, in order, without matrix parameters."""
    fields: list[Part]
    """Parameters of the query and matrix parameters of the path."""
    fragment: list[Part]
    """Parts of the fragment."""
    body: Part
    """All that follows `://`, without the query and the fragment."""


def address_end(text: str, position: int) -> int:
    """Return where the address ends whose `://` is at `position`, with the punctuation after it and
    the scheme of an address that follows without a space."""
    body = _BODY.match(text, position + 3)
    return body.end() if body else position + 3


def scheme_before(text: str, position: int) -> str:
    """Return the scheme that ends at `position`, or an empty text."""
    scheme = _BACKWARDS.match(text[max(position - 30, 0) : position][::-1])
    return scheme.group()[::-1] if scheme else ""


def read_address(text: str) -> Address:
    """Return the parts of the address that is `text`, from its scheme to its end."""
    scheme, separator, value = text.partition("://")
    start = len(scheme) + len(separator)
    value = value.rstrip(_TAIL)
    authority, path, query, fragment = _sections(value)
    login, _, host = authority.rpartition("@")
    user, colon, password = login.partition(":")
    segments, fields = _path(path, start + len(authority))
    before_query = start + len(authority) + len(path)
    fields += _fields(query[1:], before_query + 1)
    return Address(
        scheme.lower(),
        Part(user, start),
        password or colon,
        Part(host.lower(), start + len(authority) - len(host)),
        segments,
        fields,
        _fragment(fragment, before_query + len(query)),
        Part(authority + path, start),
    )


def _sections(value: str) -> tuple[str, str, str, str]:
    """Return authority, path, query (from `?` on) and fragment (from `#` on) of an address."""
    value, sharp, fragment = value.partition("#")
    value, mark, query = value.partition("?")
    authority, slash, path = value.partition("/")
    return authority, slash + path, mark + query, sharp + fragment


def _path(path: str, start: int) -> tuple[list[Part], list[Part]]:
    """Return the segments and matrix parameters of a path that begins at `start`."""
    segments: list[Part] = []
    fields: list[Part] = []
    for segment in path.split("/"):
        first, *rest = segment.split(";")
        named = _FIELD.fullmatch(first)
        if named is not None and named["name"] and named["value"].strip("="):
            fields.append(Part(named["value"], start + named.start("value"), named["name"]))
        elif first:
            segments.append(Part(first, start))
        if rest:
            fields += _fields(";".join(rest), start + len(first) + 1)
        start += len(segment) + 1
    return segments, fields


def _fields(query: str, start: int) -> list[Part]:
    """Return the parameters of a query that begins at `start`; a value without a name has none."""
    fields: list[Part] = []
    for field in re.split("[&;]", query):
        begin = start
        start += len(field) + 1
        for piece in field.split("~") if "~" in field and field.count("=") > 1 else (field,):
            named = _FIELD.fullmatch(piece)
            if named is not None and named["value"]:
                name = _BRACKETS.sub(".", named["name"] or "").strip(".")
                fields.append(Part(named["value"], begin + named.start("value"), name))
            begin += len(piece) + 1
    return fields


def _fragment(fragment: str, start: int) -> list[Part]:
    """Return the parts of a fragment whose `#` is at `start`, each with the name before it."""
    parts: list[Part] = []
    name = ""
    for part in _FRAGMENT.finditer(fragment):
        assigned = fragment[part.end() : part.end() + 1] == "="
        parts.append(Part(part.group(), start + part.start(), name))
        name = part.group() if assigned else ""
    return parts
