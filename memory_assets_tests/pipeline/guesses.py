"""What somebody could compute who guesses right, and where it stands in a data directory.

They have the directory, but not the install key. For each guess of a text they try every
common hash of it, in every form that it may have been hashed and written in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from memory_assets.record_identity import DERIVED
from memory_assets.transcripts import Source, read_session
from memory_assets.transcripts.fields import safe_id

_HEAD = 8
_ENOUGH = 16
"""Characters that must agree: 64 bits of a hash in hex, more in other spellings."""
_NAMESPACES = (uuid.NAMESPACE_DNS, uuid.NAMESPACE_URL, uuid.NAMESPACE_OID, uuid.NAMESPACE_X500)


def guesses(sources: Iterable[Source], sentences: Iterable[str]) -> set[str]:
    """Every text that would be tried: the sentences, the lines and objects that they stand
    in, what a reader makes of them, alone and joined as code is wont to join."""
    texts = {form for text in sentences for form in (text, safe_id(text))}
    for source in sources:
        for line in source.path.read_text().splitlines():
            texts.update({line, *_parts(json.loads(line))})
        for record in read_session(source.path, source=source):
            kinds = (record.kind, record.role, record.subtype, record.session_id)
            texts.update({record.text, record.record_uuid, record.parent_uuid or ""})
            texts.update({record.tool_use_id, record.message_id, record.command})
            for joint in ("\0", "\x1f", ":", "\n"):
                texts.update(f"{kind}{joint}{record.text}" for kind in kinds)
    told = {text for text in texts if "password" in text or text.startswith(DERIVED)}
    return told | {json.dumps(text) for text in told if not text.startswith(DERIVED)}


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield json.dumps(value)
        yield json.dumps(value, separators=(",", ":"), sort_keys=True)
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, str) and " " in part:
            yield part
        elif isinstance(part, dict | list):
            yield from _parts(part)


def digests(text: str) -> Iterator[bytes]:
    """Every hash of a text that is in common use, unkeyed; an id that a reader derived is
    one already."""
    content = text.encode()
    if text.startswith(DERIVED):
        yield bytes.fromhex(text[len(DERIVED) :])
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "sha3_512"):
        yield hashlib.new(name, content).digest()
    for size in range(8, 65):
        yield hashlib.blake2b(content, digest_size=size).digest()
    for size in range(8, 33):
        yield hashlib.blake2s(content, digest_size=size).digest()
    for namespace in _NAMESPACES:
        yield uuid.uuid3(namespace, text).bytes
        yield uuid.uuid5(namespace, text).bytes


def spellings(digest: bytes) -> Iterator[bytes]:
    """The forms that a hash is written in, as far as they must agree."""
    yield digest[:_HEAD]
    yield digest[:_HEAD][::-1]
    yield digest.hex()[:_ENOUGH].encode()
    yield digest.hex()[:_ENOUGH].upper().encode()
    yield base64.b64encode(digest)[:_ENOUGH]
    yield base64.urlsafe_b64encode(digest)[:_ENOUGH]
    yield base64.b32encode(digest)[:_ENOUGH]
    yield base64.b85encode(digest)[:_ENOUGH]
    for order in ("little", "big"):
        for signed in (False, True):
            number = int.from_bytes(digest[:8], order, signed=signed)  # type: ignore[arg-type]
            yield str(number).encode()[: _ENOUGH + 1]


class Needles:
    """All spellings of all hashes of the guesses, sought in bytes at every place."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_head: dict[bytes, dict[bytes, str]] = {}
        self._short: dict[str, str] = {}
        for text in texts:
            for digest in digests(text):
                for needle in spellings(digest):
                    self._by_head.setdefault(needle[:_HEAD], {})[needle] = text
            for checksum in (zlib.crc32(text.encode()), zlib.adler32(text.encode())):
                self._short |= {str(checksum): text, f"{checksum:08x}": text}
        heads = b"".join(head for head in self._by_head if len(head) == _HEAD)
        self._heads = np.sort(np.frombuffer(heads, dtype="<u8"))

    def found_in(self, content: bytes) -> set[str]:
        """The texts that something in these bytes is a hash of."""
        found = set()
        for shift in range(_HEAD):
            usable = (len(content) - shift) // _HEAD * _HEAD
            windows = np.frombuffer(content[shift : shift + usable], dtype="<u8")
            for place in np.flatnonzero(_among(windows, self._heads)):
                start = shift + int(place) * _HEAD
                for needle, text in self._by_head[content[start : start + _HEAD]].items():
                    if content.startswith(needle, start):
                        found.add(text)
        return found

    def is_checksum(self, value: str) -> str | None:
        """The text that a whole value is a checksum of: 32 bits would be met by chance
        among bytes."""
        return self._short.get(value)


def _among(values: npt.NDArray[np.uint64], known: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    places = np.searchsorted(known, values)
    places[places == len(known)] = 0
    among: npt.NDArray[Any] = known[places] == values
    return among


def confirmed(root: Path, needles: Needles) -> dict[str, set[str]]:
    """The guesses that a data directory confirms, by the file that does."""
    found: dict[str, set[str]] = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        where = str(path.relative_to(root))
        texts = needles.found_in(where.encode() + b"\0" + path.read_bytes())
        for value in _values(path):
            content = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
            if len(content) >= _HEAD:
                texts |= needles.found_in(content)
            if text := needles.is_checksum(str(value)):
                texts.add(text)
        if texts:
            found[where] = texts
    return found


def _values(path: Path) -> Iterator[Any]:
    """Every value of a table or a database, and what a file of the lake says of itself."""
    head = path.read_bytes()[:16]
    if head.startswith(b"PAR1"):
        file = pq.ParquetFile(path)
        for column in file.read().itercolumns():
            yield "\0".join(map(str, column.to_pylist()))
        yield "\0".join(
            f"{key!r}{value!r}" for key, value in (file.metadata.metadata or {}).items()
        )
    elif head.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (name,) in names.fetchall():
                for row in database.execute(f'SELECT * FROM "{name}"'):
                    yield from (value for value in row if value is not None)
