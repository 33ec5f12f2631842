"""Vectors in Chroma: collections, idempotent upserts, ids, nearest neighbours.

The only module that imports chromadb (about 1 s of CPU), and only when a connection is
made. It always speaks HTTP: to the server of `chroma_server.py`, or to `CHROMA_URL`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from memory_assets.errors import NotFound, StoreError, StoreMismatch
from memory_assets.redacted_text import RedactedText, require_redacted, seal
from memory_assets.stores import chroma_server

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection as ChromaCollection

Metadata = dict[str, str | int | float | bool]
Where = dict[str, Any]

UPSERT_BATCH = 1_000
"""Rows a request: 2,400 rows/s, no gain beyond (performance.md, section 3)."""
_READ_BATCH = 5_000

_CONFIGURATION: CreateCollectionConfiguration = {"hnsw": {"space": "cosine"}}
_REPLACEMENT, _REPLACED = ".replacement", ".replaced"

SUMMARIES = "session-summaries"
PROMPTS = "user-prompts"


def sessions_collection(agent: str) -> str:
    """Return the name of the collection of an agent's session chunks."""
    return f"{agent}-sessions"


@dataclass(frozen=True)
class CollectionVersions:
    """What a collection's rows were made with."""

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


class VectorStore:
    """A connection to Chroma. Use `open_vectors`."""

    def __init__(self, client: ClientAPI, url: str) -> None:
        self._client = client
        self.url = url

    def names(self) -> list[str]:
        """Return the names of all collections, sorted."""
        with _chroma_errors(self.url):
            return sorted(collection.name for collection in self._client.list_collections())

    def open(self, name: str, versions: CollectionVersions) -> Collection:
        """Return a collection for writing; it is created when it is not there.

        Raises:
            StoreMismatch: its vectors were made by another embedder.
        """
        with _chroma_errors(self.url):
            raw = self._client.get_or_create_collection(
                name,
                metadata={**vars(versions), "incarnation": uuid.uuid4().hex},
                configuration=_CONFIGURATION,
                embedding_function=None,
            )
            found = dict(raw.metadata or {})
            _require_same_embedder(name, found, versions)
            if {key: found.get(key) for key in vars(versions)} != vars(versions):
                raw.modify(metadata={**found, **vars(versions)})
        return Collection(raw, self.url)

    def get(self, name: str, versions: CollectionVersions | None = None) -> Collection:
        """Return a collection for reading.

        Raises:
            NotFound: there is none of that name.
            StoreMismatch: its vectors were made by another embedder than `versions` says.
        """
        from chromadb.errors import NotFoundError

        with _chroma_errors(self.url):
            try:
                raw = self._client.get_collection(name, embedding_function=None)
            except NotFoundError:
                raise NotFound(f"no collection {name}; run `memory ingest` first") from None
        if versions is not None:
            _require_same_embedder(name, dict(raw.metadata or {}), versions)
        return Collection(raw, self.url)

    def drop(self, name: str) -> None:
        """Delete a collection, if it is there."""
        if name in self.names():
            with _chroma_errors(self.url):
                self._client.delete_collection(name)

    def begin_replacement(self, name: str) -> Collection:
        """Return an empty collection that `replace` can put in the place of `name`: of the
        same versions and incarnation, so that nothing has to be indexed again for it.

        What an interrupted replacement left is taken up or dropped. Searches go on in the
        old collection meanwhile.

        Raises:
            NotFound: there is no such collection, nor a replacement that was begun.
        """
        there = set(self.names())
        beside = f"{name}{_REPLACEMENT}"
        model = next((known for known in (name, beside) if known in there), None)
        if model is None:
            raise NotFound(f"no collection {name}")
        with _chroma_errors(self.url):
            raw = self._client.get_collection(model, embedding_function=None)
            metadata = dict(raw.metadata or {})
            for leftover in {beside, f"{name}{_REPLACED}"} & there:
                self._client.delete_collection(leftover)
            raw = self._client.create_collection(
                beside, metadata=metadata, configuration=_CONFIGURATION, embedding_function=None
            )
        return Collection(raw, self.url)

    def replace(self, name: str) -> None:
        """Let the replacement of `name` take its place, and delete the old one. For some
        milliseconds there is no collection of that name."""
        old, new = f"{name}{_REPLACED}", f"{name}{_REPLACEMENT}"
        with _chroma_errors(self.url):
            if name in self.names():
                self._client.get_collection(name, embedding_function=None).modify(name=old)
            self._client.get_collection(new, embedding_function=None).modify(name=name)
        self.drop(old)


class Collection:
    """One Chroma collection, cosine space; ids are ours."""

    def __init__(self, raw: ChromaCollection, url: str) -> None:
        self._raw = raw
        self._url = url

    @property
    def incarnation(self) -> str:
        """Which creation this is: a collection made anew has another one."""
        return str((self._raw.metadata or {}).get("incarnation", self._raw.id))

    @property
    def embedder_id(self) -> str:
        """What the vectors were made with, as recorded at creation."""
        return str((self._raw.metadata or {}).get("embedder_id", ""))

    def count(self) -> int:
        """Return the number of rows."""
        with _chroma_errors(self._url):
            return int(self._raw.count())

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
            end = start + UPSERT_BATCH
            with _chroma_errors(self._url):
                self._raw.upsert(
                    ids=list(ids[start:end]),
                    embeddings=vectors[start:end],
                    documents=[str(text) for text in texts[start:end]],
                    metadatas=list(metadatas[start:end]),
                )

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are ignored."""
        for start in range(0, len(ids), UPSERT_BATCH):
            with _chroma_errors(self._url):
                self._raw.delete(ids=list(ids[start : start + UPSERT_BATCH]))

    def row_hashes(self, where: Where) -> dict[str, str]:
        """Return the `row_hash` of each row that matches, by id."""
        return {row_id: str(meta.get("row_hash", "")) for row_id, meta in self._metadatas(where)}

    def ids(self, where: Where) -> set[str]:
        """Return the ids of the rows that match."""
        return {row_id for row_id, _ in self._metadatas(where)}

    def keys_of(self, where: Where) -> dict[str, tuple[str, str]]:
        """Return (project, session id) of each row that matches, by id."""
        return {
            row_id: (str(meta.get("project", "")), str(meta.get("session_id", "")))
            for row_id, meta in self._metadatas(where)
        }

    def _metadatas(self, where: Where) -> Iterator[tuple[str, Mapping[str, Any]]]:
        offset = 0
        while True:
            with _chroma_errors(self._url):
                page = self._raw.get(
                    where=where, include=["metadatas"], limit=_READ_BATCH, offset=offset
                )
            yield from zip(page["ids"], page["metadatas"] or [], strict=True)
            if len(page["ids"]) < _READ_BATCH:
                return
            offset += _READ_BATCH

    def nearest(
        self, vector: npt.NDArray[np.float32], n: int, where: Where | None = None
    ) -> list[Neighbour]:
        """Return the `n` rows nearest to a unit vector, nearest first."""
        with _chroma_errors(self._url):
            answer = self._raw.query(
                query_embeddings=vector.reshape(1, -1),
                n_results=n,
                where=where,
                include=["documents", "metadatas", "distances"],
            )
        return [
            Neighbour(row_id, 1.0 - float(distance), seal(text or ""), metadata or {})
            for row_id, distance, text, metadata in zip(
                answer["ids"][0],
                (answer["distances"] or [[]])[0],
                (answer["documents"] or [[]])[0],
                (answer["metadatas"] or [[]])[0],
                strict=True,
            )
        ]

    def nearest_of(
        self, vector: npt.NDArray[np.float32], ids: Sequence[str], n: int
    ) -> list[Neighbour]:
        """Return the `n` nearest among the rows with these ids, by exact dot product."""
        found: list[Neighbour] = []
        for start in range(0, len(ids), _READ_BATCH):
            with _chroma_errors(self._url):
                page = self._raw.get(
                    ids=list(ids[start : start + _READ_BATCH]),
                    include=["embeddings", "documents", "metadatas"],
                )
            if not page["ids"]:
                continue
            similarities = np.asarray(page["embeddings"], dtype=np.float32) @ vector
            found += [
                Neighbour(row_id, float(similarity), seal(text or ""), metadata or {})
                for row_id, similarity, text, metadata in zip(
                    page["ids"],
                    similarities,
                    page["documents"] or [],
                    page["metadatas"] or [],
                    strict=True,
                )
            ]
        found.sort(key=lambda neighbour: (-neighbour.similarity, neighbour.id))
        return found[:n]


def open_vectors(data_dir: Path, *, url: str | None, idle_seconds: float) -> VectorStore:
    """Return a connection to `url`, or to this data directory's own server, started if
    need be.

    Raises:
        StoreError: nothing answers there.
    """
    import chromadb
    from chromadb.config import Settings as ChromaSettings

    if url is None:
        url = chroma_server.ensure_running(data_dir, idle_seconds).url
    host, port, ssl = _address(url)
    with _chroma_errors(url), _no_proxy_for_loopback():
        client = chromadb.HttpClient(
            host=host,
            port=port,
            ssl=ssl,
            settings=ChromaSettings(anonymized_telemetry=False),
        )
    return VectorStore(client, url)


def _address(url: str) -> tuple[str, int, bool]:
    """Return host, port and whether to speak TLS."""
    wrong = StoreError(f"MEMORY_CHROMA_URL is {url!r}; it should look like http://host:8000")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.hostname is None or parts.scheme not in ("http", "https"):
        raise wrong
    ssl = parts.scheme == "https"
    return parts.hostname, port or (443 if ssl else 8000), ssl


@contextmanager
def _no_proxy_for_loopback() -> Iterator[None]:
    """Keep a client that is made meanwhile from asking the environment's proxy for a
    server on this machine; chromadb has no option for it."""
    before = {name: os.environ.get(name) for name in ("no_proxy", "NO_PROXY")}
    listed = before["no_proxy"] or before["NO_PROXY"] or ""
    os.environ.update(dict.fromkeys(before, f"{listed},127.0.0.1,localhost".lstrip(",")))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _require_same_embedder(
    name: str, found: Mapping[str, Any], versions: CollectionVersions
) -> None:
    if found.get("embedder_id") != versions.embedder_id:
        raise StoreMismatch(
            f"collection {name} holds vectors of {found.get('embedder_id', 'an unknown model')}, "
            f"the settings ask for {versions.embedder_id}. Set MEMORY_EMBEDDER back, or run "
            "`memory ingest --full` to embed everything again."
        )


@contextmanager
def _chroma_errors(url: str) -> Iterator[None]:
    """Translate chromadb's and httpx's errors; their messages may quote a request's
    body, so only their type is told, and a traceback does not show them."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except (httpx.HTTPError, ChromaError, ValueError) as error:
        raise StoreError(
            f"Chroma at {url} failed ({type(error).__name__}). Check that it runs "
            "(`memory status`), then run the command again."
        ) from None
