"""Secrets recognised by keyed hash alone, without keeping them.

What is hashed is the longest run of token characters in the value, because runs can be
cut out of any text, or any bytes, without knowing the value. Only values that nobody can
guess have such a hash: a run of 16 characters or more that mixes digits and letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

_RUN = re.compile(r"[A-Za-z0-9_\-]{16,512}")
_RUN_BYTES = re.compile(rb"[A-Za-z0-9_\-]{16,512}")
_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[A-Za-z]")
_HASH_BYTES = 16


def value_hash(value: str, key: bytes) -> bytes | None:
    """Return the keyed hash by which `value` is known, or None if it could be guessed."""
    runs = _RUN.findall(value)
    if not runs:
        return None
    run = max(runs, key=len).encode()
    return _keyed(run, key) if _is_machine_made(run) else None


def _is_machine_made(run: bytes) -> bool:
    return _DIGIT.search(run) is not None and _LETTER.search(run) is not None


def _keyed(run: bytes, key: bytes) -> bytes:
    return blake2b(run, key=key, digest_size=_HASH_BYTES, person=b"known-values").digest()


@dataclass(frozen=True)
class KnownValues:
    """A set of keyed hashes, and the search for what they stand for."""

    key: bytes = field(repr=False)
    hashes: frozenset[bytes] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the stretches of `text` that are known secrets, in order."""
        if not self.hashes:
            return
        for run in _RUN.finditer(text):
            if self._is_known(run.group().encode()):
                yield run.span()

    def hits(self, data: bytes) -> Iterator[int]:
        """Yield the offsets in `data` at which known secrets stand."""
        if not self.hashes:
            return
        for run in _RUN_BYTES.finditer(data):
            if self._is_known(run.group()):
                yield run.start()

    def _is_known(self, run: bytes) -> bool:
        return _is_machine_made(run) and _keyed(run, self.key) in self.hashes
