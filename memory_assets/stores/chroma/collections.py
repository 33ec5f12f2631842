"""Vectors in Chroma: collections, idempotent upserts, ids, nearest neighbours.

It always speaks HTTP: to the server of `server.py`, or to `MEMORY_CHROMA_URL`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt

from memory_assets.errors import NotFound, StoreMismatch
from memory_assets.models import same_space
from memory_assets.redacted_text import RedactedText, require_redacted, seal
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.chroma.client import (
    ChromaClient,
    ChromaCollection,
    ChromaRefused,
    NotFoundError,
)
from memory_assets.stores.chroma.connection import ChromaConnection, chroma_errors
from memory_assets.stores.chroma.foreign import OtherCollection

Metadata = dict[str, str | int | float | bool]
Where = dict[str, Any]

UPSERT_BATCH = 1_000
"""Rows a request: 2,400 rows/s on two cores; larger requests gained nothing."""
_READ_BATCH = 5_000
_REPLACEMENT, _REPLACED = ".replacement", ".replaced"
_WRONG = ("InvalidArgumentError", "InvalidDimensionException")
"""Errors of a request, which another try does not help."""
_TRIES = 3
"""A call may meet a swap and a restart; more than both at once is an error."""


def sessions_collection(agent: str) -> str:
    """Return the name of the collection of an agent's session chunks."""
    return SEARCH_KINDS["sessions"].collection_of(agent)


@dataclass(frozen=True)
class CollectionVersions:
    """The versions with which a collection's rows were made."""

    embedder_id: str
    dimension: int
    chunker_version: str
    ruleset_version: str


@dataclass(frozen=True)
class Neighbour:
    """A row near a query: cosine similarity in [-1, 1], higher is nearer."""

    id: str
    similarity: float
    text: RedactedText
    metadata: Mapping[str, Any]


class VectorStore(ChromaConnection):
    """The collections of one Chroma: at a URL, or of a data directory's own server."""

    def names(self) -> list[str]:
        """Return the names of all collections, sorted. One that is being swapped is there."""
        there = self._stored()
        return sorted(
            {name.removesuffix(_REPLACED) for name in there if not name.endswith(_REPLACEMENT)}
        )

    def _stored(self) -> set[str]:
        return set(self.call(ChromaClient.list_collections))

    def open(self, name: str, versions: CollectionVersions) -> Collection:
        """Return a collection for writing; it is created when it is not there.

        Raises:
            StoreMismatch: its vectors are of another family of embedders.
        """
        self._put_back(name)
        metadata = {**vars(versions), "incarnation": uuid.uuid4().hex}
        raw = self.call(lambda client: client.create_collection(name, metadata, get_or_create=True))
        found = dict(raw.metadata or {})
        _require_same_embedder(name, found, versions)
        if {key: found.get(key) for key in vars(versions)} != vars(versions):
            amended = {**found, **vars(versions)}
            self.call(lambda client: raw.modify(metadata=amended))
        return Collection(self, name, raw)

    def get(self, name: str) -> Collection:
        """Return a collection for reading; raise `NotFound` if there is none of that name."""
        return Collection(self, name, _found(self, name))

    def other(self, name: str) -> OtherCollection:
        """Return any collection, also one that is not ours, for reading; raise `NotFound` if
        there is none."""
        collection = self.get(name)
        return OtherCollection(collection._raw, collection._call)

    def drop(self, name: str) -> None:
        """Delete a collection, if it is there."""
        for stored in {name, f"{name}{_REPLACED}"} & self._stored():
            self._delete(stored)

    def _delete(self, stored: str) -> None:
        with suppress(NotFoundError):
            self.call(lambda client: client.delete_collection(stored))

    def _rename(self, stored: str, name: str) -> None:
        self.call(lambda client: client.get_collection(stored).modify(name=name))

    def _put_back(self, name: str) -> None:
        """Undo an interrupted swap."""
        there = self._stored()
        if name not in there and f"{name}{_REPLACED}" in there:
            self._rename(f"{name}{_REPLACED}", name)

    def begin_replacement(
        self, name: str, versions: CollectionVersions | None = None
    ) -> Collection:
        """Return an empty collection, of an incarnation of its own, that `replace` can put in
        the place of `name`; with the versions of `name`, unless others are given.

        The leftovers of an interrupted replacement are dropped. Searches use the old collection.

        Raises:
            NotFound: there is no such collection, and no versions are given.
        """
        metadata = dict(vars(versions) if versions else self.get(name)._raw.metadata or {})
        metadata["incarnation"] = uuid.uuid4().hex
        self.drop_leftovers(name)
        replacement = f"{name}{_REPLACEMENT}"
        raw = self.call(lambda client: client.create_collection(replacement, metadata))
        return Collection(self, replacement, raw)

    def drop_leftovers(self, name: str) -> None:
        """Delete the replacement of `name` that an interrupted rebuild left."""
        self._put_back(name)
        for leftover in {f"{name}{_REPLACEMENT}", f"{name}{_REPLACED}"} & self._stored():
            self._delete(leftover)

    def replace(self, name: str) -> None:
        """Swap the replacement of `name` in, and delete the old collection. Between the two
        renamings, readers find the old one under its temporary name."""
        old = f"{name}{_REPLACED}"
        if name in self._stored():
            self._rename(name, old)
        self._rename(f"{name}{_REPLACEMENT}", name)
        self._delete(old)


def _found(connection: ChromaConnection, name: str) -> ChromaCollection:
    """Return the collection of a name, or the one that is about to be replaced."""
    for stored in (name, f"{name}{_REPLACED}", name):
        with suppress(NotFoundError):
            return connection.call(partial(_get, stored))
    raise NotFound(f"no collection {name}; run `memory ingest` first")


def _get(stored: str, client: ChromaClient) -> ChromaCollection:
    return client.get_collection(stored)


class Collection:
    """One Chroma collection, cosine space; ids are ours. It may be swapped for another, or
    its server restarted: the next call finds what has its name then."""

    def __init__(self, connection: ChromaConnection, name: str, raw: ChromaCollection) -> None:
        self._connection = connection
        self._name = name
        self._raw = raw

    def _call(self, method: str, **arguments: Any) -> Any:
        """Return the answer to a request about the collection."""
        for _ in range(_TRIES - 1):
            try:
                return self._raw.ask(method, **arguments)
            except (httpx.TransportError, ChromaRefused) as error:
                if getattr(error, "name", "") in _WRONG:
                    break
                # stopped, swapped or deleted during the call, which Chroma reports as internal
                self._connection.find_server()
                self._raw = _found(self._connection, self._name)
        with chroma_errors(self._connection.url):
            return self._raw.ask(method, **arguments)

    @property
    def incarnation(self) -> str:
        """The id of this creation of the collection; a new one has another."""
        return str((self._raw.metadata or {}).get("incarnation", self._raw.id))

    @property
    def embedder_id(self) -> str:
        """The embedder of the vectors, as recorded at creation."""
        return str((self._raw.metadata or {}).get("embedder_id", ""))

    def count(self) -> int:
        """Return the number of rows."""
        rows = int(self._call("count"))
        if not rows:  # or it was just replaced by another one of this name
            self._raw = _found(self._connection, self._name)
            rows = int(self._call("count"))
        return rows

    def upsert(
        self,
        ids: Sequence[str],
        vectors: npt.NDArray[np.float32],
        texts: Sequence[RedactedText],
        metadatas: Sequence[Metadata],
    ) -> None:
        """Insert or replace rows, in batches; repeating it changes nothing."""
        require_redacted(texts)
        for start in range(0, len(ids), UPSERT_BATCH):
            some = slice(start, start + UPSERT_BATCH)
            self._call(
                "upsert",
                ids=list(ids[some]),
                embeddings=np.ascontiguousarray(vectors[some], np.float32),
                documents=[str(text) for text in texts[some]],
                metadatas=list(metadatas[some]),
            )

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are ignored."""
        for start in range(0, len(ids), UPSERT_BATCH):
            self._call("delete", ids=list(ids[start : start + UPSERT_BATCH]))

    def row_hashes(self, where: Where) -> dict[str, str]:
        """Return the `row_hash` of each row that matches, by id."""
        return {row_id: value for row_id, (value,) in self.values(where, "row_hash").items()}

    def ids(self, where: Where) -> set[str]:
        """Return the ids of the rows that match."""
        return set(self.values(where))

    def values(self, where: Where, *names: str) -> dict[str, tuple[str, ...]]:
        """Return these metadata of each row that matches, by id; "" for one that it lacks."""
        found: dict[str, tuple[str, ...]] = {}
        what = {"where": where, "include": ["metadatas"], "limit": _READ_BATCH}
        for offset in count(step=_READ_BATCH):
            page = self._call("get", **what, offset=offset)
            for row_id, metadata in zip(page["ids"], page["metadatas"] or [], strict=True):
                found[row_id] = tuple(str(metadata.get(name, "")) for name in names)
            if len(page["ids"]) < _READ_BATCH:
                break
        return found

    def nearest(
        self, vector: npt.NDArray[np.float32], n: int, where: Where | None = None
    ) -> list[Neighbour]:
        """Return the `n` rows nearest to a unit vector, nearest first."""
        answer = self._call(
            "query",
            query_embeddings=vector.reshape(1, -1),
            n_results=n,
            where=where,
            include=["documents", "metadatas", "distances"],
        )
        similarities = [1.0 - distance for distance in (answer["distances"] or [[]])[0]]
        texts, metadatas = (answer["documents"] or [[]])[0], (answer["metadatas"] or [[]])[0]
        return _neighbours(answer["ids"][0], similarities, texts, metadatas)

    def nearest_of(
        self, vector: npt.NDArray[np.float32], ids: Sequence[str], n: int
    ) -> list[Neighbour]:
        """Return the `n` nearest among the rows with these ids, by exact dot product."""
        found: list[Neighbour] = []
        for start in range(0, len(ids), _READ_BATCH):
            some = list(ids[start : start + _READ_BATCH])
            page = self._call("get", ids=some, include=["embeddings", "documents", "metadatas"])
            if not page["ids"]:
                continue
            similarities = np.asarray(page["embeddings"], dtype=np.float32) @ vector
            texts, metadatas = page["documents"] or [], page["metadatas"] or []
            found += _neighbours(page["ids"], similarities.tolist(), texts, metadatas)
        found.sort(key=lambda neighbour: (-neighbour.similarity, neighbour.id))
        return found[:n]


def _neighbours(
    ids: Sequence[str], similarities: Sequence[float], texts: Any, metadatas: Any
) -> list[Neighbour]:
    rows = zip(ids, similarities, texts, metadatas, strict=True)
    return [
        Neighbour(row_id, similarity, seal(text or ""), metadata or {})
        for row_id, similarity, text, metadata in rows
    ]


def _require_same_embedder(
    name: str, found: Mapping[str, Any], versions: CollectionVersions
) -> None:
    made_by = str(found.get("embedder_id", "an unknown model"))
    if not same_space(made_by, versions.embedder_id):
        raise StoreMismatch(
            f"collection {name} holds vectors of {made_by}, the settings ask for "
            f"{versions.embedder_id}. Set MEMORY_EMBEDDER back, or run `memory ingest --full`."
        )
