"""The Chroma collections: exactly the rows of the lake, by set difference.

A collection can be thrown away at any time. When it is made anew it has another
incarnation, and every session counts as not yet indexed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_assets.pipeline import collection_rows
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.report import StageReport, input_hash, timed
from memory_assets.stores import chroma_server
from memory_assets.stores.catalog import Product
from memory_assets.stores.schemas import (
    PROMPT_EMBEDDINGS,
    REDACTED_RECORDS,
    SESSION_SUMMARIES,
    SUMMARY_EMBEDDINGS,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    USER_PROMPTS,
    Table,
)
from memory_assets.stores.vectors import (
    PROMPTS,
    SUMMARIES,
    Collection,
    Metadata,
    Where,
    sessions_collection,
)


@dataclass(frozen=True)
class IndexedTable:
    """A table of the lake that a collection mirrors."""

    stage: str
    table: Table
    embeddings: Table
    collection: Callable[[str], str]
    metadata: Callable[[dict[str, Any]], Metadata]


SESSIONS_INDEX = IndexedTable(
    "session_collection",
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    sessions_collection,
    collection_rows.chunk_metadata,
)
PROMPTS_INDEX = IndexedTable(
    "prompt_collection",
    USER_PROMPTS,
    PROMPT_EMBEDDINGS,
    lambda agent: PROMPTS,
    collection_rows.prompt_metadata,
)
SUMMARIES_INDEX = IndexedTable(
    "summary_collection",
    SESSION_SUMMARIES,
    SUMMARY_EMBEDDINGS,
    lambda agent: SUMMARIES,
    collection_rows.summary_metadata,
)
INDEXES = (SESSIONS_INDEX, PROMPTS_INDEX, SUMMARIES_INDEX)


@dataclass(frozen=True)
class IndexedSession:
    """A session of a table, and what its rows in the collection are made from."""

    session_id: str
    collection: str
    rows_hash: str
    vectors_hash: str


def index_project(components: Components, project: str, index: IndexedTable) -> StageReport:
    """Make the collections hold exactly this project's rows of `index.table`.

    Sessions whose rows, vectors or collection changed are compared with Chroma, row by
    row, and only differing rows are written. So are all sessions of a collection that does
    not hold as many rows as it should. Rows of vanished sessions are removed.
    """
    report = StageReport(index.stage, project)
    catalog = components.catalog
    with components.project_lock(project), timed(report):
        sessions = indexed_sessions(components, project, index)
        products = {key[1]: value for key, value in catalog.products(index.stage, project).items()}
        incomplete = _incomplete_collections(components, project, sessions, products)
        for session in sessions:
            if session.collection not in incomplete and _is_current(components, products, session):
                continue
            products[session.session_id] = _index_session(
                components, project, index, session, report
            )
            catalog.put_product(products[session.session_id])
            report.changed += 1
        for session_id in sorted(products.keys() - {session.session_id for session in sessions}):
            gone = products.pop(session_id)
            _remove_session(components, project, gone)
            report.removed += 1
        report.add_products(list(products.values()))
    names = sorted({session.collection for session in sessions})
    report.details["collections"] = ", ".join(names)
    return report


def _incomplete_collections(
    components: Components,
    project: str,
    sessions: Sequence[IndexedSession],
    products: Mapping[str, Product],
) -> set[str]:
    """Return the collections whose rows of this project are not as many as were written.
    One that was made anew gets its new incarnation noted here."""
    written: Counter[str] = Counter()
    for product in products.values():
        written[str(product.facts["collection"])] += product.rows
    names = {session.collection for session in sessions}
    return {
        name
        for name in sorted(names)
        if len(_open(components, name).ids({"project": project})) != written[name]
    }


def indexed_sessions(
    components: Components, project: str, index: IndexedTable
) -> list[IndexedSession]:
    """Return the sessions of a project that have vectors of this table, sorted."""
    catalog = components.catalog
    archive = catalog.products(REDACTED_RECORDS.name, project)
    rows = catalog.products(index.table.name, project)
    vectors = catalog.products(index.embeddings.name, project)
    return [
        IndexedSession(
            key[1],
            index.collection(str(archive[key].facts["agent"])),
            rows[key].output_hash,
            vectors[key].output_hash,
        )
        for key in sorted(vectors.keys() & rows.keys() & archive.keys())
    ]


def wanted_input(components: Components, session: IndexedSession) -> str:
    """Return the input hash that an indexed session should have now."""
    name = _catalog_name(components, session.collection)
    incarnation = components.catalog.incarnation(name) or ""
    return input_hash(session.rows_hash, session.vectors_hash, name, incarnation)


def _is_current(
    components: Components, products: Mapping[str, Product], session: IndexedSession
) -> bool:
    made = products.get(session.session_id)
    return made is not None and made.input_hash == wanted_input(components, session)


def forget_lost_store(components: Components) -> bool:
    """Count every session as not indexed if the local Chroma directory is gone; return
    whether it was. Costs one stat.
    """
    settings = components.settings
    if settings.chroma_url is not None or chroma_server.has_files(settings.data_dir):
        return False
    chroma_server.stop(settings.data_dir)
    return components.catalog.forget_incarnations() > 0


def reset_collections(components: Components) -> list[str]:
    """Drop the collections whose vectors another embedder made; return their names.
    What they held is indexed again from the lake."""
    dropped = []
    for name in components.vectors.names():
        collection = components.vectors.get(name)
        mine = components.catalog.incarnation(_catalog_name(components, name))
        if mine and collection.embedder_id != components.embedder.embedder_id:
            components.vectors.drop(name)
            dropped.append(name)
    return dropped


def rows_of_session(project: str, session_id: str) -> Where:
    """Return the filter for the rows of one session."""
    return {"$and": [{"project": project}, {"session_id": session_id}]}


def _catalog_name(components: Components, collection: str) -> str:
    return f"{components.settings.chroma_url or 'local'}/{collection}"


def _open(components: Components, name: str) -> Collection:
    collection = components.vectors.open(name, components.collection_versions)
    known_as = _catalog_name(components, name)
    if components.catalog.incarnation(known_as) != collection.incarnation:
        components.catalog.put_incarnation(known_as, collection.incarnation)
    return collection


def _index_session(
    components: Components,
    project: str,
    index: IndexedTable,
    session: IndexedSession,
    report: StageReport,
) -> Product:
    collection = _open(components, session.collection)
    before = collection.row_hashes(rows_of_session(project, session.session_id))
    rows = session_rows(components, project, index, session.session_id)
    changed = [row for row in rows if before.get(row.id) != row.metadata["row_hash"]]
    if changed:
        collection.upsert(
            [row.id for row in changed],
            np.stack([row.vector for row in changed]),
            [row.text for row in changed],
            [row.metadata for row in changed],
        )
    extra = sorted(before.keys() - {row.id for row in rows})
    if extra:
        collection.delete(extra)
    report.rows_written += len(changed)
    return Product(
        index.stage,
        project,
        session.session_id,
        input_hash=wanted_input(components, session),
        output_hash=session.rows_hash,
        rows=len(rows),
        facts={"collection": session.collection},
    )


def _remove_session(components: Components, project: str, product: Product) -> None:
    collection = _open(components, str(product.facts["collection"]))
    collection.delete(sorted(collection.ids(rows_of_session(project, product.session_id))))
    components.catalog.drop_product(product.stage, project, product.session_id)


def session_rows(
    components: Components, project: str, index: IndexedTable, session_id: str
) -> Sequence[collection_rows.CollectionRow]:
    """Return the rows of a session as a collection should hold them, from the lake."""
    rows = components.catalog.products(index.table.name, project)[(project, session_id)].rows
    if not rows:
        return []
    table = components.lake.read(index.table, project, session_id)
    texts = [text for _, _, text in components.lake.read_texts(index.table, project, session_id)]
    vectors = components.lake.read_vectors(index.embeddings, project, session_id)
    by_id = dict(zip(vectors.ids, vectors.vectors, strict=True))
    values: list[dict[str, Any]] = table.to_pylist()
    return [
        collection_rows.CollectionRow(
            row["id"],
            by_id[row["id"]],
            text,
            collection_rows.with_row_hash(index.metadata(row), row),
        )
        for row, text in zip(values, texts, strict=True)
    ]
