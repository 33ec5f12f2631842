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

import numpy as np
import numpy.typing as npt

from memory_assets.redaction.spellings import spellings

_LENGTH_BYTES, _MAC_BYTES, _BEGINNING = 2, 16, 12
HASH_BYTES = _LENGTH_BYTES + _MAC_BYTES + _BEGINNING
LONGEST = 4_000
"""How many characters the longest text may have."""
_MOST_BYTES = 65_535
"""A longer form of it is not sought: of 4,000 signs of four bytes each, percent-encoded twice."""
_NUMBERED = 8
"""How many bytes, of two bits each, are looked at as one number."""
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


def _numbers(bits: bytes) -> npt.NDArray[np.uint16]:
    """Return at each of some bytes, of two bits each, the number that it and the next seven are,
    the lowest first; as if zeros came after them. Four more follow."""
    octets = np.frombuffer(bits + bytes(_NUMBERED + 3), dtype=np.uint8)
    fours = octets[:-3] | octets[1:-2] << 2 | octets[2:-1] << 4 | octets[3:] << 6
    numbers = fours[:-4] | fours[4:].astype(np.uint16) << 8
    return numbers.astype(np.uint16, copy=False)


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
    def _sought(self) -> dict[bytes, list[tuple[int, bytes, bytes]]]:
        """Length, MAC and hash of the texts with each beginning, which many forms of one share."""
        sought: dict[bytes, list[tuple[int, bytes, bytes]]] = {}
        for known in self.hashes:
            length = int.from_bytes(known[:_LENGTH_BYTES], "big")
            mac = known[_LENGTH_BYTES:-_BEGINNING]
            beginning = _hidden(known[-_BEGINNING:], mac, self.key)[:length]
            sought.setdefault(beginning, []).append((length, mac, known))
        return sought

    @cached_property
    def _sizes(self) -> frozenset[int]:
        """How long the beginnings are."""
        return frozenset(map(len, self._sought))

    @cached_property
    def _tables(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Whether a beginning may have a number (`_numbers`) at its first byte, and at its fifth;
        one that ends before has any."""
        tables = np.zeros((2, 1 << 2 * _NUMBERED), dtype=np.bool_)
        for beginning in self._sought:
            for table, part in zip(tables, (beginning, beginning[4:]), strict=True):
                number = sum(bits << 2 * at for at, bits in enumerate(part[:_NUMBERED]))
                table[number :: 1 << 2 * min(len(part), _NUMBERED)] = True
        return tables[0], tables[1]

    def hits(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield start, end and hash of each text in `data`, by start. How long it takes does not
        depend on the number of texts."""
        if not self.hashes or len(data) < min(self._sizes):
            return
        bits = data.translate(_BITS)
        numbers = _numbers(bits)
        first, fifth = self._tables
        places = np.flatnonzero(first[numbers[: len(bits)]])
        places = places[fifth[numbers[places + 4]]]
        ends: dict[bytes, int] = {}
        for start in places.tolist():
            for size in self._sizes:
                for length, mac, known in self._sought.get(bits[start : start + size], ()):
                    end = start + length
                    if end > len(data) or start < ends.get(known, 0):
                        continue
                    if hmac.compare_digest(_mac(data[start:end], self.key), mac):
                        ends[known] = end
                        yield start, end, known

    def spans(self, text: str) -> Iterator[tuple[int, int, bytes]]:
        """Yield start, end and hash of each in `text`, in characters."""
        data = text.encode("utf-8", "surrogatepass")
        for start, end, known in self.hits(data):
            if len(data) != len(text):
                start, end = (
                    len(data[:at].decode("utf-8", "surrogatepass")) for at in (start, end)
                )
            yield start, end, known
