"""The documents that a cross-query asks beside the sessions: of another collection in the same
Chroma, if it was embedded with our model, or of the workspaces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

import numpy as np

from memory_assets.embedding import Embedder
from memory_assets.errors import (
    BadArgument,
    ConfigurationError,
    NotFound,
    StoreError,
    StoreMismatch,
    StoreReadOnly,
)
from memory_assets.paths import KNOWN_AGENTS, NO_EMBEDDER
from memory_assets.recall.documents import chunk_rows, document_named
from memory_assets.recall.files.names import is_absolute, only_file
from memory_assets.recall.rows import stored_vectors, with_iso_times
from memory_assets.recall.search.answer import Hit
from memory_assets.recall.search.search import NO_DOCUMENTS
from memory_assets.requests.search import OF_DOCUMENTS, CrossQueryRequest
from memory_assets.search_kinds import HISTORY_COLLECTIONS, MEMORY_COLLECTIONS, SEARCH_KINDS
from memory_assets.stores.lake.schemas import WORKSPACE_DOCUMENTS, WORKSPACE_EMBEDDINGS
from memory_assets.stores.vector_store import Collection, Document
from memory_assets.stores.workspaces import Workspaces

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable

WORKSPACE = SEARCH_KINDS["workspace"].collection
OURS = frozenset(
    kind.collection_of(agent) for kind in SEARCH_KINDS.values() for agent in KNOWN_AGENTS
).union(MEMORY_COLLECTIONS, HISTORY_COLLECTIONS)
_MOST_ASKED = 2_000
_PATH_KEYS = ("path", "file_path", "filepath", "relative_path", "rel_path", "file", "source")
_DOCUMENT_ID = re.compile(r"[^:]+::(?P<path>.+)::\d+")
_PATH = re.compile(r"[^\n\0:*?\"<>|]*[/\\][^\n\0:*?\"<>|/\\]+\.\w{1,8}")
_NONE_TO_READ = (
    "there are no documents to ask beside the sessions: no workspace is on record, and collections "
    "of others are in a Chroma that cannot be started in a data directory that is read-only here. "
    "Search the sessions alone, or run `memory index ROOT` where the directory can be written."
)
_NO_VECTOR = np.empty(0, dtype=np.float32)
_Scored = tuple[Document, float]


class DocumentSource(Protocol):
    """Documents with vectors of the embedder's space."""

    name: str
    space: Space

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids, as far as they are there."""

    def nearest(self, query: str, n: int, where: Mapping[str, str] | None) -> Sequence[_Scored]:
        """Return the documents that answer a query best, with their scores."""

    def path(self, document: Document) -> str | None:
        """Return the path of the file that a document was made from, None if that is not known."""

    def is_file(self, document: Document, hit: Hit) -> bool:
        """Whether a turn that touched a file of the document's path touched its file."""


def document_source(memory: Searchable, request: CrossQueryRequest) -> DocumentSource:
    """Return the documents that a request names, or the only ones there are.

    Raises:
        ConfigurationError: there are several, or none; lists them.
        NotFound: there is no such collection.
        StoreMismatch: it was, or may have been, embedded with another model.
        StoreError: Chroma cannot be reached.
    """
    name = WORKSPACE if request.workspace else request.collection
    indexed = bool(memory.catalog.products.totals().get(WORKSPACE_DOCUMENTS.name))
    if name == WORKSPACE and indexed:
        return _WorkspaceDocuments(memory, request)
    try:
        names = other_collections(memory)
    except (NotFound, StoreError) as error:
        if name is None and indexed:
            return _WorkspaceDocuments(memory, request)
        if name is None and isinstance(error, StoreReadOnly):
            raise ConfigurationError(_NONE_TO_READ) from error
        raise
    names += [WORKSPACE] if indexed else []
    none = "only ours are there; `memory index ROOT` adds documents"
    there = f"there are: {', '.join(names)}" if names else none
    if not memory.vectors.holds_others:
        there += (
            f" ({memory.vectors_name} is asked for our collections only, Chroma for others too)"
        )
    if name is None and len(names) == 1:
        name = names[0]
    if name is None:
        raise ConfigurationError(f"name the collection to ask beside the sessions; {there}")
    if name == WORKSPACE:
        if not indexed:
            raise NotFound(NO_DOCUMENTS)
        return _WorkspaceDocuments(memory, request)
    if name in OURS:
        raise ConfigurationError(f"{name} holds sessions, which are asked anyway; {there}")
    if name not in names:
        raise NotFound(f"no collection {name}; {there}")
    return _ChromaDocuments(memory, memory.vectors.get(name), assume=request.assume_same_embedder)


def other_collections(memory: Searchable) -> list[str]:
    """Return the names of the collections in the same Chroma that are not ours."""
    return [name for name in memory.vectors.names() if name not in OURS and "." not in name]


class _ChromaDocuments:
    """The documents of another program's collection. Scores are cosines."""

    def __init__(self, memory: Searchable, collection: Collection, *, assume: bool) -> None:
        self._embedder = memory.embedder
        self._collection = collection
        self.name = collection.name
        self.space = require_same_space(collection, self._embedder, assume=assume)

    def documents(self, ids: Sequence[str]) -> list[Document]:
        return self._collection.documents(ids)

    def nearest(self, query: str, n: int, where: Mapping[str, str] | None) -> Sequence[_Scored]:
        conditions = [{key: value} for key, value in (where or {}).items()]
        vector = self._embedder.embed([query])[0]
        together = {"$and": conditions} if len(conditions) > 1 else where or None
        return self._collection.nearest(vector, n, together)

    def path(self, document: Document) -> str | None:
        for key in _PATH_KEYS:
            value = document.metadata.get(key)
            if isinstance(value, str) and _PATH.fullmatch(value):
                return value
        named = _DOCUMENT_ID.fullmatch(document.id)
        return named["path"] if named and _PATH.fullmatch(named["path"]) else None

    def is_file(self, document: Document, hit: Hit) -> bool:
        return True


class _WorkspaceDocuments:
    """The documents of workspaces, chunk by chunk. Scores are those of `memory search`."""

    name = WORKSPACE

    def __init__(self, memory: Searchable, request: CrossQueryRequest) -> None:
        self._memory = memory
        self._n = request.n
        self._workspace = (
            memory.workspace_named(request.workspace).name if request.workspace else None
        )
        self.space = Space(memory.settings.embedder, "workspace")

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return chunks by their ids, or by those of their documents: at most `n` of each. A
        document may be named by its path or the end of it.

        Raises:
            ConfigurationError: several documents are called so; lists them.
        """
        rows = []
        for text in ids:
            named = document_named(
                self._memory, f"{self._workspace}::{text}" if self._workspace else text
            )
            if named is None and (full := only_file(text, self._by_path())) is not None:
                named = document_named(self._memory, full)
            if named is not None:
                rows += chunk_rows(self._memory, named)[: self._n]
        return self._with_vectors(
            [Document(row["id"], str(row["text"]), with_iso_times(row), _NO_VECTOR) for row in rows]
        )

    def nearest(self, query: str, n: int, where: Mapping[str, str] | None) -> Sequence[_Scored]:
        unknown = set(where or ()) - set(OF_DOCUMENTS)
        if unknown:
            raise BadArgument(
                f"where: documents of workspaces have no {', '.join(sorted(unknown))}; known "
                f"are: {', '.join(OF_DOCUMENTS)}"
            )
        query = query[:_MOST_ASKED]
        request = {"kinds": (WORKSPACE,), "n": n, "workspace": self._workspace, **(where or {})}
        hits = self._memory.search(query, **request).hits
        documents = [Document(hit.id, str(hit.text), hit.metadata, _NO_VECTOR) for hit in hits]
        return list(zip(self._with_vectors(documents), (hit.score for hit in hits), strict=True))

    def path(self, document: Document) -> str | None:
        """Return the path below the workspace's directory, as turns have it: redacted."""
        return f"{document.metadata['project_root']}/{document.metadata['file_path']}"

    def is_file(self, document: Document, hit: Hit) -> bool:
        """Whether one of the turn's files is the document's, or that of a copy of the workspace:
        by its path in the turn's project, which says too little of files at the top."""
        for touched in str(hit.metadata["files"]).split(","):
            full = touched if is_absolute(touched) else f"{hit.metadata['project_root']}/{touched}"
            if full == self.path(document) or touched == document.metadata["file_path"] != (
                PurePath(touched).name
            ):
                return True
        return False

    def _by_path(self) -> dict[str, str]:
        """Return the ids of all documents, by name of the workspace and path in it."""
        products = self._memory.catalog.products
        return {
            f"{workspace.name}/{path}": f"{workspace.name}::{path}"
            for workspace in Workspaces(self._memory.data_dir).all()
            if self._workspace in (None, workspace.name)
            for path in products.of_project(WORKSPACE_DOCUMENTS.name, workspace.partition)
        }

    def _with_vectors(self, documents: Sequence[Document]) -> list[Document]:
        """Return documents with their vectors, those of the lake where it has them; without any if
        there is no embedder."""
        if self._memory.settings.embedder == NO_EMBEDDER:
            return list(documents)
        places = {
            (str(document.metadata["project"]), str(document.metadata["session_id"]))
            for document in documents
        }
        stored = stored_vectors(self._memory.lake, WORKSPACE_EMBEDDINGS, sorted(places))
        missing = [document for document in documents if document.id not in stored]
        embedded = self._memory.embedder.embed([document.text for document in missing])
        vectors = {document.id: vector for document, vector in zip(missing, embedded, strict=True)}
        vectors |= {name: vector for name, (_, vector) in stored.items()}
        return [replace(document, vector=vectors[document.id]) for document in documents]


_PROBED = 3
_SAME = 0.8
"""Median cosine of stored vectors with ours of the same texts from which on their model is ours:
.99 and more at another precision, .88 and more of 162 of 170 texts that had a line of context when
they were embedded, about 0 for another model."""


@dataclass(frozen=True)
class Space:
    """The model of a collection, and how it is known: `evidence` is "vectors" (embedding its texts
    again gave equal vectors), "assumed" or "workspace"."""

    embedder: str
    evidence: str


def require_same_space(
    collection: Collection, embedder: Embedder, *, assume: bool = False
) -> Space:
    """Return the model of a collection, if its vectors can be compared with the embedder's;
    `assume` is the user's statement that they can.

    Raises:
        StoreMismatch: they cannot; says why and what to do.
    """
    sample = collection.sample(_PROBED)
    refused = f"{collection.name} cannot be compared with sessions: "
    remedy = "Embed it with all-MiniLM-L6-v2 (Chroma's default) to ask across both."
    dimension = len(sample[0].vector) if sample else embedder.dimension
    if dimension != embedder.dimension:
        raise StoreMismatch(
            f"{refused}its vectors have {dimension} numbers, ours {embedder.dimension}. {remedy}"
        )
    if not sample or _mean_similarity(embedder, sample) >= _SAME:
        return Space(embedder.family, "vectors")
    if assume:
        return Space(embedder.family, "assumed")
    raise StoreMismatch(
        f"{refused}its vectors are not those that {embedder.family} makes of its texts. If they "
        f"are of this model, say so (assume_same_embedder). {remedy}"
    )


def _mean_similarity(embedder: Embedder, sample: list[Document]) -> float:
    """Return the median cosine between stored vectors and ours of the same texts; 0 without any."""
    texts = [document for document in sample if document.text.strip()]
    if not texts:
        return 0.0
    ours = embedder.embed([document.text for document in texts])
    stored = np.stack([document.vector for document in texts])
    return float(np.median(np.sum(ours * stored, axis=1)))
