"""Text that only this installation can read: encrypted with its key.

For what must be read back and holds unkeyed hashes of transcripts' text, such as where a
reader stopped. Equal text gives equal bytes, so that writing it again changes nothing: the
cipher is AES-SIV (RFC 5297), which is made for that.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV


def seal_text(install_key: bytes, text: str) -> str:
    """Return `text` encrypted."""
    sealed = _cipher(install_key).encrypt(zlib.compress(text.encode(), 1), None)
    return base64.b64encode(sealed).decode()


def unseal_text(install_key: bytes, sealed: str) -> str | None:
    """Return the text that `seal_text` was given; None if it was under another key, or is
    damaged."""
    from cryptography.exceptions import InvalidTag

    try:
        content = _cipher(install_key).decrypt(base64.b64decode(sealed, validate=True), None)
    except (binascii.Error, InvalidTag):
        return None
    return zlib.decompress(content).decode()


@lru_cache(maxsize=2)
def _cipher(install_key: bytes) -> AESSIV:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(hashlib.blake2b(b"sealed text", key=install_key, digest_size=64).digest())
