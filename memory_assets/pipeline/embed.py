"""The vectors of a table's texts, kept in the lake so that no store needs them twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memory_assets.embedding import embed_redacted
from memory_assets.errors import NotFound
from memory_assets.models import Embedding
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.derive import Made, derive_table
from memory_assets.pipeline.report import StageReport
from memory_assets.stores.catalog import Product
from memory_assets.stores.schemas import Table

Vector = npt.NDArray[np.float32]


def embed_project(
    components: Components, project: str, *, source_table: Table, table: Table
) -> StageReport:
    """Embed the sessions of `source_table` that changed, into `table`.

    Only new text is embedded: a text that the session held before, or that was met
    earlier in this run, gives its vector by content hash.
    """
    embedder_id = components.embedder.embedder_id
    met: dict[str, Vector] = {}
    embedded = 0

    def make(source: Product) -> Made:
        nonlocal embedded
        if not source.rows:
            return [], {}
        rows = components.lake.read_texts(source_table, project, source.session_id)
        met.update(_vectors_before(components, table, project, source.session_id))
        texts = {content_hash: text for _, content_hash, text in rows}
        new = [content_hash for content_hash in texts if content_hash not in met]
        vectors = embed_redacted(components.embedder, [texts[name] for name in new])
        met.update(zip(new, vectors, strict=True))
        embedded += len(new)
        return (
            Embedding(row_id, content_hash, embedder_id, met[content_hash])
            for row_id, content_hash, _ in rows
        ), {}

    report = derive_table(
        components,
        project,
        table=table,
        upstream=source_table.name,
        version=embedder_id,
        make=make,
    )
    report.details["texts_embedded"] = embedded
    report.details["vectors_reused"] = report.rows_written - embedded
    return report


def _vectors_before(
    components: Components, table: Table, project: str, session_id: str
) -> dict[str, Vector]:
    """Return the vectors that a session has already from this embedder, by content hash."""
    try:
        old = components.lake.read_vectors(table, project, session_id)
    except NotFound:
        return {}
    embedder_id = components.embedder.embedder_id
    return {
        content_hash: vector
        for content_hash, made_by, vector in zip(
            old.content_hashes, old.embedder_ids, old.vectors, strict=True
        )
        if made_by == embedder_id
    }
