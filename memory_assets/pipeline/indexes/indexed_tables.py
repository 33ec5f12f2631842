"""The tables of the lake that collections mirror, and their rows as the collections have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from memory_assets.agent_memory.policy import MEMORY_TYPES
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redacted_text import RedactedText
from memory_assets.search_kinds import SEARCH_KINDS, SearchKind
from memory_assets.stores.agents.partitions import AGENT
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.rows import texts_from_arrow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, Table
from memory_assets.stores.vector_store import Collection, Metadata, Where

LIST_SEPARATOR = ","
_WHERE = ("session_id", "project", "project_root", "agent")


@dataclass(frozen=True)
class CollectionRow:
    """One row to upsert."""

    id: str
    vector: npt.NDArray[np.float32]
    text: RedactedText
    metadata: Metadata


def collection_metadata(kind: SearchKind, row: Mapping[str, Any], embedder_id: str) -> Metadata:
    """Return the metadata of a row of a kind's table (docs/contracts.md). `row_hash` changes when
    the text, its embedder or any metadata does, so that a row that Chroma has already is not
    written again (an unchanged upsert costs 2-3 inserts)."""
    timestamp: datetime | None = row[kind.time]
    scalars: Metadata = {
        **{name: row[name] for name in _WHERE},
        "timestamp": _iso(timestamp),
        "ts_epoch": timestamp.timestamp() if timestamp else 0.0,
    }
    for name, columns in kind.metadata.items():
        values = [row[column] for column in columns]
        scalars[name] = len(values[0]) if name in kind.counted else _scalar(values)
    digest = blake2b(f"{row['content_hash']}\0{embedder_id}".encode(), digest_size=12)
    for name in sorted(scalars):
        digest.update(f"\0{name}={scalars[name]}".encode())
    return {**scalars, "content_hash": row["content_hash"], "row_hash": digest.hexdigest()}


def columns_of(kind: SearchKind) -> dict[str, str]:
    """Return the fields of a row of a kind's collection, with the first column that each comes
    from; `embedding` from the table of vectors, the others from the kind's table."""
    return {
        "id": "id",
        "embedding": "vector",
        "document": "text",
        **{name: name for name in _WHERE},
        "timestamp": kind.time,
        "ts_epoch": kind.time,
        **{name: columns[0] for name, columns in kind.metadata.items()},
        "content_hash": "content_hash",
    }


def _scalar(values: list[Any]) -> str | int | float | bool:
    """Return a column's value as Chroma takes it; lists, of several columns too, are joined."""
    if isinstance(values[0], list | tuple):
        return LIST_SEPARATOR.join(item for items in values for item in items)
    value: str | int | float | bool | datetime | None = values[0]
    return _iso(value) if value is None or isinstance(value, datetime) else value


def _iso(timestamp: datetime | None) -> str:
    return timestamp.isoformat().replace("+00:00", "Z") if timestamp else ""


@dataclass(frozen=True)
class IndexedTable:
    """A table of the lake that collections and the keyword index mirror."""

    kind: SearchKind
    table: Table
    embeddings: Table

    @property
    def archive(self) -> str:
        """The stage whose products list the sessions and their agents."""
        return self.kind.archive

    @property
    def stage(self) -> str:
        """The name of the collections' asset, and of their stage in the catalogue."""
        return self.kind.asset

    def collection(self, agent: str) -> str:
        """Return the name of the collection that holds an agent's rows."""
        return self.kind.collection_of(agent)


INDEX_OF = {
    name: IndexedTable(kind, TABLES[kind.table], TABLES[kind.embeddings])
    for name, kind in SEARCH_KINDS.items()
}
"""The tables that are searched, by the kind that a search asks for."""
INDEXES = tuple(INDEX_OF.values())
SESSIONS_INDEX = INDEX_OF["sessions"]
SESSION_INDEXES = tuple(index for index in INDEXES if index.archive == REDACTED_RECORDS.name)
"""The tables made of sessions; their partitions are projects."""


@dataclass(frozen=True)
class IndexedSession:
    """A session of a table, its collection, the output hashes of its rows and vectors, and the
    number of rows."""

    session_id: str
    collection: str
    rows_hash: str
    vectors_hash: str
    rows: int


def indexed_sessions(
    components: Components, project: str, index: IndexedTable
) -> list[IndexedSession]:
    """Return the sessions of a project that have rows and vectors of a table, sorted."""
    catalog = components.catalog
    archive = catalog.products.of_project(index.archive, project)
    rows = catalog.products.of_project(index.table.name, project)
    vectors = catalog.products.of_project(index.embeddings.name, project)
    return [
        IndexedSession(
            session_id,
            collection_for(components, index, archive[session_id].facts),
            rows[session_id].output_hash,
            vectors[session_id].output_hash,
            rows[session_id].rows,
        )
        for session_id in sorted(vectors.keys() & rows.keys() & archive.keys())
    ]


def collection_for(components: Components, index: IndexedTable, facts: ProductFacts) -> str:
    """Return the name of the collection of a session whose archive product has these facts: that
    of its agent, or the one that the settings name for a memory's type, or for history."""
    routes = dict(pair.split("=") for pair in components.settings.routes)
    routed = facts.get("memory_type", index.kind.name)
    return routes.get(routed, index.collection(facts["agent"]))


def collections_named(components: Components, index: IndexedTable) -> set[str]:
    """Return the names of the collections for rows of agents' memory under the present settings;
    none for other tables."""
    if not index.archive.startswith("agent_"):
        return set()
    of_types: list[ProductFacts] = [{"agent": AGENT}]
    if index.kind.name == "memory":
        of_types = [{"agent": AGENT, "memory_type": memory_type} for memory_type in MEMORY_TYPES]
    return {collection_for(components, index, facts) for facts in of_types}


def expected_input_hash(components: Components, session: IndexedSession) -> str:
    """Return the input hash that an indexed session should have now."""
    name = catalog_name(components, session.collection)
    return input_of(components, session, components.catalog.collections.incarnation(name) or "")


def rebuild_lock(components: Components) -> FileLock:
    """Return the lock that is held while a collection is rebuilt. A replacement collection
    that exists while nobody holds the lock is left from an interrupted rebuild."""
    return FileLock(components.data_dir / "rebuild.lock")


def input_of(components: Components, session: IndexedSession, incarnation: str) -> str:
    """Return the input hash of a session in the given incarnation of its collection."""
    name = catalog_name(components, session.collection)
    return input_hash(session.rows_hash, session.vectors_hash, name, incarnation)


def product_of(
    components: Components,
    index: IndexedTable,
    project: str,
    session: IndexedSession,
    incarnation: str,
) -> Product:
    """Return the product of a session whose rows are in this incarnation of its collection."""
    facts: ProductFacts = {"collection": session.collection}
    if components.embeds:
        facts["embedder"] = components.embedder.embedder_id
    return Product(
        index.stage,
        project,
        session.session_id,
        input_hash=input_of(components, session, incarnation),
        output_hash=session.rows_hash,
        rows=session.rows,
        facts=facts,
    )


def rows_of_session(project: str, session_id: str) -> Where:
    """Return the filter for the rows of one session."""
    return {"$and": [{"project": project}, {"session_id": session_id}]}


def catalog_name(components: Components, collection: str) -> str:
    """Return the name of a collection in the catalogue, with that of its Chroma."""
    return f"{components.settings.vectors_url or 'local'}/{collection}"


def upsert_rows(collection: Collection, rows: Sequence[CollectionRow]) -> None:
    """Write rows into a collection."""
    if rows:
        collection.upsert(
            [row.id for row in rows],
            np.stack([row.vector for row in rows]),
            [row.text for row in rows],
            [row.metadata for row in rows],
        )


def session_rows(
    components: Components,
    project: str,
    index: IndexedTable,
    session_id: str,
) -> Sequence[CollectionRow]:
    """Return the rows that a collection should have of a session, joined with their vectors.

    Raises:
        NotFound, DamagedFile: the lake lacks a file.
        KeyError: a row has no vector.
    """
    rows = components.catalog.products.of_session(project, session_id)[index.table.name].rows
    if not rows:
        return []
    lake = components.lake
    table = lake.read(index.table, project, session_id)
    texts = [text for _, _, text in texts_from_arrow(table)]
    vectors = lake.read_vectors(index.embeddings, project, session_id)
    pairs = zip(vectors.vectors, vectors.embedder_ids, strict=True)
    by_id = dict(zip(vectors.ids, pairs, strict=True))
    values: list[dict[str, Any]] = table.to_pylist()
    return [
        CollectionRow(
            row["id"],
            by_id[row["id"]][0],
            text,
            collection_metadata(index.kind, row, by_id[row["id"]][1]),
        )
        for row, text in zip(values, texts, strict=True)
    ]
