"""Recognise texts that the owner had cut out of the memory, wherever they stand, by keyed hash.

A secret that no rule finds may be guessable, may hold blanks, and need not stand between other
characters than its own, so it is sought at every place of a text. What is kept of it are its
length, a hash, and two bits of each of its first bytes, encrypted with a key that the hash and the
install key give together: who has no install key learns nothing but the length.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from memory_assets.redaction.spellings import spellings

_LENGTH_BYTES, _MAC_BYTES, _BEGINNING = 2, 16, 12
HASH_BYTES = _LENGTH_BYTES + _MAC_BYTES + _BEGINNING
LONGEST = 4_000
"""How many characters the longest text may have."""
_MOST_BYTES = 65_535
"""A longer form of it is not sought: of 4,000 signs of four bytes each, percent-encoded twice."""
_BITS = bytes(byte & 3 for byte in range(256))


def hashes_of_text(text: str, key: bytes) -> frozenset[bytes]:
    """Return the keyed hash of each form in which a text may be written (`spellings`)."""
    sizes = {form: len(form.encode("utf-8", "surrogatepass")) for form in spellings(text)}
    return frozenset(hash_of_text(form, key) for form in sizes if sizes[form] <= _MOST_BYTES)


def hash_of_text(text: str, key: bytes) -> bytes:
    """Return the keyed hash of a text."""
    data = text.encode("utf-8", "surrogatepass")
    mac = _mac(data, key)
    beginning = data[:_BEGINNING].translate(_BITS).ljust(_BEGINNING, b"\0")
    return len(data).to_bytes(_LENGTH_BYTES, "big") + mac + _hidden(beginning, mac, key)


def _mac(text: bytes, key: bytes) -> bytes:
    return blake2b(text, key=key, digest_size=_MAC_BYTES, person=b"forgotten-text").digest()


def _hidden(beginning: bytes, mac: bytes, key: bytes) -> bytes:
    """Return bytes encrypted, or decrypted, with a key for this text alone."""
    pad = blake2b(mac, key=key, digest_size=_BEGINNING, person=b"forgotten-start").digest()
    return bytes(a ^ b for a, b in zip(beginning, pad, strict=True))


@dataclass(frozen=True)
class ForgottenTexts:
    """The texts with these hashes, and the search for them."""

    key: bytes = field(repr=False)
    hashes: Iterable[bytes] = ()

    @cached_property
    def _sought(self) -> list[tuple[int, bytes, bytes, bytes]]:
        """Length, MAC, beginning and hash of each text."""
        sought = []
        for known in self.hashes:
            length = int.from_bytes(known[:_LENGTH_BYTES], "big")
            mac = known[_LENGTH_BYTES:-_BEGINNING]
            beginning = _hidden(known[-_BEGINNING:], mac, self.key)
            sought.append((length, mac, beginning[: min(length, _BEGINNING)], known))
        return sought

    def hits(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield start, end and hash of each text in `data`, in no particular order."""
        if not self.hashes:
            return
        bits = data.translate(_BITS)
        for length, mac, beginning, known in self._sought:
            start = bits.find(beginning)
            while 0 <= start <= len(data) - length:
                end = start + length
                if hmac.compare_digest(_mac(data[start:end], self.key), mac):
                    yield start, end, known
                    start = bits.find(beginning, end)
                else:
                    start = bits.find(beginning, start + 1)

    def spans(self, text: str) -> Iterator[tuple[int, int, bytes]]:
        """Yield start, end and hash of each in `text`, in characters."""
        data = text.encode("utf-8", "surrogatepass")
        for start, end, known in self.hits(data):
            if len(data) != len(text):
                start, end = (
                    len(data[:at].decode("utf-8", "surrogatepass")) for at in (start, end)
                )
            yield start, end, known
