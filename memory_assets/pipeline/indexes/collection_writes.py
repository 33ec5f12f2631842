"""Writing the differences of a project into collections, in requests of many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from filelock import Timeout

from memory_assets.pipeline.indexes.collection_rows import CollectionRow
from memory_assets.pipeline.indexes.indexed_tables import (
    IndexedSession,
    IndexedTable,
    catalog_name,
    input_of,
    product_of,
    rebuild_lock,
    rows_of_session,
    session_rows,
    upsert_rows,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.growth import growth_of
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.chroma.collections import UPSERT_BATCH, Collection

_MANY_SESSIONS = 8


class CollectionWrites:
    """Queues the rows of a project's sessions for the collections of one table, and notes the
    product of a session once its rows are written."""

    def __init__(
        self, components: Components, project: str, index: IndexedTable, report: StageReport
    ) -> None:
        self.components, self.project, self.index_of = components, project, index
        self._report = report
        self._collections: dict[str, Collection] = {}
        self._hashes: dict[str, dict[str, dict[str, str]]] = {}
        self._pending: dict[str, list[CollectionRow]] = {}
        self._products: list[Product] = []

    def collection(self, name: str) -> Collection:
        """Return a collection for writing, opened once. If it was created since the last run,
        its new incarnation is noted in the catalogue."""
        if name not in self._collections:
            components = self.components
            opened = components.vectors.open(name, components.collection_versions)
            with suppress(Timeout), rebuild_lock(components).acquire(blocking=False):
                components.vectors.drop_leftovers(name)
            name_in_catalog = catalog_name(components, name)
            if components.catalog.collections.incarnation(name_in_catalog) != opened.incarnation:
                components.catalog.collections.put(name_in_catalog, opened.incarnation)
            self._collections[name] = opened
        return self._collections[name]

    def will_compare(self, sessions: Sequence[IndexedSession]) -> None:
        """Read the row hashes of the whole project if many sessions will be compared: Chroma
        takes as long for one session (13 ms among 100,000 rows) as for fifty."""
        for name, count in Counter(session.collection for session in sessions).items():
            if count < _MANY_SESSIONS:
                continue
            by_session: dict[str, dict[str, str]] = {}
            for row_id, (session_id, row_hash) in (
                self.collection(name)
                .values({"project": self.project}, "session_id", "row_hash")
                .items()
            ):
                by_session.setdefault(session_id, {})[row_id] = row_hash
            self._hashes[name] = by_session

    def index(self, session: IndexedSession, product: Product | None) -> None:
        """Delete a session's extra rows from its collection; queue missing and changed ones.

        `product` is the session's last product; None has all rows compared.
        """
        collection = self.collection(session.collection)
        growth = self._growth(session, product, collection) if product is not None else None
        rows, extra = growth if growth is not None else self._differing(session, collection)
        if extra:
            collection.delete(extra)
        self._pending.setdefault(session.collection, []).extend(rows)
        self._report.rows_written += len(rows)
        self._report.changed += 1
        where = (self.components, self.index_of, self.project, session)
        self._products.append(product_of(*where, collection.incarnation))
        if sum(map(len, self._pending.values())) >= UPSERT_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the queued rows, then note their products."""
        for name, rows in self._pending.items():
            upsert_rows(self.collection(name), rows)
        self._pending.clear()
        for product in self._products:
            self.components.catalog.products.put(product)
        self._products.clear()

    def _differing(
        self, session: IndexedSession, collection: Collection
    ) -> tuple[list[CollectionRow], list[str]]:
        """Return the rows that are missing or different in Chroma, and the ids of extra ones."""
        if session.collection in self._hashes:
            before = self._hashes[session.collection].get(session.session_id, {})
        else:
            before = collection.row_hashes(rows_of_session(self.project, session.session_id))
        rows = session_rows(self.components, self.project, self.index_of, session.session_id)
        changed = [row for row in rows if before.get(row.id) != row.metadata["row_hash"]]
        return changed, sorted(before.keys() - {row.id for row in rows})

    def _growth(
        self, session: IndexedSession, product: Product, collection: Collection
    ) -> tuple[list[CollectionRow], list[str]] | None:
        """Return the rows that were added to a session and the ids that were removed; None if
        its last product was not made from the rows before the growth."""
        index, key = self.index_of, (self.project, session.session_id)
        catalog = self.components.catalog
        rows_of = catalog.products.of_session(*key)
        rows = growth_of(rows_of[index.table.name])
        vectors = growth_of(rows_of[index.embeddings.name])
        if rows is None or vectors is None:
            return None
        before = replace(session, rows_hash=rows.to, vectors_hash=vectors.to)
        if product.input_hash != input_of(self.components, before, collection.incarnation):
            return None
        try:
            new = session_rows(
                self.components,
                self.project,
                index,
                session.session_id,
                skip=rows.kept,
                skip_vectors=vectors.kept,
            )
        except KeyError:  # an added row has an older vector
            return None
        return list(new), sorted(set(rows.removed_ids) - {row.id for row in new})
