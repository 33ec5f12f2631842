"""Keyed fingerprints of transcripts: equal for equal bytes, and for nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from memory_assets.transcripts.content import Content

_BLOCK = 1 << 20
_DIGEST = 16


def take_fingerprint(contents: Sequence[Content], length: int, key: bytes) -> str:
    """Return a digest of the first `length` bytes that contents keep, in order, 32 hex digits, made
    of the hashes of their blocks.

    Raises:
        TranscriptError: one cannot be read.
    """
    whole = blake2b(f"{length}\0".encode(), key=key, digest_size=_DIGEST)
    left = length
    for content in contents:
        at = 0
        while left > 0 and (block := content.read(at, at + min(_BLOCK, left))):
            whole.update(blake2b(block, key=key, digest_size=_DIGEST).digest())
            left -= len(block)
            at += len(block)
    return whole.hexdigest()
