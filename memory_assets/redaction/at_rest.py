"""Texts in which the redactor found nothing, remembered so that the same text is scanned once.

A text is redacted, composed into others, written and read back for the check of its table. Rules
do not change while a redactor lives, so a text without findings stays one. Only hashes are kept.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice

_SIZE = 16
_MOST = 1 << 16
"""Some 7 MB. The check of a project's table follows the table, so older texts are not missed."""


class AtRest:
    """The texts at rest, by their hashes of 16 bytes; emptied when it is full. `added`: how many
    were ever added."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._hashes: dict[bytes, None] = {}
        self.added = 0

    def add(self, text: str) -> None:
        """Remember that nothing is found in a text."""
        self._add(_hash(text))

    def since(self, added: int) -> bytes:
        """Return the hashes of the texts that were added after so many."""
        return b"".join(islice(reversed(self._hashes), self.added - added))

    def include(self, hashes: bytes) -> None:
        """Remember texts in which another process with these rules found nothing."""
        for at in range(0, len(hashes), _SIZE):
            self._add(hashes[at : at + _SIZE])

    def __contains__(self, text: str) -> bool:
        return _hash(text) in self._hashes

    def _add(self, digest: bytes) -> None:
        if digest in self._hashes:
            return
        if len(self._hashes) >= self._most:
            self._hashes.clear()
        self._hashes[digest] = None
        self.added += 1


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
