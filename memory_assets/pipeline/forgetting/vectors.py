"""Forgetting in Chroma: rows at once, then every byte of them.

A deleted row's vector stays in the HNSW files of its collection. So each collection that
held one is made again from the vectors in the lake (nothing is embedded), put in the old
one's place, and the files are rewritten without what belongs to no collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

import numpy as np

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.collection_rows import CollectionRow
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.index import INDEXES, IndexedTable, session_rows
from memory_assets.stores import chroma_server
from memory_assets.stores.catalog import Product
from memory_assets.stores.chroma_files import sweep
from memory_assets.stores.vectors import UPSERT_BATCH, Collection

Progress = Callable[[str], None]
SessionKey = tuple[str, str]
_IDS_A_QUERY = 200


def forget_vectors(components: Components, doomed: Set[SessionKey], progress: Progress) -> int:
    """Remove the rows of these sessions from all our collections and, where the files are
    ours, every byte of them; return how many rows were found."""
    if components.chroma_url is None and not chroma_server.has_files(components.data_dir):
        return 0
    progress("removing rows from Chroma")
    removed = 0
    affected: dict[str, list[IndexedTable]] = {}
    for index in INDEXES:
        made = components.catalog.products(index.stage)
        held = {key: str(product.facts["collection"]) for key, product in made.items()}
        for name in sorted(set(held.values())):
            rows = _delete_rows(components, name, doomed)
            removed += rows
            if rows or any(held[key] == name for key in held.keys() & doomed):
                affected.setdefault(name, []).append(index)
    if components.chroma_url is None:
        for name, indexes in affected.items():
            progress(f"making {name} again from the lake")
            _replace(components, name, indexes, doomed)
        progress("rewriting Chroma's files")
        with chroma_server.closed_files(components.data_dir) as directory:
            sweep(directory)
    return removed


def _delete_rows(components: Components, name: str, doomed: Set[SessionKey]) -> int:
    try:
        collection = components.vectors.get(name)
    except NotFound:
        return 0
    session_ids = sorted({session_id for _, session_id in doomed})
    removed = 0
    for start in range(0, len(session_ids), _IDS_A_QUERY):
        some = session_ids[start : start + _IDS_A_QUERY]
        found = collection.keys_of({"session_id": {"$in": list(some)}})
        ids = sorted(row_id for row_id, key in found.items() if key in doomed)
        collection.delete(ids)
        removed += len(ids)
    return removed


def _replace(
    components: Components, name: str, indexes: list[IndexedTable], doomed: Set[SessionKey]
) -> None:
    try:
        collection = components.vectors.begin_replacement(name)
    except NotFound:
        return
    batch: list[CollectionRow] = []
    for index in indexes:
        for product in components.catalog.products(index.stage).values():
            if (product.project, product.session_id) in doomed:
                continue
            if product.facts["collection"] != name:
                continue
            batch += _rows_of(components, index, product)
            if len(batch) >= UPSERT_BATCH:
                _write(collection, batch)
                batch = []
            chroma_server.touch(components.data_dir)
    _write(collection, batch)
    components.vectors.replace(name)


def _rows_of(
    components: Components, index: IndexedTable, product: Product
) -> Iterator[CollectionRow]:
    """Yield the rows of a session; one whose rows and vectors do not fit (a run ended
    between two stages, a damaged file) counts as not indexed: the next ingest does it."""
    try:
        rows = session_rows(components, product.project, index, product.session_id)
    except (NotFound, DamagedFile, KeyError):
        components.catalog.drop_product(index.stage, product.project, product.session_id)
        return
    yield from rows


def _write(collection: Collection, rows: list[CollectionRow]) -> None:
    if rows:
        collection.upsert(
            [row.id for row in rows],
            np.stack([row.vector for row in rows]),
            [row.text for row in rows],
            [row.metadata for row in rows],
        )
