"""Tags that replace secrets: `<redacted:RULE:DIGEST>`.

The digest is an HMAC-SHA256 of the secret with the installation's key, cut to 48 bits. It is the
same wherever the secret occurs, so that sessions with the same key can be found without revealing
it. Values that could be guessed (passwords and short values) are keyed to their session as well, so
that a tag never confirms a guess in another session.
"""

from __future__ import annotations

import hmac
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

DIGEST_HEX = 12
"""Hex digits of a tag's digest."""

TAG = re.compile(r"<redacted:(?P<rule>[a-z0-9-]{1,60}):(?P<digest>[0-9a-f]{12})>")
"""Matches every tag of a secret, and nothing else."""


class Tagger:
    """Makes the tags of one session. `session_id` is "" for text outside any session."""

    def __init__(self, key: bytes, session_id: str = "") -> None:
        self._key = key
        self._session_id = session_id

    def __repr__(self) -> str:
        return "Tagger()"

    @cached_property
    def _session_key(self) -> bytes:
        name = self._session_id.encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, b"session\0" + name, "sha256")

    def tag(self, rule: str, secret: str, *, guessable: bool) -> str:
        """Return the tag that replaces `secret`, which `rule` found."""
        key = self._session_key if guessable else self._key
        digest = hmac.digest(key, secret.encode("utf-8", "surrogatepass"), "sha256").hex()
        return f"<redacted:{rule}:{digest[:DIGEST_HEX]}>"


_INERT = re.compile(f"{TAG.pattern}|<redacted-file-contents-of-[0-9]{{1,15}}-bytes>")


class Inert:
    """The ranges of a text that are already tags, and are never changed again.

    Only complete tags count: text that merely begins like a tag is ordinary text.
    """

    def __init__(self, text: str) -> None:
        self._tags = [tag.span() for tag in _INERT.finditer(text)] if "<redacted" in text else []

    def without(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a range that are outside tags, in order."""
        place = max(bisect_right(self._tags, (start, start)) - 1, 0)
        while place < len(self._tags) and start < end:
            tag_start, tag_end = self._tags[place]
            place += 1
            if tag_start >= end:
                break
            if tag_end > start:
                if start < tag_start:
                    yield start, tag_start
                start = tag_end
        if start < end:
            yield start, end
