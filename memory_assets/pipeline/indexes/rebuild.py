"""Rebuilding collections from the lake: a replacement is filled, then swapped in.

Searches use the old collection until the swap. Nothing is embedded: rows and vectors are in
the lake.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from memory_assets.errors import DamagedFile, NotFound, StoreBusy, StoreDamaged, StoreMismatch
from memory_assets.pipeline.indexes.collections import forget_lost_store
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEXES,
    CollectionRow,
    IndexedSession,
    IndexedTable,
    catalog_name,
    collection_for,
    indexed_sessions,
    product_of,
    rebuild_lock,
    session_rows,
    upsert_rows,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.copies import recover_others
from memory_assets.stores.chroma.files import remove_deleted_collections
from memory_assets.stores.vector_store import UPSERT_BATCH


class Progress(Protocol):
    """Called with what is being done, and how many rows were written since the last call."""

    def __call__(self, step: str, rows: int = 0, /) -> None:
        """Show it."""


def _ignore(step: str, rows: int = 0, /) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Rebuilt:
    """A rebuilt collection: its rows and sessions, and the number of sessions left to the next
    ingest because the lake has no vectors of the present embedder for them."""

    collection: str
    rows: int
    sessions: int
    left_out: int
    seconds: float


def collections_of(components: Components) -> dict[str, list[IndexedTable]]:
    """Return the names of our collections, each with the tables that it mirrors. Collections that
    still have rows, although the settings name others now, are among them."""
    products = components.catalog.products
    indexes: dict[str, list[IndexedTable]] = {}
    for index in INDEXES:
        of = products.of_stage(index.archive).values()
        written = products.of_stage(index.stage).values()
        names = {collection_for(components, index, product.facts) for product in of}
        for name in sorted(names | {product.facts["collection"] for product in written}):
            indexes.setdefault(name, []).append(index)
    return indexes


def rebuild(
    components: Components, names: Sequence[str] = (), progress: Progress = _ignore
) -> list[Rebuilt]:
    """Rebuild the named collections, or all, and return what they contain.

    All projects are locked meanwhile; searches are answered. If it is interrupted, the old
    collection stays, and the next ingest or rebuild cleans up.

    Raises:
        NotFound: there is no such collection.
        StoreBusy: a project is being written.
        StoreError: Chroma cannot be used.
    """
    known = collections_of(components)
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise NotFound(f"no collection {unknown[0]!r}; known are: {', '.join(sorted(known))}")
    with lock_all_projects(components, progress):
        lost = forget_lost_store(components)
        if lost:
            progress(lost)
        try:
            components.vectors.names()
        except StoreDamaged as error:  # the files are set aside; the next server begins empty
            components.catalog.collections.forget_all()
            progress(str(error))
        if components.vectors_url is None and (copied := recover_others(components.data_dir)):
            progress(f"copied collections of other programs: {', '.join(copied)}")
        rebuilt = []
        for name in names or sorted(known):
            with rebuild_lock(components):
                rebuilt.append(_rebuild(components, name, known[name], progress))
        if components.vectors_url is None:
            with chroma_server.closed_files(components.data_dir) as directory:
                remove_deleted_collections(directory)
    return rebuilt


@contextmanager
def lock_all_projects(components: Components, progress: Progress) -> Iterator[None]:
    """Lock every known project against other writers."""
    with ExitStack() as locks:
        for project in sorted(components.catalog.projects()):
            try:
                locks.enter_context(components.project_lock(project))
            except StoreBusy as busy:
                raise StoreBusy(f"{busy}; nothing was rebuilt") from None
        yield


def _rebuild(
    components: Components, name: str, indexes: Sequence[IndexedTable], progress: Progress
) -> Rebuilt:
    """Rebuild one collection from the lake and swap it in; the caller has locked the projects.

    The new collection has a new incarnation, and only sessions that are in it get a product
    for that incarnation. The next ingest indexes all others.
    """
    started = time.perf_counter()
    versions = components.collection_versions if components.embeds else None
    collection = components.vectors.begin_replacement(name, versions)
    rows, products, left_out = 0, [], 0
    batch: list[CollectionRow] = []
    for index, project, session in _sessions_in(components, name, indexes):
        part = _rows_of(components, index, project, session.session_id, collection.embedder_id)
        if part is None:
            left_out += 1
            components.catalog.products.drop(index.stage, project, session.session_id)
            continue
        products.append(product_of(components, index, project, session, collection.incarnation))
        batch += part
        rows += len(part)
        if len(batch) >= UPSERT_BATCH:
            whole = len(batch) - len(batch) % UPSERT_BATCH
            upsert_rows(collection, batch[:whole])
            batch = batch[whole:]
            progress(f"{name}: {rows} rows", whole)
    upsert_rows(collection, batch)
    progress(f"{name}: {rows} rows", len(batch))
    if collection.count() != rows:
        raise StoreMismatch(
            f"the new {name} holds {collection.count()} rows of {rows}, so the old one stays; "
            "run `memory rebuild` again"
        )
    components.vectors.replace(name)
    components.catalog.collections.put(catalog_name(components, name), collection.incarnation)
    for product in products:
        components.catalog.products.put(product, run_id=components.run_id)
    seconds = round(time.perf_counter() - started, 2)
    return Rebuilt(name, rows, len(products), left_out, seconds)


def _sessions_in(
    components: Components, name: str, indexes: Sequence[IndexedTable]
) -> Iterator[tuple[IndexedTable, str, IndexedSession]]:
    for index in indexes:
        for project in sorted(components.catalog.projects()):
            for session in indexed_sessions(components, project, index):
                if session.collection == name:
                    yield index, project, session


def _rows_of(
    components: Components, index: IndexedTable, project: str, session_id: str, embedder_id: str
) -> Sequence[CollectionRow] | None:
    """Return the rows of a session, or None if rows and vectors do not match (a run ended
    between two stages, a file is damaged) or the vectors are of another embedder."""
    try:
        rows = session_rows(components, project, index, session_id)
        if rows:
            vectors = components.lake.read(index.embeddings, project, session_id, ["embedder_id"])
            if set(vectors["embedder_id"].to_pylist()) != {embedder_id}:
                return None
    except (NotFound, DamagedFile, KeyError):
        return None
    return rows
