"""The contract of vector stores, which Chroma (`chroma/`) and qdrant (`qdrant/`) implement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from memory_assets.errors import StoreError, StoreMismatch
from memory_assets.http.model_endpoint import same_space
from memory_assets.redacted_text import RedactedText, require_redacted

Metadata = dict[str, str | int | float | bool]
Where = dict[str, Any]
"""A filter: `{key: value}`, `{key: {"$ne": value}}`, `{key: {"$in": values}}`, or several of them
as `{"$and": [...]}`."""
Vector = npt.NDArray[np.float32]

UPSERT_BATCH = 1_000
"""Rows a request: 2,400 rows/s on two cores; larger requests gained nothing."""


@dataclass(frozen=True)
class CollectionVersions:
    """The versions with which a collection's rows were made."""

    embedder_id: str
    dimension: int
    chunker_version: str
    ruleset_version: str


@dataclass(frozen=True)
class Document:
    """A row of a collection. `vector` has length 1. In other programs' collections `text` did not
    pass our redactor."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    vector: Vector = field(repr=False, compare=False)


class Collection(Protocol):
    """Rows by id, each with a unit vector, a text and metadata. After a swap, calls go to the new
    collection of its name. Errors are `StoreError`, and quote no row."""

    name: str
    may_have_leftovers: bool = True
    """False where `VectorStore.open` saw that no rebuild was interrupted."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The collection's metadata."""

    @property
    def incarnation(self) -> str:
        """A random id of the collection, other than that of any earlier one of its name."""
        return str(self.metadata["incarnation"])

    @property
    def embedder_id(self) -> str:
        """The embedder of the vectors, as recorded at creation."""
        return str(self.metadata.get("embedder_id", ""))

    def note(self, values: Mapping[str, Any]) -> None:
        """Add these values to the metadata."""

    def count(self) -> int:
        """Return the number of rows."""

    def upsert(
        self,
        ids: Sequence[str],
        vectors: Vector,
        texts: Sequence[RedactedText],
        metadatas: Sequence[Metadata],
    ) -> None:
        """Insert or replace rows, in batches; repeating it changes nothing."""
        require_redacted(texts)
        for start in range(0, len(ids), UPSERT_BATCH):
            batch = slice(start, start + UPSERT_BATCH)
            numbers = np.ascontiguousarray(vectors[batch], np.float32)
            self.put_batch(ids[batch], numbers, list(map(str, texts[batch])), metadatas[batch])

    def put_batch(
        self,
        ids: Sequence[str],
        vectors: Vector,
        texts: Sequence[str],
        metadatas: Sequence[Metadata],
    ) -> None:
        """Insert or replace rows by one request; called by `upsert`, which checks their texts."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are ignored."""

    def row_hashes(self, where: Where) -> dict[str, str]:
        """Return the `row_hash` of each row that matches, by id."""
        return {row_id: value for row_id, (value,) in self.values(where, "row_hash").items()}

    def ids(self, where: Where) -> set[str]:
        """Return the ids of the rows that match."""
        return set(self.values(where))

    def values(self, where: Where, *names: str) -> dict[str, tuple[str, ...]]:
        """Return these metadata of each row that matches, by id; "" for one that it lacks."""

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the existing rows among these ids, which must fit in one request."""

    def sample(self, n: int) -> list[Document]:
        """Return any `n` rows."""

    def nearest(
        self, vector: Vector, n: int, where: Mapping[str, Any] | None = None
    ) -> list[tuple[Document, float]]:
        """Return the `n` rows nearest to a unit vector with their cosine similarities, most similar
        first, whatever distance the collection measures by."""
        documents = self.nearest_documents(vector, n, where or {})
        scored = [(document, float(document.vector @ vector)) for document in documents]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))

    def nearest_documents(
        self, vector: Vector, n: int, where: Mapping[str, Any]
    ) -> Iterable[Document]:
        """Return the `n` rows nearest to a unit vector, for `nearest`, which orders them."""


class VectorStore(Protocol):
    """The collections of one store, for any number of threads."""

    url: str
    holds_others: bool
    """Whether collections of other programs are listed, and can be read."""

    def find_server(self) -> None:
        """Make sure that the store answers.

        Raises:
            StoreError: it does not.
        """

    def names(self) -> list[str]:
        """Return the names of all collections, sorted. One that is being swapped is there."""

    def open(self, name: str, versions: CollectionVersions) -> Collection:
        """Return a collection for writing; it is created when it is not there.

        Raises:
            StoreMismatch: its vectors are of another family of embedders.
        """

    def get(self, name: str) -> Collection:
        """Return a collection for reading; raise `NotFound` if there is none of that name."""

    def drop(self, name: str) -> None:
        """Delete a collection, if it is there."""

    def begin_replacement(
        self, name: str, versions: CollectionVersions | None = None
    ) -> Collection:
        """Return an empty collection, of an incarnation of its own, that `replace` can put in
        the place of `name`; with the versions of `name`, unless others are given.

        The leftovers of an interrupted replacement are dropped. Searches use the old collection.

        Raises:
            NotFound: there is no such collection, and no versions are given.
        """

    def drop_leftovers(self, name: str) -> None:
        """Delete the replacement of `name` left by an interrupted rebuild."""

    def replace(self, name: str) -> None:
        """Swap the replacement of `name` in, and delete the old collection; readers find one of
        the two at any moment."""


def update_versions(opened: Collection, versions: CollectionVersions) -> None:
    """Note in a collection the versions of the rows that will be written to it.

    Raises:
        StoreMismatch: its vectors are of another family of embedders.
    """
    if not same_space(opened.embedder_id, versions.embedder_id):
        raise StoreMismatch(
            f"collection {opened.name} holds vectors of {opened.embedder_id or 'an unknown model'},"
            f" the settings ask for {versions.embedder_id}, and this memory did not fill it. Set "
            "MEMORY_EMBEDDER back, or name a server of its own for this memory's collections."
        )
    opened.note(vars(versions))


def not_found(name: str) -> str:
    """Return the message for a collection that is not there."""
    return f"no collection {name}; run `memory ingest` first"


def failure_message(store: str, url: str, name: str) -> str:
    """Return the message for a request to a store that failed; `name` is the kind of error."""
    return (
        f"{store} at {url} failed ({name}). Check that it runs "
        "(`memory status`) and that its disk has room, then run the command again."
    )


def server_address(setting: str, url: str, port: int, secure_port: int) -> str:
    """Return the address of a server, with its path; with these ports where the URL names none.

    Raises:
        StoreError: it is no URL; names the setting.
    """
    wrong = StoreError(f"{setting} is {url!r}; it should look like http://host:{port}")
    try:
        parts = urlsplit(url)
        own_port = parts.port
    except ValueError:
        raise wrong from None
    if parts.hostname is None or parts.scheme not in ("http", "https"):
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default_port = secure_port if parts.scheme == "https" else port
    return f"{parts.scheme}://{host}:{own_port or default_port}{parts.path.rstrip('/')}"


def unit(vector: Any) -> Vector:
    """Return a vector at length 1, or empty where there is none."""
    values = np.asarray(vector if vector is not None else [], dtype=np.float32)
    length = float(np.linalg.norm(values))
    scaled: Vector = values / length if length else values
    return scaled
