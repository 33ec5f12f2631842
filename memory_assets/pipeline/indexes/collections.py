"""The stage of the Chroma collections, which writes the difference between them and the lake's
rows; and rebuilding collections: a replacement is filled, then swapped in.

A collection can be deleted at any time: the next one has a new incarnation, so every session
counts as not yet indexed. Until a rebuilt one is swapped in, searches use the old one. Nothing is
embedded here: rows and vectors are in the lake.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from filelock import Timeout

from memory_assets.errors import (
    DamagedFile,
    NotFound,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreMismatch,
    safe_reason,
)
from memory_assets.http.model_endpoint import same_space
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEXES,
    CollectionRow,
    IndexedSession,
    IndexedTable,
    catalog_name,
    collection_for,
    collections_named,
    expected_input_hash,
    indexed_sessions,
    product_of,
    rebuild_lock,
    rows_of_session,
    session_rows,
    upsert_rows,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, timing
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.client import ask_again
from memory_assets.stores.chroma.copies import recover_others
from memory_assets.stores.chroma.files import remove_deleted_collections
from memory_assets.stores.vector_store import UPSERT_BATCH, Collection

_MANY_SESSIONS = 8


def index_project(components: Components, project: str, index: IndexedTable) -> StageReport:
    """Make the collections have exactly this project's rows of `index.table`, and return the
    report.

    If rows, vectors or collection of a session changed, its row hashes are compared with Chroma's
    and only differing rows are written. All sessions are compared when the number of rows in a
    collection is wrong. Rows of deleted sessions are removed. A damaged local Chroma is set aside,
    its collections are made again, and those of other programs are copied from it.
    """
    report = StageReport(index.stage, project)
    with components.project_lock(project), timing(report):
        try:
            _CollectionWriter(components, project, index, report).make_equal()
        except StoreMismatch:
            raise
        except StoreError as error:
            wrong = set_aside_damaged_files(components, error)
            if wrong is None:
                raise
            report.details["chroma_set_aside"] = wrong
            _CollectionWriter(components, project, index, report).make_equal()
        _recover_others(components, report)
        products = components.catalog.products.of_project(index.stage, project)
        report.add_products(list(products.values()))
    return report


def _recover_others(components: Components, report: StageReport) -> None:
    """Copy collections of other programs from files that were set aside. A failure is reported, and
    the next run tries again; our own collections do not need it."""
    if components.vectors_url is not None:
        return
    try:
        if copied := recover_others(components.data_dir):
            report.details["collections_of_others_copied"] = ", ".join(copied)
    except (StoreError, OSError) as error:
        report.details["collections_of_others_not_copied"] = safe_reason(error)


class _CollectionWriter:
    """Writes a project's rows to the collections of one table, in requests of many rows. The
    product of a session is noted once its rows are written."""

    def __init__(
        self, components: Components, project: str, index: IndexedTable, report: StageReport
    ) -> None:
        self._components, self._project, self._index = components, project, index
        self._catalog = components.catalog
        self._report = report
        self._opened: dict[str, Collection] = {}
        self._hashes: dict[str, dict[str, dict[str, str]]] = {}
        self._pending: dict[str, list[CollectionRow]] = {}
        self._products: list[Product] = []

    def make_equal(self) -> None:
        """Write differing rows, and remove the rows of sessions that are gone. Collections that the
        settings name for agents' memory are made even if they have no rows."""
        stage, project = self._index.stage, self._project
        for name in sorted(collections_named(self._components, self._index)):
            self._collection(name)
        sessions = indexed_sessions(self._components, project, self._index)
        products = self._catalog.products.of_project(stage, project)
        incomplete = self._incomplete(sessions, products)
        changed = [
            session
            for session in sessions
            if session.collection in incomplete
            or (known := products.get(session.session_id)) is None
            or known.input_hash != expected_input_hash(self._components, session)
        ]
        vanished = sorted(products.keys() - {session.session_id for session in sessions})
        # First: should this end in between, and the former rows come back, they count as not
        # indexed.
        stale = products.keys() & {*(session.session_id for session in changed), *vanished}
        self._catalog.products.outdate(*((stage, project, name) for name in sorted(stale)))
        self._load_row_hashes(changed)
        for session in changed:
            product = products.get(session.session_id)
            if product is not None and product.facts["collection"] != session.collection:
                self._remove(product)
            self._write(session)
        self._flush()
        for session_id in vanished:
            self._remove(products[session_id])
            self._catalog.products.drop(stage, project, session_id)
            self._report.removed += 1
        if self._report.removed:
            self._catalog.cut_log()
        names = sorted({session.collection for session in sessions})
        self._report.details["collections"] = ", ".join(names)

    def _collection(self, name: str) -> Collection:
        """Return a collection for writing, opened once. If it was created since the last run,
        its new incarnation is noted in the catalogue."""
        if name not in self._opened:
            components = self._components
            opened = self._open_with_embedder(name)
            if opened.may_have_leftovers:
                with suppress(Timeout), rebuild_lock(components).acquire(blocking=False):
                    components.vectors.drop_leftovers(name)
            name_in_catalog = catalog_name(components, name)
            if self._catalog.collections.incarnation(name_in_catalog) != opened.incarnation:
                self._catalog.collections.put(name_in_catalog, opened.incarnation)
            self._opened[name] = opened
        return self._opened[name]

    def _open_with_embedder(self, name: str) -> Collection:
        """Return a collection for vectors of the settings' embedder. One that this memory filled
        with vectors of another model is dropped and made anew from the lake.

        Raises:
            StoreMismatch: another memory, or another program, filled it.
        """
        components = self._components
        versions = components.collection_versions
        try:
            return components.vectors.open(name, versions)
        except StoreMismatch:
            with rebuild_lock(components).acquire(timeout=components.settings.lock_timeout_seconds):
                existing = components.vectors.get(name)
                if same_space(existing.embedder_id, versions.embedder_id):
                    return components.vectors.open(name, versions)  # another process was first
                noted = self._catalog.collections.incarnation(catalog_name(components, name))
                in_own_store = components.vectors_url is None and bool(existing.embedder_id)
                if not in_own_store and existing.incarnation != noted:
                    raise
                components.vectors.drop(name)
                return components.vectors.open(name, versions)

    def _incomplete(
        self, sessions: Sequence[IndexedSession], products: Mapping[str, Product]
    ) -> set[str]:
        """Return the collections whose number of this project's rows is not the number written.
        The project's rows are listed only if the count of all rows, which takes a millisecond,
        differs from the products of all projects."""
        project_rows: Counter[str] = Counter()
        for product in products.values():
            project_rows[product.facts["collection"]] += product.rows
        rows_written = self._catalog.products.rows_by_collection(self._index.stage)
        return {
            name
            for name in sorted({session.collection for session in sessions})
            if self._collection(name).count() != rows_written.get(name, 0)
            and len(self._collection(name).ids({"project": self._project})) != project_rows[name]
        }

    def _load_row_hashes(self, sessions: Sequence[IndexedSession]) -> None:
        """Read the row hashes of the whole project if many sessions will be compared: Chroma
        takes as long for one session (13 ms among 100,000 rows) as for fifty."""
        for name, count in Counter(session.collection for session in sessions).items():
            if count < _MANY_SESSIONS:
                continue
            by_session = self._hashes.setdefault(name, {})
            hashes = self._collection(name).values(
                {"project": self._project}, "session_id", "row_hash"
            )
            for row_id, (session_id, row_hash) in hashes.items():
                by_session.setdefault(session_id, {})[row_id] = row_hash

    def _write(self, session: IndexedSession) -> None:
        """Delete a session's extra rows from its collection; queue missing and changed ones."""
        collection = self._collection(session.collection)
        rows, extra = self._difference(session, collection)
        if extra:
            collection.delete(extra)
        self._pending.setdefault(session.collection, []).extend(rows)
        self._report.rows_written += len(rows)
        self._report.changed += 1
        where = (self._components, self._index, self._project, session)
        self._products.append(product_of(*where, collection.incarnation))
        if sum(map(len, self._pending.values())) >= UPSERT_BATCH:
            self._flush()

    def _remove(self, product: Product) -> None:
        """Delete the rows of a session from the collection that they are in."""
        collection = self._collection(product.facts["collection"])
        where = rows_of_session(self._project, product.session_id)
        collection.delete(sorted(collection.ids(where)))

    def _flush(self) -> None:
        """Write the queued rows, then note their products."""
        for name, rows in self._pending.items():
            upsert_rows(self._collection(name), rows)
        self._pending.clear()
        for product in self._products:
            self._catalog.products.put(product, run_id=self._components.run_id)
        self._products.clear()

    def _difference(
        self, session: IndexedSession, collection: Collection
    ) -> tuple[list[CollectionRow], list[str]]:
        """Return the rows that are missing or different in Chroma, and the ids of extra ones."""
        if session.collection in self._hashes:
            before = self._hashes[session.collection].get(session.session_id, {})
        else:
            before = collection.row_hashes(rows_of_session(self._project, session.session_id))
        rows = session_rows(self._components, self._project, self._index, session.session_id)
        changed = [row for row in rows if before.get(row.id) != row.metadata["row_hash"]]
        return changed, sorted(before.keys() - {row.id for row in rows})


def forget_lost_store(components: Components) -> str:
    """Mark all sessions as not indexed if the local Chroma's files are deleted or damaged;
    return what is wrong, or "". Costs two stats; the files are read only after a crash.
    """
    settings = components.settings
    if settings.vectors_url is not None or not settings.keeps_collections:
        return ""
    wrong = None
    if chroma_server.was_killed(settings.data_dir):
        wrong = chroma_server.set_aside_if_damaged(settings.data_dir)
    if wrong is None and components.has_chroma_files:
        return ""
    chroma_server.stop(settings.data_dir)
    if components.catalog.collections.forget_all() == 0:
        return ""
    return f"Chroma's files were damaged ({wrong})" if wrong else "Chroma's files are gone"


def set_aside_damaged_files(components: Components, error: StoreError) -> str | None:
    """Set the local Chroma's files aside if they caused `error`, and mark all sessions as not
    indexed; return what is wrong with the files, or None if they are not the cause."""
    settings = components.settings
    if settings.vectors_url is not None or isinstance(error, StoreBusy):
        return None
    wrong: str | None = str(error)
    if not isinstance(error, StoreDamaged):
        wrong = chroma_server.set_aside_if_damaged(settings.data_dir, thoroughly=True)
    if wrong is not None:
        ask_again(settings.data_dir)
        components.catalog.collections.forget_all()
    return wrong


Progress = Callable[[str, int], None]
"""Called with the present step, and the number of rows written since the last call."""


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
        archived = products.of_stage(index.archive).values()
        indexed = products.of_stage(index.stage).values()
        names = {collection_for(components, index, product.facts) for product in archived}
        for name in sorted(names | {product.facts["collection"] for product in indexed}):
            indexes.setdefault(name, []).append(index)
    return indexes


def rebuild(
    components: Components, names: Sequence[str] = (), progress: Progress = lambda step, rows: None
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
    with _all_projects_locked(components):
        lost = forget_lost_store(components)
        if lost:
            progress(lost, 0)
        try:
            components.vectors.names()
        except StoreDamaged as error:  # the files are set aside; the next server begins empty
            components.catalog.collections.forget_all()
            progress(str(error), 0)
        if components.vectors_url is None and (copied := recover_others(components.data_dir)):
            progress(f"copied collections of other programs: {', '.join(copied)}", 0)
        rebuilt = []
        for name in names or sorted(known):
            with rebuild_lock(components):
                rebuilt.append(_rebuild(components, name, known[name], progress))
        if components.vectors_url is None:
            with chroma_server.closed_files(components.data_dir) as directory:
                remove_deleted_collections(directory)
    return rebuilt


@contextmanager
def _all_projects_locked(components: Components) -> Iterator[None]:
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
