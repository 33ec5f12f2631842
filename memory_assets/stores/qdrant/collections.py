"""Vectors in qdrant: a server that a team shares, or qdrant-client's local mode in a directory.

A collection is an alias of a stored one called `<name>.<incarnation>`, so that a replacement is
swapped in by one request. A point's payload is `{"id", "text", "metadata"}`; qdrant takes UUIDs
as ids of points, so ours are hashed into them. Not here: collections of other programs.
"""

from __future__ import annotations

import atexit
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import RLock
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from memory_assets.errors import (
    ConfigurationError,
    NotFound,
    StoreBusy,
    StoreError,
    StoreUnanswering,
)
from memory_assets.stores.vector_store import (
    UPSERT_BATCH,
    Collection,
    CollectionVersions,
    Document,
    Metadata,
    Vector,
    VectorStore,
    Where,
    failure_message,
    not_found,
    server_address,
    unit,
    update_versions,
)

_READ_BATCH = 5_000
_POINTS = uuid.UUID("6d656d6f-7279-5f61-b373-657473000000")
"""The namespace of the ids of points."""
_FIRST = "first"
"""The suffix of a stored collection that did not replace another, so that two processes which
create it at the same time create the same one."""
_INDEXED = ("project", "session_id")
"""The metadata by which rows are filtered; a server has an index of them."""
_CONFLICT = 409
_Answer = TypeVar("_Answer")


class QdrantStore(VectorStore):
    """The collections of the qdrant at `url`, or of a directory, which one process can have open.
    With a `prefix`, only collections whose names there begin with it, which are named without it.

    Raises:
        ConfigurationError: the package qdrant-client is not installed.
        StoreBusy: another process has the directory open.
        StoreError: `url` is none, or nothing answers there.
    """

    holds_others = False

    def __init__(self, url: str, api_key: str | None = None, prefix: str = "") -> None:
        self.url = url
        self._prefix = prefix
        self._client, self._lock = connected(url, api_key)
        self.find_server()

    def find_server(self) -> None:
        """Raise `StoreError` if nothing answers."""
        self._aliases()

    def call(self, ask: Callable[[Any], _Answer]) -> _Answer:
        """Return what a request to the client returns.

        Raises:
            StoreError: it fails; the message quotes nothing that was sent.
        """
        with qdrant_errors(self.url), self._lock:
            return ask(self._client)

    def stored_as(self, name: str) -> str:
        """Return the present stored name of a collection; a stored name itself is returned."""
        return self._aliases().get(name, name)

    def _aliases(self) -> dict[str, str]:
        """Return the stored collection of each of ours."""
        existing = self.call(lambda client: client.get_aliases()).aliases
        return {
            alias.alias_name.removeprefix(self._prefix): alias.collection_name
            for alias in existing
            if alias.alias_name.startswith(self._prefix)
            and "." not in alias.alias_name.removeprefix(self._prefix)
            and alias.collection_name.startswith(f"{alias.alias_name}.")
        }

    def _stored(self, name: str) -> set[str]:
        """Return the stored names of a collection and of its replacements."""
        existing = self.call(lambda client: client.get_collections()).collections
        own = re.compile(rf"{re.escape(self._prefix + name)}\.(?:{_FIRST}|[0-9a-f]{{32}})")
        return {collection.name for collection in existing if own.fullmatch(collection.name)}

    def names(self) -> list[str]:
        """Return the names of our collections, sorted."""
        return sorted(self._aliases())

    def open(self, name: str, versions: CollectionVersions) -> Collection:
        """Return a collection for writing; it is created when it is not there."""
        if name not in self._aliases():
            first = self._first_stored(name)
            if first not in self._stored(name):
                self._create(first, vars(versions))
            self._point_alias(name, first)
        opened = _Collection(self, name, self._prefix + name)
        update_versions(opened, versions)
        return opened

    def get(self, name: str) -> Collection:
        """Return a collection for reading; raise `NotFound` if there is none of that name."""
        if name not in self._aliases():
            raise NotFound(not_found(name))
        return _Collection(self, name, self._prefix + name)

    def drop(self, name: str) -> None:
        """Delete a collection, if it is there."""
        stored = self._aliases().get(name)
        if stored is not None:
            self._point_alias(name, None)
            self._delete(stored)

    def begin_replacement(
        self, name: str, versions: CollectionVersions | None = None
    ) -> Collection:
        """Return an empty collection that `replace` can put in the place of `name`."""
        made_with = vars(versions) if versions else self.get(name).metadata
        self.drop_leftovers(name)
        stored = f"{self._prefix}{name}.{uuid.uuid4().hex}"
        self._create(stored, made_with)
        return _Collection(self, stored, stored)

    def drop_leftovers(self, name: str) -> None:
        """Delete all stored versions of a collection but the present one."""
        current = self._aliases().get(name, self._first_stored(name))
        for leftover in self._stored(name) - {current}:
            self._delete(leftover)

    def replace(self, name: str) -> None:
        """Point the name to the replacement, by one request, and delete the old collection."""
        old = self._aliases().get(name)
        (new,) = self._stored(name) - {old, self._first_stored(name)}
        self._point_alias(name, new)
        if old is not None:
            self._delete(old)

    def _first_stored(self, name: str) -> str:
        return f"{self._prefix}{name}.{_FIRST}"

    def _create(self, stored: str, metadata: Mapping[str, Any]) -> None:
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        noted = {**metadata, "incarnation": uuid.uuid4().hex}
        size = int(metadata["dimension"])

        def create(client: Any) -> None:
            vectors = models.VectorParams(size=size, distance=models.Distance.COSINE)
            try:
                client.create_collection(stored, vectors_config=vectors, metadata=noted)
            except UnexpectedResponse as error:
                if error.status_code != _CONFLICT:  # another process was first
                    raise
            if is_directory(self.url):
                return
            for key in _INDEXED:
                client.create_payload_index(stored, f"metadata.{key}", "keyword")

        self.call(create)

    def _point_alias(self, name: str, stored: str | None) -> None:
        """Point a name to a stored collection, or delete the name (None)."""
        from qdrant_client import models

        steps: list[Any] = []
        if name in self._aliases():
            old = models.DeleteAlias(alias_name=self._prefix + name)
            steps.append(models.DeleteAliasOperation(delete_alias=old))
        if stored is not None:
            new = models.CreateAlias(collection_name=stored, alias_name=self._prefix + name)
            steps.append(models.CreateAliasOperation(create_alias=new))
        self.call(lambda client: client.update_collection_aliases(steps))

    def _delete(self, stored: str) -> None:
        self.call(lambda client: client.delete_collection(stored))


class _Collection(Collection):
    """One of our collections in qdrant, of cosine space; `address` is its name there."""

    def __init__(self, store: QdrantStore, name: str, address: str) -> None:
        self._store = store
        self.name = name
        self._address = address
        stored = store.stored_as(name)
        description = store.call(lambda client: client.get_collection(stored))
        self._metadata: Mapping[str, Any] = description.config.metadata or {}

    @property
    def metadata(self) -> Mapping[str, Any]:
        return dict(self._metadata)

    def note(self, values: Mapping[str, Any]) -> None:
        if not values.items() <= self._metadata.items():
            self._metadata = {**self._metadata, **values}
            stored, noted = self._store.stored_as(self.name), dict(values)
            self._store.call(lambda client: client.update_collection(stored, metadata=noted))

    def _ask(self, method: str, **arguments: Any) -> Any:
        return self._store.call(
            lambda client: getattr(client, method)(collection_name=self._address, **arguments)
        )

    def count(self) -> int:
        return int(self._ask("count", exact=True).count)

    def put_batch(
        self,
        ids: Sequence[str],
        vectors: Vector,
        texts: Sequence[str],
        metadatas: Sequence[Metadata],
    ) -> None:
        from qdrant_client import models

        payloads = [
            {"id": row_id, "text": text, "metadata": metadata}
            for row_id, text, metadata in zip(ids, texts, metadatas, strict=True)
        ]
        points = models.Batch(ids=_points(ids), vectors=vectors.tolist(), payloads=payloads)
        self._ask("upsert", points=points)

    def delete(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), UPSERT_BATCH):
            self._ask("delete", points_selector=_points(ids[start : start + UPSERT_BATCH]))

    def values(self, where: Where, *names: str) -> dict[str, tuple[str, ...]]:
        wanted = ["id", *(f"metadata.{name}" for name in names)]
        by_id: dict[str, tuple[str, ...]] = {}
        offset: Any = None
        while True:
            page, offset = self._ask(
                "scroll",
                scroll_filter=_filter(where),
                limit=_READ_BATCH,
                offset=offset,
                with_payload=wanted,
            )
            for point in page:
                metadata = point.payload.get("metadata", {})
                values = (metadata.get(name, "") for name in names)
                by_id[point.payload["id"]] = tuple(map(str, values))
            if offset is None:
                return by_id

    def documents(self, ids: Sequence[str]) -> list[Document]:
        points = self._ask("retrieve", ids=_points(ids), with_payload=True, with_vectors=True)
        return list(map(_document, points))

    def sample(self, n: int) -> list[Document]:
        points, _ = self._ask("scroll", limit=n, with_payload=True, with_vectors=True)
        return list(map(_document, points))

    def nearest_documents(
        self, vector: Vector, n: int, where: Mapping[str, Any]
    ) -> Iterator[Document]:
        answer = self._ask(
            "query_points",
            query=np.asarray(vector, np.float32).tolist(),
            query_filter=_filter(where),
            limit=n,
            with_payload=True,
            with_vectors=True,
        )
        return map(_document, answer.points)


def _points(ids: Sequence[str]) -> list[int | str | uuid.UUID]:
    return [str(uuid.uuid5(_POINTS, row_id)) for row_id in ids]


def _document(point: Any) -> Document:
    payload = point.payload
    return Document(payload["id"], payload["text"], payload["metadata"], unit(point.vector))


def _filter(where: Mapping[str, Any]) -> Any:
    """Return a filter (`Where`) as a filter of qdrant.

    Raises:
        ConfigurationError: it compares otherwise than by `$and`, `$ne` and `$in`.
    """
    from qdrant_client import models

    def conditions(where: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        must: list[Any] = []
        must_not: list[Any] = []
        for key, value in where.items():
            if key == "$and":
                for part in value:
                    more, fewer = conditions(part)
                    must += more
                    must_not += fewer
                continue
            field = f"metadata.{key}"
            ((operator, wanted),) = (value if isinstance(value, dict) else {"$eq": value}).items()
            if operator == "$in":
                any_of = models.MatchAny(any=list(wanted))
                must.append(models.FieldCondition(key=field, match=any_of))
            elif operator in ("$eq", "$ne"):
                match = models.FieldCondition(key=field, match=models.MatchValue(value=wanted))
                (must if operator == "$eq" else must_not).append(match)
            else:
                raise ConfigurationError(f"qdrant is not asked for rows by {operator!r}")
        return must, must_not

    must, must_not = conditions(where)
    if not (must or must_not):
        return None
    return models.Filter(must=must or None, must_not=must_not or None)


PORTS = (6333, 6333)
"""Where a URL names no port: of http, and of https (as the clients of qdrant have it)."""
_SECONDS = 60
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NO_ACCESS = (401, 403)


def is_directory(url: str) -> bool:
    """Whether a setting names a directory, of local mode, not a server."""
    return "://" not in url


@contextmanager
def qdrant_errors(url: str) -> Iterator[None]:
    """Translate errors of the client; their messages quote requests and answers, so only their
    kind is reported, and a traceback does not show them."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        name = f"HTTP {error.status_code}"
        if error.status_code in _NO_ACCESS:
            raise StoreError(
                f"qdrant at {url} does not let us in; set QDRANT_API_KEY to its key"
            ) from None
    except ResponseHandlingException as error:  # refused, broken, or not in time
        name = type(error.source).__name__
        raise StoreUnanswering(failure_message("qdrant", url, name)) from None
    except (QdrantException, ValueError, RuntimeError, OSError) as error:
        name = type(error).__name__
    else:
        return
    raise StoreError(failure_message("qdrant", url, name)) from None


def connected(url: str, api_key: str | None) -> tuple[Any, AbstractContextManager[Any]]:
    """Return a client, and the lock to hold for its calls; a server needs none."""
    try:
        import qdrant_client
    except ImportError:
        raise ConfigurationError(
            "VECTOR_BACKEND=qdrant needs the package qdrant-client: "
            "pip install 'memory-assets[qdrant]'"
        ) from None
    if is_directory(url):
        return _local(url)
    address = server_address("QDRANT_URL", url, *PORTS)
    client = qdrant_client.QdrantClient(
        url=address,
        headers={"api-key": api_key} if api_key else None,
        timeout=_SECONDS,
        check_compatibility=False,
        trust_env=urlsplit(address).hostname not in _LOOPBACK,
    )
    return client, nullcontext()


@cache
def _local(directory: str) -> tuple[Any, AbstractContextManager[Any]]:
    """Return this process's client of a directory; only one can have it open."""
    from qdrant_client import QdrantClient

    try:
        with qdrant_errors(directory):
            client = QdrantClient(path=directory, force_disable_check_same_thread=True)
    except StoreError as error:
        raise StoreBusy(
            f"{error} One process at a time can have a directory of qdrant open; for more, run "
            "its server and set QDRANT_URL to its address."
        ) from None
    atexit.register(client.close)
    return client, RLock()
