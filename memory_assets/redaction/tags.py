"""What stands in a secret's place: `<redacted:RULE:DIGEST>`.

The digest is an HMAC-SHA256 of the secret, cut to 48 bits. Under the installation's key
it is the same wherever the secret was pasted, so "which sessions hold this key?" can be
asked without revealing it. Values that could be guessed (passwords and whatever is short)
are keyed to their session as well, so that equal tags never confirm a guess elsewhere.
"""

from __future__ import annotations

import hmac
import re

DIGEST_HEX = 12
"""Hex digits of a tag's digest."""

TAG = re.compile(r"<redacted:(?P<rule>[a-z0-9-]{1,60}):(?P<digest>[0-9a-f]{12})>")
"""Every tag of a secret, and nothing else."""


class Tagger:
    """Makes the tags of one session. `session_id` is "" for text outside any session."""

    def __init__(self, key: bytes, session_id: str = "") -> None:
        self._key = key
        self._session_key = hmac.digest(key, b"session\0" + session_id.encode(), "sha256")

    def __repr__(self) -> str:
        return "Tagger()"

    def tag(self, rule: str, secret: str, *, guessable: bool) -> str:
        """Return what stands in place of `secret`, which `rule` found."""
        key = self._session_key if guessable else self._key
        digest = hmac.digest(key, secret.encode("utf-8", "surrogatepass"), "sha256").hex()
        return f"<redacted:{rule}:{digest[:DIGEST_HEX]}>"
