"""Recognise texts that the owner had removed from the memory, anywhere, by keyed hash.

A secret that no rule finds may be guessable, may contain blanks, and may be part of a longer word,
so the search tries every position of a text. The hash holds the length of the removed text, a MAC,
and two bits of each of its first bytes, encrypted with a key derived from the MAC and the install
key: without the install key it tells nothing but the length.
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

_LENGTH_BYTES = 2
_MAC_BYTES = 16
_BEGINNING = 12
"""Bytes of a text, from its start, of which the hash holds two bits each."""
HASH_BYTES = _LENGTH_BYTES + _MAC_BYTES + _BEGINNING
LONGEST = 4_000
"""Characters of the longest text."""
_MOST_BYTES = 65_535
"""Bytes of the longest form that is searched for; 4,000 characters of four bytes that are
percent-encoded twice exceed it."""
_NUMBERED = 8
"""Bytes, of two bits each, that form one number."""
_BITS = bytes(byte & 3 for byte in range(256))


def hashes_of_text(text: str, key: bytes) -> frozenset[bytes]:
    """Return the keyed hash of each form in which a text may be written (`spellings`)."""
    return frozenset(
        hash_of_text(form, key)
        for form in spellings(text)
        if len(form.encode("utf-8", "surrogatepass")) <= _MOST_BYTES
    )


def hash_of_text(text: str, key: bytes) -> bytes:
    """Return the keyed hash of a text."""
    data = text.encode("utf-8", "surrogatepass")
    mac = _mac(data, key)
    beginning = data[:_BEGINNING].translate(_BITS).ljust(_BEGINNING, b"\0")
    return len(data).to_bytes(_LENGTH_BYTES, "big") + mac + _encrypt_or_decrypt(beginning, mac, key)


def _numbers_at(bits: bytes) -> npt.NDArray[np.uint16]:
    """Return for each position of `bits` (bytes of two bits each) the 16-bit number that the next
    eight bytes form, the lowest first, as if zeros followed; and four numbers more."""
    octets = np.frombuffer(bits + bytes(_NUMBERED + 3), dtype=np.uint8)
    fours = octets[:-3] | octets[1:-2] << 2 | octets[2:-1] << 4 | octets[3:] << 6
    numbers = fours[:-4] | fours[4:].astype(np.uint16) << 8
    return numbers.astype(np.uint16, copy=False)


def _mac(text: bytes, key: bytes) -> bytes:
    return blake2b(text, key=key, digest_size=_MAC_BYTES, person=b"forgotten-text").digest()


def _encrypt_or_decrypt(beginning: bytes, mac: bytes, key: bytes) -> bytes:
    """Return the beginning of a text, encrypted or decrypted with a key for this text alone."""
    pad = blake2b(mac, key=key, digest_size=_BEGINNING, person=b"forgotten-start").digest()
    return bytes(a ^ b for a, b in zip(beginning, pad, strict=True))


@dataclass(frozen=True)
class ForgottenTexts:
    """The texts with these hashes, and the search for them."""

    key: bytes = field(repr=False)
    hashes: Iterable[bytes] = ()

    @cached_property
    def _texts_by_beginning(self) -> dict[bytes, list[tuple[int, bytes, bytes]]]:
        """Length, MAC and hash of the texts with each beginning; forms of one text share some."""
        texts: dict[bytes, list[tuple[int, bytes, bytes]]] = {}
        for text_hash in self.hashes:
            length = int.from_bytes(text_hash[:_LENGTH_BYTES], "big")
            mac = text_hash[_LENGTH_BYTES:-_BEGINNING]
            beginning = _encrypt_or_decrypt(text_hash[-_BEGINNING:], mac, self.key)[:length]
            texts.setdefault(beginning, []).append((length, mac, text_hash))
        return texts

    @cached_property
    def _sizes(self) -> frozenset[int]:
        """The lengths of the beginnings, in bytes."""
        return frozenset(map(len, self._texts_by_beginning))

    @cached_property
    def _tables(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """For each number (`_numbers_at`), if a beginning may have it at its first byte, and at
        its fifth. A shorter beginning may be followed by anything."""
        tables = np.zeros((2, 1 << 2 * _NUMBERED), dtype=np.bool_)
        for beginning in self._texts_by_beginning:
            for table, part in zip(tables, (beginning, beginning[4:]), strict=True):
                number = sum(bits << 2 * at for at, bits in enumerate(part[:_NUMBERED]))
                table[number :: 1 << 2 * min(len(part), _NUMBERED)] = True
        return tables[0], tables[1]

    def hits(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield start, end and hash of each removed text in `data`, in bytes, by start. The time
        does not depend on the number of texts."""
        if not self.hashes or len(data) < min(self._sizes):
            return
        bits = data.translate(_BITS)
        numbers = _numbers_at(bits)
        first, fifth = self._tables
        places = np.flatnonzero(first[numbers[: len(bits)]])
        places = places[fifth[numbers[places + 4]]]
        ends: dict[bytes, int] = {}
        for start in places.tolist():
            for size in self._sizes:
                for length, mac, text_hash in self._texts_by_beginning.get(
                    bits[start : start + size], ()
                ):
                    end = start + length
                    if end > len(data) or start < ends.get(text_hash, 0):
                        continue
                    if hmac.compare_digest(_mac(data[start:end], self.key), mac):
                        ends[text_hash] = end
                        yield start, end, text_hash

    def spans(self, text: str) -> Iterator[tuple[int, int, bytes]]:
        """Yield start, end and hash of each removed text in `text`, in characters."""
        data = text.encode("utf-8", "surrogatepass")
        for start, end, text_hash in self.hits(data):
            if len(data) != len(text):
                start, end = (
                    len(data[:position].decode("utf-8", "surrogatepass"))
                    for position in (start, end)
                )
            yield start, end, text_hash
