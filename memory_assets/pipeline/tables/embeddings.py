"""The vectors of a table's texts, kept in the lake so that no store needs them twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from memory_assets.embedding import DEFAULT_EMBEDDER, embed_redacted
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.models import Embedding
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.growth import Growth
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, Extension, Made, derive_table
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.catalog.vectors import VectorPlace
from memory_assets.stores.lake.schemas import TABLES, Table

Vector = npt.NDArray[np.float32]
_Texts = list[tuple[str, str, RedactedText]]


def embedded(source_table: Table, table: Table) -> DerivedTable:
    """Return the table of the vectors of `source_table`."""
    return DerivedTable(
        table,
        DEFAULT_EMBEDDER,
        chosen=lambda components: components.embedder.embedder_id,
        upstream=source_table,
    )


def embed_project(
    components: Components, project: str, *, source_table: Table, table: Table
) -> StageReport:
    """Embed the sessions of `source_table` that changed, into `table`; of one that has only
    grown, the rows that are new.

    Only new text is embedded: one that any session held before gives its vector.
    """
    work = _Embedding(components, project, source_table, table)
    report = derive_table(
        components,
        project,
        embedded(source_table, table),
        make=work.make,
        extend=work.extend,
    )
    report.details["texts_embedded"] = work.embedded
    report.details["vectors_reused"] = work.reused
    return report


class _Embedding:
    """The embedding of one project's sessions."""

    def __init__(
        self, components: Components, project: str, source_table: Table, table: Table
    ) -> None:
        self._components = components
        self._project = project
        self._source_table = source_table
        self._table = table
        self._met: dict[str, Vector] = {}
        self.embedded = self.reused = 0

    def make(self, source: Product) -> Made:
        """Return the rows of a session."""
        if not source.rows:
            return [], {}
        lake, key = self._components.lake, (self._project, source.session_id)
        texts = lake.read_texts(self._source_table, *key)
        return self._rows(source.session_id, texts, behind=0), {}

    def extend(self, source: Product, before: Product, grown: Growth) -> Extension | None:
        """Return the rows of what was added to a session."""
        if before.rows < grown.kept:
            return None
        lake, key = self._components.lake, (self._project, source.session_id)
        texts = lake.read_texts(self._source_table, *key, skip=grown.kept)
        rows = self._rows(source.session_id, texts, behind=grown.kept)
        return Extension(grown.kept, rows, removed_ids=grown.removed_ids)

    def _rows(self, session_id: str, texts: _Texts, behind: int) -> Iterator[Embedding]:
        embedder_id = self._components.embedder.embedder_id
        wanted = {content_hash: text for _, content_hash, text in texts}
        self._meet(self._at_place(self._place(session_id), wanted, behind))
        self._meet(self._elsewhere(name for name in wanted if name not in self._met))
        new = [content_hash for content_hash in wanted if content_hash not in self._met]
        vectors = embed_redacted(self._components.embedder, [wanted[name] for name in new])
        self._met.update(zip(new, vectors, strict=True))
        if new:
            self._components.catalog.vectors.put(self._place(session_id), map(self._key, new))
        self.embedded += len(new)
        self.reused += len(texts) - len(new)
        return (
            Embedding(row_id, content_hash, embedder_id, self._met[content_hash])
            for row_id, content_hash, _ in texts
        )

    def _meet(self, vectors: Iterable[tuple[str, Vector]]) -> None:
        for content_hash, vector in vectors:
            self._met.setdefault(content_hash, vector)

    def _elsewhere(self, content_hashes: Iterable[str]) -> Iterator[tuple[str, Vector]]:
        """Yield the vectors of texts that other sessions, or other rows of the same, hold."""
        wanted = {self._key(name): name for name in content_hashes}
        by_place: dict[VectorPlace, set[str]] = {}
        for known, place in self._components.catalog.vectors.places(wanted).items():
            by_place.setdefault(place, set()).add(wanted[known])
        for place, names in by_place.items():
            yield from self._at_place(place, names, 0)

    def _at_place(
        self, place: VectorPlace, wanted: Iterable[str], behind: int
    ) -> Iterator[tuple[str, Vector]]:
        """Yield the vectors of a session's file that are of wanted texts and of this
        embedder; none if it is not there."""
        sought, embedder_id = set(wanted), self._components.embedder.embedder_id
        table, key = TABLES[place.stage], (place.project, place.session_id)
        names = ["content_hash", "embedder_id"]
        try:
            with self._components.lake.opened(table, *key) as rows:
                held = rows.read(names, behind)
                columns = (held[name].to_pylist() for name in names)
                for at, (content_hash, made_by) in enumerate(zip(*columns, strict=True), behind):
                    if content_hash in sought and made_by == embedder_id:
                        sought.discard(content_hash)
                        (part,) = rows.parts(at, at + 1, ["vector"])
                        vector = np.asarray(part["vector"][0].values, dtype=np.float32)
                        yield str(content_hash), vector
        except (NotFound, DamagedFile):
            return

    def _place(self, session_id: str) -> VectorPlace:
        return VectorPlace(self._table.name, self._project, session_id)

    def _key(self, content_hash: str) -> bytes:
        """Return by what the catalogue knows a vector: no text can be tried against it."""
        named = f"{content_hash}\0{self._components.embedder.embedder_id}".encode()
        return blake2b(named, key=self._components.install_key, digest_size=16).digest()
