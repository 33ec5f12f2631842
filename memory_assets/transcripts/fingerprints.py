"""Keyed fingerprints of transcript files: equal for equal bytes, and for nobody else."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from memory_assets.errors import unreadable

_BLOCK = 1 << 20
_DIGEST = 16


def take_fingerprint(path: Path, length: int, key: bytes) -> str:
    """Return a digest of the first `length` bytes of a file, 32 hex digits, made of the hashes of
    its blocks.

    Raises:
        TranscriptError: it cannot be read.
    """
    whole = blake2b(f"{length}\0".encode(), key=key, digest_size=_DIGEST)
    try:
        with path.open("rb", buffering=0) as file:
            for start in range(0, length, _BLOCK):
                block = file.read(min(_BLOCK, length - start))
                whole.update(blake2b(block, key=key, digest_size=_DIGEST).digest())
    except OSError as error:
        raise unreadable(path, error) from error
    return whole.hexdigest()
