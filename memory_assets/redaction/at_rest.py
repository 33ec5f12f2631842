"""Hashes of texts without findings, so that the same text is scanned only once.

A text is redacted, composed into others, written, and read back for the check of its table. The
rules of a redactor never change, so that a text without findings stays one.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice

_SIZE = 16
_MOST = 1 << 16
"""Hashes that are kept, about 7 MB; a table is checked soon after its texts were redacted."""


class AtRest:
    """A set of texts by their hashes of 16 bytes, emptied when it is full. `added` is the number of
    texts ever added."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._hashes: dict[bytes, None] = {}
        self.added = 0

    def add(self, text: str) -> None:
        """Add a text without findings."""
        self._add(_hash(text))

    def since(self, added: int) -> bytes:
        """Return the joined hashes of the texts added since `added` had this value."""
        return b"".join(islice(reversed(self._hashes), self.added - added))

    def include(self, hashes: bytes) -> None:
        """Add texts without findings by their hashes from another process with the same rules."""
        for start in range(0, len(hashes), _SIZE):
            self._add(hashes[start : start + _SIZE])

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
