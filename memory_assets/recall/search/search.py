"""One search: words and vectors of the keyword index, or words alone.

Where there are collections, only these are known to be complete, so that vectors are not used
while they are unavailable; the answer says so, and why. With `VECTOR_BACKEND=none` the index's own
vectors are counted.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock, Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from memory_assets.errors import EmbedderUnavailable, NotFound, OutOfMemory, StoreError
from memory_assets.paths import NO_EMBEDDER, NO_VECTORS
from memory_assets.recall.search.answer import (
    Answer,
    Coverage,
    Hit,
    coverages,
    newest_first,
    with_summaries_last,
)
from memory_assets.recall.search.corpus import Corpora, Corpus
from memory_assets.recall.search.filters import allowed_turns, files_beginning, left_out
from memory_assets.recall.search.hybrid import find, hit_ids
from memory_assets.recall.search.later import with_later
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.under_way import ingest_under_way

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.settings import Settings
    from memory_assets.stores.stores import Stores

KEYWORD_ONLY = "keyword-only"
NO_DOCUMENTS = "no document of a workspace is in memory; run `memory index ROOT`"
_CONNECT_SECONDS = 1.0
_ASK_AGAIN_SECONDS = 5.0


class Searcher:
    """Answers the searches of one memory, and caches what they share."""

    def __init__(
        self, stores: Stores, settings: Settings, embedder: Callable[[], Embedder]
    ) -> None:
        self._stores = stores
        self._embeds = settings.embedder != NO_EMBEDDER
        self._keeps_collections = settings.keeps_collections
        self._load_embedder = embedder
        self._corpora: Corpora | None = None
        self._opened: tuple[int, int] | None = None
        self._coverage_by_state: dict[tuple[object, ...], tuple[Coverage, Coverage]] = {}
        self._backend_check: tuple[float, str | None] = (0.0, None)
        self._loading: Thread | None = None
        self._lock = Lock()

    def search(self, request: SearchRequest) -> Answer:
        """Return the answer to a request.

        Raises:
            NotFound, StoreError, EmbedderUnavailable: the keyword index or what the mode asks
                for is not there.
            StoreMismatch: the vectors were made by another embedder.
        """
        answer = self._answer(request)
        if answer.weak or not answer.hits:
            answer = replace(answer, machine=self._count_left_out(request))
        progress = ingest_under_way(self._stores.data_dir)
        if progress is None:
            return answer
        return replace(answer, coverage=replace(answer.coverage, ingest=str(progress)))

    def with_later(self, hits: Sequence[Hit], query: str) -> Sequence[Hit]:
        """Return hits with what came of them later; see `later.with_later`."""
        corpora = self._corpora
        if not hits or corpora is None:
            return hits
        with corpora.index.reading():
            return with_later(hits, corpora.index, query)

    def _count_left_out(self, request: SearchRequest) -> int:
        corpora = self._corpora
        if corpora is None:
            return 0
        with corpora.index.reading():
            corpuses = map(corpora.corpus, request.kinds)
            return sum(left_out(corpus, request) for corpus in corpuses)

    def titles(self, sessions: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the titles of sessions (project and id) by id, of those that have one."""
        wanted, corpora = set(sessions), self._corpora
        if corpora is None:
            return {}
        with corpora.index.reading():
            corpus = corpora.corpus("summaries")
            numbers = [
                number
                for number, key in enumerate(corpus.sessions)
                if (key.project, key.session_id) in wanted
            ]
            turns = np.searchsorted(corpus.session, numbers)
            places = np.searchsorted(corpus.turn, turns).tolist()
            rows = corpus.rows_at(places)
        return {
            corpus.sessions[number].session_id: str(row.metadata["title"])
            for number, row in zip(numbers, rows, strict=True)
            if row is not None and row.metadata.get("title")
        }

    def corpus(self, kind: str) -> Corpus:
        """Return all rows of a kind in the keyword index.

        Raises:
            NotFound, StoreError: there is no index, or it cannot be read.
        """
        corpora = self._open_index((kind,))
        with corpora.index.reading():
            return corpora.corpus(kind)

    def _answer(self, request: SearchRequest) -> Answer:
        if not request.query.strip():
            newest = _newest_hits(request, self._open_index(request.kinds))
            return Answer("", "filter", self._coverage(request.kinds)[0], tuple(newest))
        if request.mode != "keyword":
            self._start_model()
        corpora = self._open_index(request.kinds)
        why_no_vectors = None if request.mode == "keyword" else self._why_no_vectors()
        if why_no_vectors is not None and request.mode == "semantic":
            self._embedder()
            error_class = NotFound if self._stores.vectors_url is None else StoreError
            raise error_class(f"no search by meaning: {why_no_vectors}")
        uses_vectors = request.mode != "keyword" and why_no_vectors is None
        try:
            outcome = find(request, corpora, self._embedder() if uses_vectors else None)
        except EmbedderUnavailable as error:  # also an endpoint that does not answer
            if request.mode == "semantic":
                raise
            why_no_vectors, outcome = str(error), find(request, corpora, None)
        if request.mode == "hybrid" and not outcome.compared:
            why_no_vectors = why_no_vectors or "there are no vectors in memory; run `memory ingest`"
        return Answer(
            request.query,
            request.mode,
            self._coverage(request.kinds)[0],
            outcome.hits,
            KEYWORD_ONLY if why_no_vectors else None,
            why_no_vectors or self._store_lag(request),
            corrected=outcome.corrected,
            missing=outcome.missing,
        )

    def _start_model(self) -> None:
        """Load the model in a thread while the index is opened: the first question waits less.

        An answer may need no vectors after all, so the process may end while the model loads.
        The interpreter waits for this thread then: it kills daemon threads, and one that is
        killed inside onnxruntime aborts the process.
        """

        def load() -> None:
            # Raised again when it is needed; RuntimeError: the interpreter is ending.
            with suppress(EmbedderUnavailable, OutOfMemory, RuntimeError):
                embedder = self._load_embedder()
                if embedder.in_process:
                    embedder.embed(["ready"])

        with self._lock:
            if self._loading is None and self._embeds:
                loading = Thread(target=load, name="model")
                loading.start()
                self._loading = loading

    def _embedder(self) -> Embedder:
        if self._loading is not None:
            self._loading.join()
        return self._load_embedder()

    def files_beginning(self, name: str) -> list[str]:
        """Return the paths of the files that turns touched whose name begins so.

        Raises:
            NotFound: there is no keyword index.
        """
        return files_beginning(self._open_index(("sessions",)).index, name)

    def _open_index(self, kinds: Sequence[str]) -> Corpora:
        """Return the corpora of the keyword index, to search these kinds.

        Raises:
            NotFound, StoreError: it is missing or damaged, or has none of these rows.
        """
        path = self._stores.data_dir / keyword_files.FILE_NAME
        try:
            status = path.stat()
        except OSError:
            raise NotFound(
                f"there is no keyword index in {self._stores.data_dir}; run `memory ingest`"
            ) from None
        with self._lock:
            if self._corpora is None or (status.st_ino, status.st_dev) != self._opened:
                self._corpora = Corpora(keyword_files.open_for_reading(path))
                self._opened = (status.st_ino, status.st_dev)
            corpora = self._corpora
        if not any(map(corpora.index.holds, kinds)):
            documents = tuple(kinds) == ("workspace",)
            if self._coverage(kinds)[0].rows:
                command = "index" if documents else "ingest"
                raise NotFound(
                    f"nothing of this kind is in the keyword index yet; run `memory {command}`"
                )
            if documents:
                raise NotFound(NO_DOCUMENTS)
        return corpora

    def _why_no_vectors(self) -> str | None:
        """Return why vectors cannot be used, or None. If there should be collections, only these
        are known to be complete, so vectors are not used while they are lost or unreachable."""
        stores = self._stores
        if not self._embeds:
            return NO_VECTORS
        if not self._keeps_collections:
            return None
        if stores.vectors_url is None:
            if stores.has_chroma_files:
                return None
            return f"the collections are not in {stores.chroma_dir}; run `memory ingest`"
        asked_at, reason = self._backend_check
        if time.monotonic() - asked_at > _ASK_AGAIN_SECONDS:
            reason = _connection_failure(stores.vectors_name, stores.vectors_url)
            self._backend_check = (time.monotonic(), reason)
        return reason

    def _store_lag(self, request: SearchRequest) -> str | None:
        """Return a message if the collections lack rows of the keyword index, or, without
        collections, if rows lack a vector; else None."""
        if request.mode == "keyword" or not self._embeds:
            return None
        vectors = self._coverage(request.kinds)[1]
        if vectors.complete:
            return None
        if not self._keeps_collections:
            return (
                f"{vectors.indexed} of {vectors.rows} rows have a vector (`memory ingest` makes "
                "the rest): the others were looked for by their words alone"
            )
        return (
            f"{self._stores.vectors_name} holds {vectors.indexed} of {vectors.rows} rows (`memory "
            "ingest` completes it), so all vectors of the index were compared instead"
        )

    def _coverage(self, kinds: Sequence[str]) -> tuple[Coverage, Coverage]:
        """Return the coverage of the keyword index, and that of the collections or, where there are
        none, of the index's vectors; counted again when the catalogue has changed."""
        catalog = self._stores.catalog
        state = (*kinds, *state_of(catalog))
        coverage = self._coverage_by_state.get(state)
        if coverage is None:  # another thread may replace the dictionary at any time
            index = None if self._keeps_collections or not self._corpora else self._corpora.index
            coverage = coverages(catalog, kinds, index)
            self._coverage_by_state = {state: coverage}
        return coverage


def _newest_hits(request: SearchRequest, corpora: Corpora) -> list[Hit]:
    """Return the newest turns of all requested kinds, newest first, each with its first passage."""
    hits: list[Hit] = []
    with corpora.index.reading():
        for kind in request.kinds:
            corpus = corpora.corpus(kind)
            allowed = allowed_turns(corpus, request)
            turns = np.arange(corpus.turns) if allowed is None else np.flatnonzero(allowed)
            newest = turns[np.lexsort((-turns, -corpus.ts_epoch[turns]))][: request.n]
            places = np.searchsorted(corpus.turn, newest).tolist()
            for row in corpus.rows_at(places):
                if row is not None:
                    hits.append(Hit(*hit_ids(row), 0.0, row.text, row.metadata))
    return with_summaries_last(newest_first(hits))[: request.n]


def state_of(catalog: Catalog) -> list[tuple[int, int]]:
    """Return modification times and sizes of the catalogue's files, which differ after every
    change."""
    state = []
    for name in (catalog.path.name, f"{catalog.path.name}-wal"):
        try:
            status = catalog.path.with_name(name).stat()
        except OSError:
            continue
        state.append((status.st_mtime_ns, status.st_size))
    return state


def _connection_failure(store: str, url: str) -> str | None:
    parts = urlsplit(url)
    if not parts.hostname:  # a directory of qdrant
        return None
    default_port = 443 if parts.scheme == "https" else 8000
    if store == "qdrant":
        default_port = 6333
    address = (parts.hostname, parts.port or default_port)
    try:
        with socket.create_connection(address, timeout=_CONNECT_SECONDS):
            return None
    except OSError as error:
        return f"{store} at {url} cannot be reached ({type(error).__name__})"
