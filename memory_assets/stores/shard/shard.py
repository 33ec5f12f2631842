"""A shard: the redacted products of one memory, as immutable objects listed by a head.

    <prefix>/<name>/heads/<generation>           what the shard is at a generation (`Head`)
    <prefix>/<name>/blobs/<generation>/<hash>    a manifest of a project, or a file of the lake

The head of the highest generation is the shard; a writer makes the next one, which fails if
somebody else did. So there is no lock and no lease, and a writer that is killed at any point leaves
the shard as it was. A blob's key has the generation that it was made for: what is swept after a
generation took effect can never be what a writer of a later one is about to name.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from memory_assets.errors import NotFound, StoreDamaged, StoreMismatch
from memory_assets.stores.shard.objects import Objects

FORMAT = 1
_LARGEST_MANIFEST = 2**28
"""Bytes of a manifest's text. One is of a single project, and has about 20 rows a session."""
_NOT_AS_WRITTEN = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError),
    *(zlib.error, sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.IntegrityError),
)
"""The errors that unexpected values in JSON cause when they are read or stored."""
_TRIES = 5
_HEADS, _BLOBS = "heads", "blobs"
_KEY = re.compile(rf"{_BLOBS}/[0-9]{{12,}}/[0-9a-f]{{64}}")


@dataclass(frozen=True)
class Head:
    """A generation of a shard: the key of each project's manifest, and the `forgotten` sessions, as
    `tombstones.travelling` names them. `made_of`: for a derived shard, a hash of the source's head
    and of the versions of code. `id` is the hash of the head's object."""

    generation: int
    written_at: str
    projects: Mapping[str, str] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()
    made_of: str = ""
    id: str = ""

    def to_bytes(self) -> bytes:
        """Return the head's object."""
        values = {**asdict(self), "forgotten": sorted(self.forgotten), "format": FORMAT}
        del values["id"]
        if not self.made_of:
            del values["made_of"]
        return json.dumps(values, sort_keys=True).encode()


@dataclass(frozen=True)
class Manifest:
    """A project of a shard: the key and the size of each file of the lake, by `<table>/<name>`, and
    the rows of the catalogue, as lists of the values of `Product` and `SourceRow`."""

    project: str
    files: Mapping[str, tuple[str, int]]
    products: Sequence[Sequence[Any]]
    sources: Sequence[Sequence[Any]]

    def to_bytes(self) -> bytes:
        """Return the manifest's object."""
        text = json.dumps({**asdict(self), "format": FORMAT}, sort_keys=True)
        return zlib.compress(text.encode())

    @classmethod
    def of(cls, content: bytes) -> Manifest:
        """Return the manifest that is in an object.

        Raises:
            StoreMismatch: a newer version wrote it.
            StoreDamaged: it is no manifest, or larger than any can be.
        """
        with reading("a manifest"):
            unpacking = zlib.decompressobj()
            text = unpacking.decompress(content, _LARGEST_MANIFEST)
            if not unpacking.eof:
                raise StoreDamaged("a manifest is cut off, or too large")
            values = _without_format(json.loads(text))
            values["files"] = {
                str(name): (str(key), int(size)) for name, (key, size) in values["files"].items()
            }
            return cls(**values)


class Shard:
    """One shard. Its methods raise the errors of `Objects`."""

    def __init__(self, objects: Objects, name: str) -> None:
        self.name = name
        self.url = f"{objects.url}/{name}" if name else objects.url
        self._objects = objects
        self._prefix = f"{name}/" if name else ""

    def __repr__(self) -> str:
        return f"Shard({self.url!r})"

    def generation(self) -> int:
        """Return the number of the last generation, by one request; 0 where there is none."""
        names = (key.rpartition("/")[2] for key in self._keys(_HEADS))
        return max((int(name) for name in names if name.isdecimal()), default=0)

    def head(self) -> Head | None:
        """Return the present head; None of a shard that was never written.

        Raises:
            StoreMismatch: a newer version wrote it.
            StoreDamaged: it is no head.
        """
        for _ in range(_TRIES):
            generation = self.generation()
            if not generation:
                return None
            try:
                content = self._objects.get(self._key(_HEADS, _padded(generation)))
            except NotFound:  # the next one took its place
                continue
            with reading(f"the head of {self.url}"):
                values = _without_format(json.loads(content))
                values["projects"] = {
                    str(name): str(key) for name, key in values["projects"].items()
                }
                values["forgotten"] = frozenset(map(str, values["forgotten"]))
                if values["generation"] != generation:
                    raise ValueError
                return Head(**values, id=sha256(content).hexdigest())
        raise StoreDamaged(f"{self.url} has a head that cannot be read")

    def get(self, key: str) -> bytes:
        """Return a blob.

        Raises:
            NotFound: it is not there; the head that names it is not the present one any more.
            StoreDamaged: it is not what its key says, or the key, which another machine wrote, is
                none of a blob of this shard.
        """
        if _KEY.fullmatch(key) is None:
            raise StoreDamaged(f"{self.url} is damaged: it names no blob of its own: {key[:200]!r}")
        content = self._objects.get(self._prefix + key)
        if sha256(content).hexdigest() != key.rpartition("/")[2]:
            raise StoreDamaged(f"{self.url}/{key} is damaged: its hash is another one")
        return content

    def put_blob(self, generation: int, content: bytes) -> str:
        """Store a blob for a generation that is to come, and return its key."""
        key = f"{_BLOBS}/{_padded(generation)}/{sha256(content).hexdigest()}"
        self._objects.create(self._prefix + key, content)
        return key

    def swap_head(self, head: Head) -> Head | None:
        """Make this the head if the present one is of the generation before, and return it with its
        id; None if another writer was first."""
        content = head.to_bytes()
        key = self._key(_HEADS, _padded(head.generation))
        if not self._objects.create(key, content):
            return None
        if self.generation() != head.generation:  # the one before was long swept
            self._objects.delete([key])
            return None
        return replace(head, id=sha256(content).hexdigest())

    def sweep(self, head: Head, named: Iterable[str]) -> int:
        """Delete all objects up to the generation of the present `head` that it does not need:
        older heads, and blobs but for those `named`; return their number."""
        needed = {self._key(_HEADS, _padded(head.generation))}
        needed |= {self._prefix + key for key in named}
        last = _padded(head.generation)
        old = [
            key
            for key in (*self._keys(_HEADS), *self._keys(_BLOBS))
            if key not in needed
            and key.removeprefix(self._prefix).split("/")[1].lstrip(".") <= last
        ]
        self._objects.delete(old)
        return len(old)

    def delete(self) -> int:
        """Delete the shard, its heads first, and return the number of its objects."""
        keys = [*self._keys(_HEADS), *self._keys(_BLOBS)]
        self._objects.delete(keys)
        return len(keys)

    def _keys(self, folder: str) -> list[str]:
        return self._objects.keys(self._prefix + folder)

    def _key(self, folder: str, name: str) -> str:
        return f"{self._prefix}{folder}/{name}"


def shards_below(objects: Objects, prefix: str = "") -> list[Shard]:
    """Return the shards below an address, by name; one that is at the address has none."""
    folders = objects.folders(prefix)
    if _HEADS in folders:
        return [Shard(objects, prefix)]
    within = f"{prefix}/" if prefix else ""
    return [shard for name in folders for shard in shards_below(objects, within + name)]


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Report unexpected values in a shard, which another machine wrote, as damage.

    Raises:
        StoreDamaged: the block within failed because of the values that it read.
    """
    try:
        yield
    except _NOT_AS_WRITTEN as error:
        raise StoreDamaged(f"{what} is damaged ({type(error).__name__})") from error


def _padded(generation: int) -> str:
    return f"{generation:012d}"


def _without_format(values: dict[str, Any]) -> dict[str, Any]:
    if values.pop("format", None) != FORMAT:
        raise StoreMismatch("the shard was written by a newer memory_assets; install that one")
    return values
