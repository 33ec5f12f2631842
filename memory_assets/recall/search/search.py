"""One search, whatever is there to search in: both indexes, or the one that is left.

The keyword index answers alone while Chroma is away; Chroma answers alone while the
keyword index is. What was not used, and why, is said in the answer.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock, Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memory_assets.errors import EmbedderUnavailable, NotFound, OutOfMemory, StoreError
from memory_assets.paths import NO_EMBEDDER
from memory_assets.recall.search.answer import Answer, Coverage
from memory_assets.recall.search.corpus import Corpora
from memory_assets.recall.search.hybrid import Meaning, find
from memory_assets.recall.status import coverage
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.chroma.rebuilding import rebuilding
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.keyword_index.index import KeywordIndex

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.recall.memory import Memory

KEYWORD_ONLY, SEMANTIC_ONLY = "keyword-only", "semantic-only"
_CONNECT_SECONDS = 1.0
_ASK_AGAIN_SECONDS = 5.0


class Searcher:
    """Answers the searches of one memory, and keeps what they have in common."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._corpora: Corpora | None = None
        self._opened: tuple[int, int] | None = None
        self._covered: dict[tuple[object, ...], tuple[Coverage, Coverage]] = {}
        self._chroma: tuple[float, str | None] = (0.0, None)
        self._loading: Thread | None = None
        self._lock = Lock()

    def search(self, request: SearchRequest) -> Answer:
        """Return the answer to a request.

        Raises:
            NotFound, StoreError: what the mode asks for is not there, nor, in hybrid mode,
                anything to fall back on.
            StoreMismatch: the vectors were made by another embedder.
        """
        being_rebuilt = self._being_rebuilt(request) if request.mode == "hybrid" else None
        if request.mode != "keyword" and being_rebuilt is None:
            self._start_model()
        corpora, lost = self._open_index(request)
        if corpora is None:
            if request.mode == "keyword":
                raise lost or NotFound("there is no keyword index; run `memory ingest`")
            return self._in_chroma(request, lost)
        away = None if request.mode == "keyword" else self._meaning_away()
        if away is not None and request.mode == "semantic":
            return self._in_chroma(request, None)
        away = away or being_rebuilt
        meaning = None
        if request.mode != "keyword" and away is None:
            try:
                embedder = self._embedder()
            except EmbedderUnavailable as error:
                if request.mode == "semantic":
                    raise
                away = str(error)
            else:
                meaning = Meaning(embedder.embedder_id, lambda text: embedder.embed([text])[0])
        found, compared = find(request, corpora, meaning)
        if request.mode == "hybrid" and not compared:
            away = away or "there are no vectors in memory; run `memory ingest`"
        return Answer(
            request.words,
            request.mode,
            self._coverage(request.kinds)[0],
            tuple(found),
            KEYWORD_ONLY if away else None,
            away or self._chroma_behind(request),
        )

    def _start_model(self) -> None:
        """Load the model in a thread while the index is opened: the first question waits less.

        An answer may need no vectors after all, so the process may end while the model loads.
        The interpreter waits for this thread then: it kills daemon threads, and one that is
        killed inside onnxruntime aborts the process.
        """
        memory = self._memory

        def load() -> None:
            with suppress(EmbedderUnavailable, OutOfMemory):  # told when it is needed
                memory.embedder.embed(["ready"])

        with self._lock:
            if self._loading is None and memory.settings.embedder != NO_EMBEDDER:
                loading = Thread(target=load, name="model")
                loading.start()
                self._loading = loading

    def _embedder(self) -> Embedder:
        if self._loading is not None:
            self._loading.join()
        return self._memory.embedder

    def _open_index(
        self, request: SearchRequest
    ) -> tuple[Corpora | None, NotFound | StoreError | None]:
        """Return the keyword index's corpora, or None and why not. One that has nothing of
        what is on record yet is as good as none."""
        path = self._memory.data_dir / keyword_files.FILE_NAME
        try:
            found = path.stat()
            identity = (found.st_ino, found.st_dev)
            with self._lock:
                if self._corpora is None or identity != self._opened:
                    self._corpora = Corpora(keyword_files.open_for_reading(path))
                    self._opened = identity
                corpora = self._corpora
            if self._holds_any(corpora.index, request.kinds):
                return corpora, None
        except OSError:
            self._corpora = None
            return None, NotFound(
                f"there is no keyword index in {self._memory.data_dir}; run `memory ingest`"
            )
        except (NotFound, StoreError) as error:
            self._corpora = None
            return None, error
        return None, NotFound("the keyword index is empty; run `memory ingest`")

    def _holds_any(self, index: KeywordIndex, kinds: Sequence[str]) -> bool:
        return any(index.holds(kind) for kind in kinds) or not self._coverage(kinds)[0].rows

    def _meaning_away(self) -> str | None:
        """Return why meanings cannot be compared, or None. The collections are what is
        known to be complete, so that while they are lost or away, vectors are not used."""
        memory = self._memory
        if memory.settings.embedder == NO_EMBEDDER:
            return "no vectors are made (MEMORY_EMBEDDER=none)"
        if memory.chroma_url is None:
            if memory.has_chroma_files:
                return None
            return f"the collections are not in {memory.chroma_dir}; run `memory ingest`"
        asked_at, told = self._chroma
        if time.monotonic() - asked_at > _ASK_AGAIN_SECONDS:
            told = _unreachable(memory.chroma_url)
            self._chroma = (time.monotonic(), told)
        return told

    def _being_rebuilt(self, request: SearchRequest) -> str | None:
        """Return that a collection which is asked for is being made anew, or None."""
        name = rebuilding(self._memory.data_dir)
        if name is None:
            return None
        from memory_assets.recall.search.chroma_search import collections_to_search

        if not collections_to_search(request, [name]):
            return None
        return f"{name} is being made anew; ask again when that is done"

    def _chroma_behind(self, request: SearchRequest) -> str | None:
        """Return that a collection lacks rows, which an answer from the index does not."""
        if request.mode == "keyword" or self._memory.settings.embedder == NO_EMBEDDER:
            return None
        held = self._coverage(request.kinds)[1]
        if held.complete:
            return None
        return (
            f"Chroma holds {held.indexed} of {held.rows} rows (`memory ingest` completes it), so "
            "all vectors of the index were compared instead"
        )

    def _in_chroma(self, request: SearchRequest, lost: Exception | None) -> Answer:
        """Answer by meaning alone, from the collections."""
        from memory_assets.chunking import CHUNKER_VERSION
        from memory_assets.recall.search.chroma_search import nearest_hits
        from memory_assets.stores.chroma.collections import CollectionVersions

        memory = self._memory
        embedder = self._embedder()
        versions = CollectionVersions(embedder.embedder_id, embedder.dimension, CHUNKER_VERSION, "")
        vector = embedder.embed([request.words])[0]
        found = nearest_hits(request, vector, memory.vectors, versions, memory.lake)
        degraded = request.mode == "hybrid"
        return Answer(
            request.words,
            request.mode,
            coverage(memory.catalog, request.kinds),
            tuple(found),
            SEMANTIC_ONLY if degraded else None,
            str(lost) if degraded and lost is not None else None,
        )

    def _coverage(self, kinds: Sequence[str]) -> tuple[Coverage, Coverage]:
        """Return the coverage of the keyword index, and that of the collections, counted anew
        when the catalogue changed."""
        catalog = self._memory.catalog
        state = (*kinds, *_state_of(catalog))
        if state not in self._covered:
            held = coverage(catalog, kinds)
            totals = catalog.products.totals()
            made = [totals.get(f"{kind}_keywords", {}) for kind in kinds]
            indexed = replace(
                held,
                indexed=sum(int(total.get("rows") or 0) for total in made),
                as_of=max((str(total.get("made_at") or "") for total in made), default=""),
            )
            self._covered = {state: (indexed, held)}
        return self._covered[state]


def _state_of(catalog: Catalog) -> list[tuple[int, int]]:
    """Return what changes when the catalogue does."""
    state = []
    for name in (catalog.path.name, f"{catalog.path.name}-wal"):
        try:
            found = catalog.path.with_name(name).stat()
        except OSError:
            continue
        state.append((found.st_mtime_ns, found.st_size))
    return state


def _unreachable(url: str) -> str | None:
    parts = urlsplit(url)
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 8000))
    try:
        with socket.create_connection(address, timeout=_CONNECT_SECONDS):
            return None
    except OSError as error:
        return f"Chroma at {url} cannot be reached ({type(error).__name__})"
