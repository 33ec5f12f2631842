"""One run's writes of a project into collections: only what differs, many rows a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from filelock import Timeout

from memory_assets.pipeline.indexes.collection_rows import CollectionRow
from memory_assets.pipeline.indexes.indexed_tables import (
    IndexedSession,
    IndexedTable,
    catalog_name,
    input_of,
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
    """What one run writes of a project into the collections of a table: rows of several
    sessions a request, and a product once its session's rows are in."""

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
        """Return a collection, opened once; one that was made anew gets its new incarnation
        noted."""
        if name not in self._collections:
            components = self.components
            opened = components.vectors.open(name, components.collection_versions)
            with suppress(Timeout), rebuild_lock(components).acquire(blocking=False):
                components.vectors.drop_leftovers(name)
            known_as = catalog_name(components, name)
            if components.catalog.collections.incarnation(known_as) != opened.incarnation:
                components.catalog.collections.put(known_as, opened.incarnation)
            self._collections[name] = opened
        return self._collections[name]

    def will_compare(self, sessions: Sequence[IndexedSession]) -> None:
        """Read the row hashes of the whole project at once where many sessions need them:
        Chroma takes as long for one session (13 ms among 100,000 rows) as for fifty."""
        for name, count in Counter(session.collection for session in sessions).items():
            if count < _MANY_SESSIONS:
                continue
            by_session: dict[str, dict[str, str]] = {}
            for row_id, (session_id, row_hash) in (
                self.collection(name).hashes_by_session({"project": self.project}).items()
            ):
                by_session.setdefault(session_id, {})[row_id] = row_hash
            self._hashes[name] = by_session

    def index(self, session: IndexedSession, made: Product | None) -> None:
        """Queue what differs between a session and its collection."""
        collection = self.collection(session.collection)
        new = self._grown(session, made, collection) if made is not None else None
        rows, extra = new if new is not None else self._differing(session, collection)
        if extra:
            collection.delete(extra)
        self._pending.setdefault(session.collection, []).extend(rows)
        self._report.rows_written += len(rows)
        self._report.changed += 1
        key = (self.project, session.session_id)
        made_of = self.components.catalog.products.of_session(*key)
        self._products.append(
            Product(
                self.index_of.stage,
                *key,
                input_hash=input_of(self.components, session, collection.incarnation),
                output_hash=session.rows_hash,
                rows=made_of[self.index_of.table.name].rows,
                facts={"collection": session.collection},
            )
        )
        if sum(map(len, self._pending.values())) >= UPSERT_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is queued, then note that it was."""
        for name, rows in self._pending.items():
            upsert_rows(self.collection(name), rows)
        self._pending.clear()
        for product in self._products:
            self.components.catalog.products.put(product)
        self._products.clear()

    def _differing(
        self, session: IndexedSession, collection: Collection
    ) -> tuple[list[CollectionRow], list[str]]:
        """Return the rows that Chroma lacks or has otherwise, and the ids it has too many."""
        if session.collection in self._hashes:
            before = self._hashes[session.collection].get(session.session_id, {})
        else:
            before = collection.row_hashes(rows_of_session(self.project, session.session_id))
        rows = session_rows(self.components, self.project, self.index_of, session.session_id)
        changed = [row for row in rows if before.get(row.id) != row.metadata["row_hash"]]
        return changed, sorted(before.keys() - {row.id for row in rows})

    def _grown(
        self, session: IndexedSession, made: Product, collection: Collection
    ) -> tuple[list[CollectionRow], list[str]] | None:
        """Return the rows that a session has grown by and the ids that went, or None if what
        was indexed last is not what it grew from."""
        index, key = self.index_of, (self.project, session.session_id)
        catalog = self.components.catalog
        rows_of = catalog.products.of_session(*key)
        rows = growth_of(rows_of[index.table.name])
        vectors = growth_of(rows_of[index.embeddings.name])
        if rows is None or vectors is None:
            return None
        before = IndexedSession(session.session_id, session.collection, rows.to, vectors.to)
        if made.input_hash != input_of(self.components, before, collection.incarnation):
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
        except KeyError:  # a vector of a row that is new stands among those kept
            return None
        return list(new), sorted(set(rows.removed_ids) - {row.id for row in new})
