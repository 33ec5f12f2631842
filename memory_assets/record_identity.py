"""What a record is known by, wherever it is written: keyed with the installation's key.

Agents give most records a UUID. Where they give none, a reader derives an id from the
record's text (`DERIVED`), and a hash of a text confirms a guess of that text. So readers
hand on such ids in memory only. What is written is made here: `stored` (the lake), and in
64 and 32 bits, where records are compared, `id_of`, `family_of` and `content_of` (the
catalogue, tombstones). `id_of(stored(value)) == id_of(value)`, so that rows of the lake can
be compared with records of a file.
"""

from __future__ import annotations

import re
from hashlib import blake2b

DERIVED = "x-"
"""How an id begins that a reader derived from other text: 32 hex digits follow."""
_STORED = "k-"
_DERIVED_ID = re.compile(r"x-[0-9a-f]{32}")
_STORED_ID = re.compile(r"k-[0-9a-f]{32}")


def mark(text: str) -> int:
    """Return 64 bits that stand for `text` in memory: equal in every process, unkeyed, and
    so never to be written."""
    return int.from_bytes(_mark(text), "little")


def looks_stored(value: str) -> bool:
    """Whether an id looks like one that `stored` made."""
    return _STORED_ID.fullmatch(value) is not None


class RecordIdentity:
    """The ids of records under one installation's key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "RecordIdentity()"

    @property
    def recognised_by(self) -> int:
        """What tells this key from another one."""
        return self.content_of(b"")

    def stored(self, value: str) -> str:
        """Return an id as it may be written: an agent's own as it is; of one that a reader
        derived, the 64 bits that it is compared by, then those of the family it begins."""
        if not (value.startswith(DERIVED) and _DERIVED_ID.fullmatch(value)):
            return value
        marked = _mark(value)
        return f"{_STORED}{self._id(marked).hex()}{self._family(marked).hex()}"

    def id_of(self, record_uuid: str) -> int:
        """Return the 64 bits that a record is compared by, from the id that a reader gave
        or that was stored."""
        if looks_stored(record_uuid):
            return int.from_bytes(bytes.fromhex(record_uuid[2:18]), "little")
        return int.from_bytes(self._id(_mark(record_uuid)), "little")

    def id_of_mark(self, marked: int) -> int:
        """Return `id_of` of the id that `marked` is the mark of."""
        return int.from_bytes(self._id(marked.to_bytes(8, "little")), "little")

    def family_of(self, record_uuid: str) -> int:
        """Return what stands for all files that begin with this record, as a signed number
        of 64 bits."""
        if looks_stored(record_uuid):
            return int.from_bytes(bytes.fromhex(record_uuid[18:]), "little", signed=True)
        return int.from_bytes(self._family(_mark(record_uuid)), "little", signed=True)

    def family_of_mark(self, marked: int) -> int:
        """Return `family_of` of the id that `marked`, signed, is the mark of."""
        value = self._family(marked.to_bytes(8, "little", signed=True))
        return int.from_bytes(value, "little", signed=True)

    def content_of(self, content: bytes) -> int:
        """Return 32 bits, never 0, that stand for what a record says."""
        digest = blake2b(content, key=self._key, digest_size=4, person=b"record-content").digest()
        return int.from_bytes(digest, "little") or 1

    def id_of_tombstone(self, keyed: bytes) -> bytes:
        """Return the bytes of `id_of` of the record that a tombstone of the first form names."""
        return blake2b(keyed, key=self._key, digest_size=8, person=b"record-id").digest()

    def family_of_tombstone(self, keyed: bytes) -> bytes:
        """Return the bytes of `family_of` of the family that such a tombstone names."""
        return blake2b(keyed, key=self._key, digest_size=8, person=b"record-family").digest()

    def _id(self, marked: bytes) -> bytes:
        return self.id_of_tombstone(self._tombstone(b"record", marked))

    def _family(self, marked: bytes) -> bytes:
        return self.family_of_tombstone(self._tombstone(b"family", marked))

    def _tombstone(self, kind: bytes, marked: bytes) -> bytes:
        # The first form of tombstones comes first, so that those written then still count.
        value = kind + b"\0" + marked
        return blake2b(value, key=self._key, digest_size=16, person=b"tombstones").digest()


def _mark(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
