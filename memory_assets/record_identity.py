"""Keyed ids of records, for everything that is written.

Agents give most records a UUID. For the others a reader derives an id from the record's text
(`DERIVED`), and such a hash confirms a guess of the text. So readers pass such ids in memory only.
The forms that are written are made here: `stored` for the lake, and `id_of`, `family_of` and
`content_of` (64 and 32 bits) for comparisons in the catalogue and in tombstones.
`id_of(stored(value)) == id_of(value)`, so that rows of the lake can be compared with records of a
file.
"""

from __future__ import annotations

import re
from hashlib import blake2b

DERIVED = "x-"
"""Prefix of an id that a reader derived from text; 32 hex digits follow."""
_STORED = "k-"
_DERIVED_ID = re.compile(r"x-[0-9a-f]{32}")
_STORED_ID = re.compile(r"k-[0-9a-f]{32}")


def text_hash(text: str) -> int:
    """Return a 64-bit hash of `text`, for memory only: equal in every process and unkeyed, so it
    must never be written."""
    return int.from_bytes(_mark(text), "little")


def looks_stored(value: str) -> bool:
    """Return True if an id has the form that `stored` returns."""
    return _STORED_ID.fullmatch(value) is not None


class RecordIdentity:
    """The ids of records under one install key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "RecordIdentity()"

    @property
    def recognised_by(self) -> int:
        """A number that differs between keys."""
        return self.content_of(b"")

    def stored(self, value: str) -> str:
        """Return an id as it may be written: an agent's own id unchanged; for an id derived from
        text, the 64 bits of `id_of`, then the 64 bits of `family_of`."""
        if not (value.startswith(DERIVED) and _DERIVED_ID.fullmatch(value)):
            return value
        marked = _mark(value)
        return f"{_STORED}{self._id(marked).hex()}{self._family(marked).hex()}"

    def id_of(self, record_uuid: str) -> int:
        """Return the 64 bits that identify a record, for the id from a reader or from the lake."""
        if looks_stored(record_uuid):
            return int.from_bytes(bytes.fromhex(record_uuid[2:18]), "little")
        return int.from_bytes(self._id(_mark(record_uuid)), "little")

    def family_of(self, record_uuid: str) -> int:
        """Return the signed 64 bits that are equal for all files that begin with this record (a
        session and its forks)."""
        if looks_stored(record_uuid):
            return int.from_bytes(bytes.fromhex(record_uuid[18:]), "little", signed=True)
        return int.from_bytes(self._family(_mark(record_uuid)), "little", signed=True)

    def content_of(self, content: bytes) -> int:
        """Return a keyed 32-bit hash, never 0, of a record's content."""
        return int.from_bytes(self._keyed(content, b"record-content", 4), "little") or 1

    def _id(self, marked: bytes) -> bytes:
        return self._twice(b"record", marked, b"record-id")

    def _family(self, marked: bytes) -> bytes:
        return self._twice(b"family", marked, b"record-family")

    def _twice(self, kind: bytes, marked: bytes, person: bytes) -> bytes:
        # The tombstones of 0.1.0 had the inner hash; ids that are on record have it since.
        return self._keyed(self._keyed(kind + b"\0" + marked, b"tombstones", 16), person, 8)

    def _keyed(self, value: bytes, person: bytes, size: int) -> bytes:
        return blake2b(value, key=self._key, digest_size=size, person=person).digest()


def _mark(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
