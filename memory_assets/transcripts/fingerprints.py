"""Keyed fingerprints of transcript files: equal for equal bytes, and for nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from memory_assets.errors import unreadable

_BLOCK = 1 << 20
_DIGEST = 16


def take_fingerprint(paths: Sequence[Path], length: int, key: bytes) -> str:
    """Return a digest of the first `length` bytes on disk of files in order, 32 hex digits, made of
    the hashes of their blocks.

    Raises:
        TranscriptError: one cannot be read.
    """
    whole = blake2b(f"{length}\0".encode(), key=key, digest_size=_DIGEST)
    left = length
    for path in paths:
        try:
            with path.open("rb", buffering=0) as file:
                while left > 0 and (block := file.read(min(_BLOCK, left))):
                    whole.update(blake2b(block, key=key, digest_size=_DIGEST).digest())
                    left -= len(block)
        except OSError as error:
            raise unreadable(path, error) from error
    return whole.hexdigest()
