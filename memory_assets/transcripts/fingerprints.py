"""Keyed fingerprints of transcript files: equal for equal bytes, and for nobody else.

A fingerprint has a hash per block of the file. When a file has grown, only its new blocks
are hashed, and a few blocks are enough to check that its beginning is unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from memory_assets.errors import unreadable

_BLOCK = 1 << 20
_DIGEST = 16


@dataclass(frozen=True)
class Fingerprint:
    """Keyed hashes of the blocks of a file's first `length` bytes, the last one as long as
    it may be, joined."""

    length: int
    blocks: bytes

    def hex(self, key: bytes) -> str:
        """Return a digest of the whole fingerprint, 32 hex digits."""
        digest = blake2b(f"{self.length}\0".encode(), key=key, digest_size=_DIGEST)
        digest.update(self.blocks)
        return digest.hexdigest()

    @property
    def full_blocks(self) -> bytes:
        """The hashes of the blocks that will not change when the file grows."""
        return self.blocks[: self.length // _BLOCK * _DIGEST]

    def extends(self, other: Fingerprint) -> bool:
        """Return True if the full blocks of `other` are the first blocks of this."""
        return self.length >= other.length and self.blocks.startswith(other.full_blocks)


def take_fingerprint(
    path: Path, length: int, key: bytes, before: Fingerprint | None = None
) -> Fingerprint:
    """Return the fingerprint of the first `length` bytes of a file. Full blocks of `before`,
    an earlier fingerprint of fewer bytes, are not read again.

    Raises:
        TranscriptError: it cannot be read.
    """
    known = before.full_blocks if before is not None else b""
    first = len(known) // _DIGEST
    hashes = [digest for _, digest in _hashes(path, length, key, _numbers(length, first))]
    return Fingerprint(length, known + b"".join(hashes))


def begins_with(path: Path, known: Fingerprint, key: bytes) -> bool:
    """Return True if the beginning of a file still matches `known`: the first block, the last
    two and one other are compared.

    Raises:
        TranscriptError: it cannot be read.
    """
    numbers = list(_numbers(known.length, 0))
    if not numbers:
        return True
    drawn = int.from_bytes(known.blocks[-4:], "little") % len(numbers)
    chosen = sorted({numbers[0], *numbers[-2:], numbers[drawn]})
    return all(
        digest == known.blocks[number * _DIGEST : (number + 1) * _DIGEST]
        for number, digest in _hashes(path, known.length, key, chosen)
    )


def _numbers(length: int, first: int) -> range:
    return range(first, -(-length // _BLOCK))


def _hashes(
    path: Path, length: int, key: bytes, numbers: list[int] | range
) -> Iterator[tuple[int, bytes]]:
    """Yield the hash of each block of these numbers."""
    try:
        with path.open("rb", buffering=0) as file:
            for number in numbers:
                start = number * _BLOCK
                block = os.pread(file.fileno(), min(_BLOCK, length - start), start)
                yield number, blake2b(block, key=key, digest_size=_DIGEST).digest()
    except OSError as error:
        raise unreadable(path, error) from error
