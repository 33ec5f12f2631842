"""Vectors in Chroma: collections, idempotent upserts, ids, nearest neighbours.

Belongs here: reading and writing any collection of a Chroma, ours and others'. Does not: deciding
whether another program's vectors are of our space (`recall/`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count, repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_assets.errors import NotFound
from memory_assets.stores.chroma.client import ChromaClient, ChromaRefused, NotFoundError
from memory_assets.stores.vector_store import (
    UPSERT_BATCH,
    Collection,
    CollectionVersions,
    Document,
    Metadata,
    Vector,
    VectorStore,
    Where,
    not_found,
    unit,
    update_versions,
)

_READ_BATCH = 5_000
_REPLACEMENT, _REPLACED = ".replacement", ".replaced"
_INVALID_REQUESTS = ("InvalidArgumentError", "InvalidDimensionException")
"""Errors of invalid requests, which are not tried again."""
_TRIES = 3
"""A call may meet a swap and a restart; more than both at once is an error."""
_CONFIGURATION = {"hnsw": {"space": "cosine"}, "embedding_function": {"type": "legacy"}}
"""The configuration of new collections: cosine space, and vectors from their writers."""
_EVERYTHING = ["documents", "metadatas", "embeddings"]


class ChromaStore(ChromaClient, VectorStore):
    """The collections of one Chroma: at a URL, or of a data directory's own server. With a
    `prefix`, only collections whose stored names begin with it, which are named without it here."""

    def __init__(
        self,
        data_dir: Path,
        *,
        url: str | None,
        idle_seconds: float,
        token: str | None = None,
        prefix: str = "",
    ) -> None:
        self._prefix = prefix
        super().__init__(data_dir, url=url, idle_seconds=idle_seconds, token=token)

    holds_others = True

    def names(self) -> list[str]:
        """Return the names of all collections, sorted. One that is being swapped is there."""
        stored_now = self._stored()
        return sorted(
            {name.removesuffix(_REPLACED) for name in stored_now if not name.endswith(_REPLACEMENT)}
        )

    def _stored(self) -> dict[str, Mapping[str, Any]]:
        """Return Chroma's description of each collection, by its name without the prefix."""
        collections = {
            str(collection["name"]): collection
            for collection in self.request("GET", "/collections")
        }
        mine = len(self._prefix)
        return {
            name[mine:]: collections[name] for name in collections if name.startswith(self._prefix)
        }

    def _path(self, name: str) -> str:
        return f"/collections/{quote(self._prefix + name, safe='')}"

    def open(self, name: str, versions: CollectionVersions) -> ChromaCollection:
        """Return a collection for writing; it is created when it is not there.

        Raises:
            StoreMismatch: its vectors are of another family of embedders.
        """
        stored_now = self._undo_swap(name)
        if name in stored_now:
            opened = ChromaCollection(self, name, stored_now[name])
        else:
            opened = self._create(name, vars(versions), get_or_create=True)
        opened.may_have_leftovers = not stored_now.keys().isdisjoint(_leftovers(name))
        update_versions(opened, versions)
        return opened

    def get(self, name: str) -> ChromaCollection:
        """Return a collection for reading, ours or another program's; raise `NotFound` if there is
        none of that name."""
        return ChromaCollection(self, name, self.describe(name))

    def describe(self, name: str) -> Mapping[str, Any]:
        """Return Chroma's description of the collection of a name, also during a swap."""
        for stored in (name, f"{name}{_REPLACED}", name):
            with suppress(NotFoundError):
                description: Mapping[str, Any] = self.request("GET", self._path(stored))
                return description
        raise NotFound(not_found(name))

    def drop(self, name: str) -> None:
        """Delete a collection, if it is there."""
        for stored in {name, f"{name}{_REPLACED}"} & self._stored().keys():
            self._delete(stored)

    def _create(
        self, name: str, metadata: Mapping[str, Any], *, get_or_create: bool = False
    ) -> ChromaCollection:
        """Return a new collection, with a new incarnation, or the existing one of the name."""
        body = {
            "name": self._prefix + name,
            "metadata": {**metadata, "incarnation": uuid.uuid4().hex},
            "configuration": _CONFIGURATION,
            "get_or_create": get_or_create,
        }
        return ChromaCollection(self, name, self.request("POST", "/collections", body))

    def _delete(self, stored: str) -> None:
        with suppress(NotFoundError):
            self.request("DELETE", self._path(stored))

    def _rename(self, stored: str, name: str) -> None:
        collection_id = self.request("GET", self._path(stored))["id"]
        self.request("PUT", f"/collections/{collection_id}", {"new_name": self._prefix + name})

    def _undo_swap(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Undo an interrupted swap, and return the stored collections."""
        stored_now, old = self._stored(), f"{name}{_REPLACED}"
        if name not in stored_now and old in stored_now:
            self._rename(old, name)
            stored_now[name] = stored_now.pop(old)
        return stored_now

    def begin_replacement(
        self, name: str, versions: CollectionVersions | None = None
    ) -> ChromaCollection:
        """Return an empty collection that `replace` can put in the place of `name`."""
        metadata = vars(versions) if versions else self.get(name).metadata
        self.drop_leftovers(name)
        return self._create(f"{name}{_REPLACEMENT}", metadata)

    def drop_leftovers(self, name: str) -> None:
        """Delete the replacement of `name` that an interrupted rebuild left."""
        stored_now = self._undo_swap(name)
        for leftover in _leftovers(name) & stored_now.keys():
            self._delete(leftover)

    def replace(self, name: str) -> None:
        """Swap the replacement of `name` in, and delete the old collection. Between the two
        renamings, readers find the old one under its temporary name."""
        old = f"{name}{_REPLACED}"
        if name in self._stored():
            self._rename(name, old)
        self._rename(f"{name}{_REPLACEMENT}", name)
        self._delete(old)


class ChromaCollection(Collection):
    """One Chroma collection. After a swap, calls go to the new collection of its name."""

    def __init__(self, store: ChromaStore, name: str, describe: Mapping[str, Any]) -> None:
        self._store = store
        self.name = name
        self._described = describe

    def ask(self, method: str, **arguments: Any) -> Any:
        """Return the answer to `count`, `get`, `query`, `upsert` or `delete`."""
        for tries_left in reversed(range(_TRIES)):
            path = f"/collections/{self._described['id']}/{method}"
            try:
                http_method = "POST" if arguments else "GET"
                return self._store.request(http_method, path, arguments, once=True)
            except ChromaRefused as error:
                if error.name in _INVALID_REQUESTS or not tries_left:
                    raise
                name = error.name
            # It was swapped or deleted during the call, or the server failed, and the next request
            # may hang.
            before, self._described = self._described, self._store.describe(self.name)
            if before["id"] == self._described["id"]:
                self._store.end_server(f"failed ({name})")
        raise AssertionError("the last try returns or raises")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata that its maker gave it."""
        return dict(self._described["metadata"] or {})

    def note(self, values: Mapping[str, Any]) -> None:
        """Make these values part of the metadata."""
        metadata = {**self.metadata, **values}
        if metadata != self.metadata:
            path = f"/collections/{self._described['id']}"
            self._store.request("PUT", path, {"new_metadata": metadata})
            self._described = {**self._described, "metadata": metadata}

    @property
    def incarnation(self) -> str:
        """The id of this creation of the collection; a new one has another."""
        return str(self.metadata.get("incarnation", self._described["id"]))

    def count(self) -> int:
        """Return the number of rows."""
        rows = int(self.ask("count"))
        if not rows:  # or it was just replaced by another one of this name
            self._described = self._store.describe(self.name)
            rows = int(self.ask("count"))
        return rows

    def put_batch(
        self,
        ids: Sequence[str],
        vectors: Vector,
        texts: Sequence[str],
        metadatas: Sequence[Metadata],
    ) -> None:
        """Insert or replace rows by one request."""
        rows = {"ids": list(ids), "documents": list(texts), "metadatas": list(metadatas)}
        self.ask("upsert", **rows, embeddings=vectors)

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are ignored."""
        for start in range(0, len(ids), UPSERT_BATCH):
            self.ask("delete", ids=list(ids[start : start + UPSERT_BATCH]))

    def values(self, where: Where, *names: str) -> dict[str, tuple[str, ...]]:
        """Return these metadata of each row that matches, by id; "" for one that it lacks."""
        by_id: dict[str, tuple[str, ...]] = {}
        include = ["metadatas"] if names else []
        what = {"where": where, "include": include, "limit": _READ_BATCH}
        for offset in count(step=_READ_BATCH):
            page = self.ask("get", **what, offset=offset)
            metadatas = page["metadatas"] if names else repeat({}, len(page["ids"]))
            for row_id, metadata in zip(page["ids"], metadatas, strict=True):
                by_id[row_id] = tuple(str(metadata.get(name, "")) for name in names)
            if len(page["ids"]) < _READ_BATCH:
                break
        return by_id

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the rows with these ids, which fit in one request, as far as they are there."""
        return _documents(self.ask("get", ids=list(ids), include=_EVERYTHING))

    def sample(self, n: int) -> list[Document]:
        """Return any `n` rows."""
        return _documents(self.ask("get", limit=n, include=_EVERYTHING))

    def nearest_documents(self, vector: Vector, n: int, where: Mapping[str, Any]) -> list[Document]:
        """Return the `n` rows nearest to a unit vector."""
        page: Mapping[str, Any] = self.ask(
            "query",
            query_embeddings=vector.reshape(1, -1),
            n_results=n,
            where=dict(where) or None,
            include=_EVERYTHING,
        )
        columns = ("ids", *_EVERYTHING)
        return _documents({name: page[name][0] for name in columns if page.get(name) is not None})


def _leftovers(name: str) -> set[str]:
    """Return the names that an interrupted rebuild of a collection may leave."""
    return {f"{name}{_REPLACEMENT}", f"{name}{_REPLACED}"}


def _documents(page: Mapping[str, Any]) -> list[Document]:
    ids: Sequence[str] = page["ids"]
    empty: list[Any] = [None] * len(ids)
    columns = [page.get(name) for name in _EVERYTHING]
    texts, metadatas, vectors = (empty if column is None else column for column in columns)
    return [
        Document(row_id, text or "", metadata or {}, unit(vector))
        for row_id, text, metadata, vector in zip(ids, texts, metadatas, vectors, strict=True)
    ]
