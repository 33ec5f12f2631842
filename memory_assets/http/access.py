"""The host that an HTTP request names, and the token that it brings."""

from __future__ import annotations

import base64
import binascii
import re

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)(?:%[\w.~%-]+)?\]|([\w.-]+))(?::\d{0,5})?")
"""A name or an address, with or without a port, which may be empty (RFC 3986, 3.2.3); an address of
IPv6 may name the interface that it is of (RFC 6874)."""


def host_of(header: str) -> str | None:
    """Return the name in a Host header, without port and interface; None if it is not one name."""
    host = _HOST.fullmatch(header)
    return (host[1] or host[2]).lower() if host else None


def token_of(authorization: str, *, basic: bool = True) -> str:
    """Return the bearer token of an Authorization header or, with `basic`, the password of Basic
    authentication, for which a browser asks its user; "" if it has neither."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic" and basic:
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""
