"""Texts in which the redactor found nothing, remembered so that the same text is scanned once.

A text is redacted, composed into others, written and read back for the check of its table. Rules
do not change while a redactor lives, so a text without findings stays one. Only hashes are kept.
"""

from __future__ import annotations

from hashlib import blake2b

_MOST = 1 << 16
"""Some 7 MB. The check of a project's table follows the table, so older texts are not missed."""


class AtRest:
    """The texts at rest, by their hashes of 16 bytes; emptied when it is full."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._hashes: set[bytes] = set()

    def add(self, text: str) -> None:
        """Remember that nothing is found in a text."""
        if len(self._hashes) >= self._most:
            self._hashes.clear()
        self._hashes.add(_hash(text))

    def __contains__(self, text: str) -> bool:
        return _hash(text) in self._hashes


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
