"""The host that an HTTP request names, and the token that it brings."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import urlsplit


def host_of(header: str) -> str | None:
    """Return the name in a Host header, without the port; None if it has none."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


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
