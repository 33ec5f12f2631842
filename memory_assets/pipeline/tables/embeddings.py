"""The stages of the embeddings: a vector for each text of a table, kept in the lake.

Vectors of documents' texts that have gone are kept for a while, so that a text that comes back (a
branch that is switched to and back) is not embedded again.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from memory_assets.embedding import DEFAULT_EMBEDDER, Embedder, embed_redacted
from memory_assets.embedding.endpoint import BATCH, EndpointEmbedder
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.http.endpoint_use import is_endpoint
from memory_assets.models import Embedding
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import Results
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import (
    DerivedRows,
    DerivedTable,
    derive_table,
    expected_input,
    in_order,
)
from memory_assets.redacted_text import RedactedText, require_redacted
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.catalog.vectors import VectorPlace
from memory_assets.stores.lake.schemas import (
    TABLES,
    WORKSPACE_DOCUMENTS,
    WORKSPACE_EMBEDDINGS,
    Table,
)

Vector = npt.NDArray[np.float32]
_MOST_KEPT = 20_000
"""Vectors of an endpoint (30 MB) that wait for the sessions of their texts."""
_Texts = list[tuple[str, str, RedactedText]]
_VECTORS = "vectors"
"""Part of the key of a worker's results that are vectors, not rows."""


def embedding_of(source_table: Table, table: Table) -> DerivedTable:
    """Return the definition of `table` as the vectors of `source_table`."""

    def make(components: Components, source: Product) -> DerivedRows:
        """Make the vectors of one session; `embed_project` lets sessions share them."""
        return _Embedding(components, source.project, source_table, table).make(components, source)

    return DerivedTable(
        table,
        DEFAULT_EMBEDDER,
        make,
        chosen=lambda components: components.embedder.embedder_id,
        upstream=source_table,
        is_pure=lambda components: not is_endpoint(components.settings.embedder),
    )


def embed_project(
    components: Components, project: str, *, source_table: Table, table: Table
) -> StageReport:
    """Embed the sessions of `source_table` that changed into `table`, and return the report.

    A text that any session already has, or a document had lately, is not embedded again; its
    vector is copied.
    """
    work = _Embedding(components, project, source_table, table)
    derived = replace(embedding_of(source_table, table), make=work.make)
    report = derive_table(components, project, derived, enough=components.enough)
    report.details["texts_embedded"] = work.embedded
    report.details["vectors_reused"] = work.reused
    if work.embedded:
        report.details["embeddings_per_second"] = round(work.embedded / work.seconds, 1)
    return report


def precompute_vectors(components: Components, derived: DerivedTable, source: Product) -> Results:
    """Return new vectors of a session's texts by content hash, and the seconds the embedder
    took."""
    expected = expected_input(source.output_hash, derived.version(components))
    work = _Embedding(components, source.project, derived.upstream, derived.table)
    return {(_VECTORS, derived.table.name, expected): (work.new_vectors(source), work.seconds)}


class _FilledRequests:
    """A model at an endpoint whose requests are filled across sessions: a request that one
    session's texts do not fill is filled with texts of the next sessions."""

    in_process = False

    def __init__(self, embedder: EndpointEmbedder, following: Iterator[list[RedactedText]]) -> None:
        """Take a model, and the texts of the sessions to be embedded, in their order."""
        self.embedder_id, self.family = embedder.embedder_id, embedder.family
        self.dimension, self.knows = embedder.dimension, embedder.knows
        self._embedder, self._following = embedder, following
        self._vectors: dict[str, Vector] = {}
        self._waiting: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return an array (len(texts), dimension) of rows of length 1.

        Raises:
            EmbedderUnavailable: the model's endpoint does not answer.
        """
        while missing := [text for text in texts if text not in self._vectors]:
            self._ask(missing)
        vectors = np.stack([self._vectors[text] for text in texts])
        if len(self._vectors) > _MOST_KEPT:
            for text in texts:
                self._vectors.pop(text, None)
        return vectors

    def _ask(self, missing: Sequence[str]) -> None:
        """Send as many full requests as may be under way at once, the missing texts first; the rest
        waits, unless no session follows."""
        waiting = dict.fromkeys((*missing, *self._waiting))
        for texts in self._following:
            require_redacted(texts)
            waiting |= dict.fromkeys(text for text in texts if text not in self._vectors)
            if len(waiting) >= self._embedder.at_once:
                break
        else:
            self._following = iter(())
        chosen, whole = list(waiting), len(waiting) // BATCH * BATCH
        if len(waiting) < self._embedder.at_once:
            whole = len(waiting)
        vectors = self._embedder.embed(chosen[:whole])
        self._vectors |= zip(chosen[:whole], vectors, strict=True)
        self._waiting = chosen[whole:]


class _Embedding:
    """Makes the vectors of one project's sessions; `embedded` and `reused` count them, `seconds`
    is how long the embedder took."""

    def __init__(
        self, components: Components, project: str, source_table: Table, table: Table
    ) -> None:
        self._components = components
        self._project = project
        self._source_table = source_table
        self._table = table
        self._vectors: dict[str, Vector] = {}
        self._embedder: Embedder = components.embedder
        if isinstance(self._embedder, EndpointEmbedder):
            self._embedder = _FilledRequests(self._embedder, self._following())
        self.embedded = self.reused = 0
        self.seconds = 0.0

    def make(self, components: Components, source: Product) -> DerivedRows:
        """Return the rows of a session, one for each text."""
        if not source.rows:
            return [], {}
        return self._rows(source, self._texts(source)), {}

    def new_vectors(self, source: Product) -> dict[str, Vector]:
        """Return the vectors of a session's texts that have none, by hash."""
        text_of = {content_hash: text for _, content_hash, text in self._texts(source)}
        new = self._without_vectors(source.session_id, text_of)
        vectors = self._embedded(source.session_id, new, text_of)
        return dict(zip(new, vectors, strict=True))

    def _texts(self, source: Product) -> _Texts:
        lake = self._components.lake
        return lake.read_texts(self._source_table, source.project, source.session_id)

    def _without_vectors(self, session_id: str, text_of: Mapping[str, RedactedText]) -> list[str]:
        """Return the hashes of the texts without a vector; load the vectors of the others."""
        self._add(self._vectors_at(self._place(session_id), text_of))
        self._add(self._known_vectors(name for name in text_of if name not in self._vectors))
        self._add(self._kept_vectors(name for name in text_of if name not in self._vectors))
        return [content_hash for content_hash in text_of if content_hash not in self._vectors]

    def _rows(self, source: Product, texts: _Texts) -> Iterator[Embedding]:
        session_id, embedder_id = source.session_id, self._components.embedder.embedder_id
        text_of = {content_hash: text for _, content_hash, text in texts}
        self._keep_leaving(session_id, text_of)
        key = (_VECTORS, self._table.name, expected_input(source.output_hash, embedder_id))
        ahead = self._components.precomputed((self._project, session_id), key)
        vectors, seconds = ahead or ({}, 0.0)
        self.seconds += seconds
        new = self._without_vectors(session_id, text_of)
        if new:
            self._vectors.update(vectors)
            left = [name for name in new if name not in vectors]
            self._vectors.update(zip(left, self._embedded(session_id, left, text_of), strict=True))
            self._components.catalog.vectors.put(self._place(session_id), map(self._key, new))
        self.embedded += len(new)
        self.reused += len(texts) - len(new)
        return (
            Embedding(row_id, content_hash, embedder_id, self._vectors[content_hash])
            for row_id, content_hash, _ in texts
        )

    def _embedded(
        self, session_id: str, new: Sequence[str], text_of: Mapping[str, RedactedText]
    ) -> Iterable[Vector]:
        if not new:
            return []
        start = time.perf_counter()
        try:
            return embed_redacted(self._embedder, *self._parts(session_id, new, text_of))
        finally:
            self.seconds += time.perf_counter() - start

    def _parts(
        self, session_id: str, new: Sequence[str], text_of: Mapping[str, RedactedText]
    ) -> tuple[list[RedactedText], tuple[RedactedText, ...]]:
        """Return the texts to embed, and their contexts, () for tables without contexts."""
        lake, texts = self._components.lake, [text_of[name] for name in new]
        context_of = lake.read_contexts(self._source_table, self._project, session_id)
        if not context_of:
            return texts, ()
        lengths, contexts = zip(*map(context_of.__getitem__, new), strict=True)
        parts = [text.cut(0, length) for text, length in zip(texts, lengths, strict=True)]
        return parts, contexts

    def _following(self) -> Iterator[list[RedactedText]]:
        """Yield the texts to embed of each session that is out of date, in their order."""
        products, version = self._components.catalog.products, self._components.embedder.embedder_id
        outputs = products.of_project(self._table.name, self._project)
        sources = products.of_project(self._source_table.name, self._project)
        for source in in_order(sources.values()):
            session_id = source.session_id
            known = outputs.get(session_id)
            if known and known.input_hash == expected_input(source.output_hash, version):
                continue
            try:
                text_of = {name: text for _, name, text in self._texts(source)}
                new = self._without_vectors(session_id, text_of)
                texts, contexts = self._parts(session_id, new, text_of) if new else ([], ())
            except (NotFound, DamagedFile):  # it is reported when the session is made
                continue
            yield [text for text in (*texts, *contexts) if text]

    def _add(self, vectors: Iterable[tuple[str, Vector]]) -> None:
        for content_hash, vector in vectors:
            self._vectors.setdefault(content_hash, vector)

    def _known_vectors(self, content_hashes: Iterable[str]) -> Iterator[tuple[str, Vector]]:
        """Yield hash and vector of the texts whose vector the catalogue can locate in the lake."""
        hash_of = {self._key(name): name for name in content_hashes}
        by_place: dict[VectorPlace, set[str]] = {}
        for key, place in self._components.catalog.vectors.places(hash_of).items():
            by_place.setdefault(place, set()).add(hash_of[key])
        for place, names in by_place.items():
            yield from self._vectors_at(place, names)

    def _kept_vectors(self, content_hashes: Iterable[str]) -> Iterator[tuple[str, Vector]]:
        """Yield hash and vector of the texts that a document once had."""
        hash_of = {self._key(name): name for name in content_hashes}
        for key, vector in self._components.catalog.kept_vectors.vectors(hash_of).items():
            yield hash_of[key], np.frombuffer(vector, dtype=np.float32)

    def _keep_leaving(self, session_id: str, present: Container[str]) -> None:
        """Keep the vectors of texts that a document no longer has, unless the rules changed: text
        that new rules redact should leave no trace."""
        if self._table != WORKSPACE_EMBEDDINGS:
            return
        products = self._components.catalog.products.of_session(self._project, session_id)
        facts = products[WORKSPACE_DOCUMENTS.name].facts
        if facts.get("same_rules"):
            version = facts["made_with"]
            keep_vectors(self._components, self._project, session_id, version, but=present)

    def _vectors_at(
        self, place: VectorPlace, content_hashes: Iterable[str]
    ) -> Iterator[tuple[str, Vector]]:
        """Yield hash and vector of the texts that a session's file has, made by the present
        embedder; nothing if there is no usable file."""
        missing, embedder_id = set(content_hashes), self._components.embedder.embedder_id
        table, key = TABLES[place.stage], (place.project, place.session_id)
        names = ["content_hash", "embedder_id"]
        try:
            with self._components.lake.opened(table, *key) as rows:
                for part in rows.parts([*names, "vector"]):
                    columns = (part[name].to_pylist() for name in names)
                    flat = pc.list_flatten(part["vector"]).to_numpy()
                    vectors = flat.reshape(len(part), -1).astype(np.float32, copy=False)
                    for at, (content_hash, made_by) in enumerate(zip(*columns, strict=True)):
                        if content_hash in missing and made_by == embedder_id:
                            missing.discard(content_hash)
                            yield str(content_hash), vectors[at]
        except (NotFound, DamagedFile):
            return

    def _place(self, session_id: str) -> VectorPlace:
        return VectorPlace(self._table.name, self._project, session_id)

    def _key(self, content_hash: str) -> bytes:
        return vector_key(self._components, content_hash)


def vector_key(components: Components, content_hash: str) -> bytes:
    """Return the keyed hash under which the catalogue has a text's vector by the present
    embedder."""
    named = f"{content_hash}\0{components.embedder.embedder_id}".encode()
    return blake2b(named, key=components.install_key, digest_size=16).digest()


def keep_vectors(
    components: Components, partition: str, path: str, version: str, but: Container[str] = ()
) -> None:
    """Keep the vectors of a document, except those of the texts that it still has (`but`, by
    hash); `version`: what made the document. Nothing if there are none."""
    if not components.embeds:
        return
    try:
        stored = components.lake.read_vectors(WORKSPACE_EMBEDDINGS, partition, path)
    except (NotFound, DamagedFile):
        return
    present = components.embedder.embedder_id
    rows = zip(stored.content_hashes, stored.embedder_ids, stored.vectors, strict=True)
    leaving = {
        vector_key(components, content_hash): vector.tobytes()
        for content_hash, made_by, vector in rows
        if made_by == present and content_hash not in but
    }
    components.catalog.kept_vectors.put(partition, path, version, leaving)
