"""The stage of the Chroma collections: they are made equal to the lake's rows by set difference.

A collection can be deleted at any time. The next one has a new incarnation, so that every
session counts as not yet indexed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memory_assets.errors import StoreBusy, StoreDamaged, StoreError, StoreMismatch
from memory_assets.models import same_space
from memory_assets.pipeline.indexes.collection_writes import CollectionWrites
from memory_assets.pipeline.indexes.indexed_tables import (
    IndexedSession,
    IndexedTable,
    catalog_name,
    expected_input_hash,
    indexed_sessions,
    rows_of_session,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, timed
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.chroma import server as chroma_server


def index_project(components: Components, project: str, index: IndexedTable) -> StageReport:
    """Make the collections have exactly this project's rows of `index.table`, and return the
    report.

    If rows, vectors or collection of a session changed, its row hashes are compared with
    Chroma's and only differing rows are written; if it only grew, the added rows. All
    sessions are compared when the number of rows in a collection is wrong. Rows of deleted
    sessions are removed. A damaged local Chroma is set aside and its collections are made
    again.
    """
    report = StageReport(index.stage, project)
    with components.project_lock(project), timed(report):
        try:
            _make_equal(components, project, index, report)
        except StoreMismatch:
            raise
        except StoreError as error:
            wrong = set_aside_damaged_files(components, error)
            if wrong is None:
                raise
            report.details["chroma_set_aside"] = wrong
            _make_equal(components, project, index, report)
        products = components.catalog.products.of_project(index.stage, project)
        report.add_products(list(products.values()))
    return report


def _make_equal(
    components: Components, project: str, index: IndexedTable, report: StageReport
) -> None:
    catalog = components.catalog
    sessions = indexed_sessions(components, project, index)
    products = catalog.products.of_project(index.stage, project)
    written = CollectionWrites(components, project, index, report)
    incomplete = _incomplete_collections(written, sessions, products)
    changed = [
        session
        for session in sessions
        if session.collection in incomplete
        or (made := products.get(session.session_id)) is None
        or made.input_hash != expected_input_hash(components, session)
    ]
    written.will_compare(changed)
    for session in changed:
        product = None if session.collection in incomplete else products.get(session.session_id)
        written.index(session, product)
    written.flush()
    for session_id in sorted(products.keys() - {session.session_id for session in sessions}):
        product = products[session_id]
        collection = written.collection(product.facts["collection"])
        collection.delete(sorted(collection.ids(rows_of_session(project, session_id))))
        catalog.products.drop(index.stage, project, session_id)
        report.removed += 1
    report.details["collections"] = ", ".join(sorted({each.collection for each in sessions}))


def _incomplete_collections(
    written: CollectionWrites, sessions: Sequence[IndexedSession], products: Mapping[str, Product]
) -> set[str]:
    """Return the collections in which the number of this project's rows is not the number
    written.

    First all rows of a collection are counted, which takes a millisecond. The project's rows
    are listed only if that count differs from the products of all projects.
    """
    mine: Counter[str] = Counter()
    for product in products.values():
        mine[product.facts["collection"]] += product.rows
    everybody = written.components.catalog.products.rows_by_collection(written.index_of.stage)
    incomplete = set()
    for name in sorted({session.collection for session in sessions}):
        collection = written.collection(name)
        if collection.count() == everybody.get(name, 0):
            continue
        if len(collection.ids({"project": written.project})) != mine[name]:
            incomplete.add(name)
    return incomplete


def forget_lost_store(components: Components) -> str:
    """Mark all sessions as not indexed if the local Chroma's files are deleted or damaged;
    return what is wrong, or "". Costs two stats; the files are read only after a crash.
    """
    settings = components.settings
    if settings.chroma_url is not None:
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
    if settings.chroma_url is not None or isinstance(error, StoreBusy):
        return None
    wrong: str | None = str(error)
    if not isinstance(error, StoreDamaged):
        wrong = chroma_server.set_aside_if_damaged(settings.data_dir, thoroughly=True)
    if wrong is not None:
        components.catalog.collections.forget_all()
    return wrong


def reset_collections(components: Components) -> list[str]:
    """Drop our collections with vectors of another embedder's space, and return their names.
    The next ingest fills new ones from the lake."""
    dropped = []
    for name in components.vectors.names():
        collection = components.vectors.get(name)
        is_ours = components.catalog.collections.incarnation(catalog_name(components, name))
        if is_ours and not same_space(collection.embedder_id, components.embedder.embedder_id):
            components.vectors.drop(name)
            dropped.append(name)
    return dropped
