"""What somebody could compute who guesses right, and where it stands in a data directory.

They have the directory, but not the install key. For each guess of a text they try every
common hash of it, in every form that it may have been hashed and written in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import string
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
from memory_assets.transcripts.ids import safe_id

_HEAD = 8
_ENOUGH = 16
"""Characters that must agree: 64 bits of a hash in hex, more in other spellings."""
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits
_BASE85 = (
    string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~"
)
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
    for size in range(8, 65, 4):
        yield hashlib.blake2b(content, digest_size=size).digest()
    for size in range(8, 33, 4):
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
            number = int.from_bytes(digest[:8], order, signed=signed)
            yield str(number).encode()[: _ENOUGH + 1]


class Needles:
    """All spellings of all hashes of the guesses, sought in bytes at every place.

    Kept of each spelling are its first eight bytes, as a number among sorted ones; where such
    a number stands in what is searched, the whole spelling is made and compared.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        known = sorted(texts)
        self._short: dict[str, str] = {}
        self._digests = [(digest, text) for text in known for digest in digests(text)]
        for text in known:
            for checksum in (zlib.crc32(text.encode()), zlib.adler32(text.encode())):
                self._short |= {str(checksum): text, f"{checksum:08x}": text}
        beginnings = _beginnings([digest for digest, _ in self._digests])
        order = np.argsort(beginnings, axis=None)
        self._heads = beginnings.ravel()[order]
        self._owners = order % max(len(self._digests), 1)

    def found_in(self, content: bytes) -> set[str]:
        """The texts that something in these bytes is a hash of."""
        found = set()
        for shift in range(_HEAD):
            usable = (len(content) - shift) // _HEAD * _HEAD
            windows = np.frombuffer(content[shift : shift + max(usable, 0)], dtype="<u8")
            for head in self._known_among(np.unique(windows)):
                spelled = self._spelled(head)
                for place in np.flatnonzero(windows == head):
                    start = shift + int(place) * _HEAD
                    found |= {text for each, text in spelled if content.startswith(each, start)}
        return found

    def _known_among(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        places = np.searchsorted(self._heads, values)
        places[places == len(self._heads)] = 0
        among: npt.NDArray[np.uint64] = values[self._heads[places] == values]
        return among

    def _spelled(self, head: np.uint64) -> list[tuple[bytes, str]]:
        """The whole spellings that begin with a head, each with its text."""
        first, last = (np.searchsorted(self._heads, head, side) for side in ("left", "right"))
        owners = (self._digests[place] for place in set(self._owners[first:last].tolist()))
        begin = head.tobytes()
        return [
            (each, text)
            for digest, text in owners
            for each in spellings(digest)
            if each.startswith(begin)
        ]

    def is_checksum(self, value: str) -> str | None:
        """The text that a whole value is a checksum of: 32 bits would be met by chance
        among bytes."""
        return self._short.get(value)


def _beginnings(known: list[bytes]) -> npt.NDArray[np.uint64]:
    """The first eight bytes of each of `spellings`, as numbers: a row a spelling, a column a
    digest. What `spellings` does for one digest is done here for all at once."""
    heads = b"".join(digest[:_HEAD] for digest in known)
    octets = np.frombuffer(heads, dtype=np.uint8).reshape(-1, _HEAD)
    bits = np.unpackbits(octets, axis=1)
    words = np.frombuffer(heads, dtype=">u4").reshape(-1, 2).astype(np.int64)
    base85 = [words[:, place // 5] // 85 ** (4 - place % 5) % 85 for place in range(_HEAD)]
    digits = [
        [f"{number:<{_HEAD}}"[:_HEAD] for number in np.frombuffer(heads, dtype=kind).tolist()]
        for kind in ("<u8", "<i8", ">u8", ">i8")
    ]
    rows = [
        octets,
        octets[:, ::-1],
        _letters("0123456789abcdef", _groups(bits, 4)),
        _letters("0123456789ABCDEF", _groups(bits, 4)),
        _letters(_BASE64 + "+/", _groups(bits, 6)),
        _letters(_BASE64 + "-_", _groups(bits, 6)),
        _letters(string.ascii_uppercase + "234567", _groups(bits, 5)),
        _letters(_BASE85, np.stack(base85, axis=1)),
        *(np.frombuffer("".join(each).encode(), dtype=np.uint8).reshape(-1, 8) for each in digits),
    ]
    return np.stack([np.ascontiguousarray(row).view("<u8")[:, 0] for row in rows])


def _groups(bits: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.int64]:
    """The first eight numbers of `size` bits each."""
    weights = 1 << np.arange(size)[::-1]
    grouped: npt.NDArray[np.int64] = bits[:, : _HEAD * size].reshape(-1, _HEAD, size) @ weights
    return grouped


def _letters(alphabet: str, places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(alphabet.encode(), dtype=np.uint8)[places]


def confirmed(root: Path, needles: Needles) -> dict[str, set[str]]:
    """The guesses that a data directory confirms, by the file that does."""
    found: dict[str, set[str]] = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        where = str(path.relative_to(root))
        texts = needles.found_in(where.encode() + b"\0" + path.read_bytes())
        values = list(_values(path))
        texts |= needles.found_in(
            b"\0".join(
                value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
                for value in values
            )
        )
        texts |= {text for value in values if (text := needles.is_checksum(str(value)))}
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
