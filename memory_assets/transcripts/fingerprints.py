"""Keyed fingerprints of transcript files: equal for equal bytes, and for nobody else."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from memory_assets.errors import TranscriptError

_BLOCK = 1024 * 1024


def file_fingerprint(path: Path, length: int, key: bytes) -> str:
    """Return a keyed hash of the first `length` bytes of a file, 32 hex digits.

    Raises:
        TranscriptError: it cannot be read.
    """
    digest = blake2b(key=key, digest_size=16)
    left = length
    try:
        with path.open("rb") as file:
            while left > 0 and (block := file.read(min(_BLOCK, left))):
                digest.update(block)
                left -= len(block)
    except OSError as error:
        raise TranscriptError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()
