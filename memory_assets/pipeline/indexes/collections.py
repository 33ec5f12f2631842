"""The Chroma collections: exactly the rows of the lake, by set difference.

A collection can be thrown away at any time. When it is made anew it has another
incarnation, and every session counts as not yet indexed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memory_assets.errors import StoreBusy, StoreDamaged, StoreError, StoreMismatch
from memory_assets.models import same_space
from memory_assets.pipeline.indexes.collection_writes import CollectionWrites
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEXES,
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedSession,
    IndexedTable,
    catalog_name,
    expected_input_hash,
    indexed_sessions,
    rows_of_session,
    session_rows,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, timed
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.chroma import server as chroma_server

__all__ = [
    "INDEXES",
    "PROMPTS_INDEX",
    "SESSIONS_INDEX",
    "SUMMARIES_INDEX",
    "IndexedSession",
    "IndexedTable",
    "expected_input_hash",
    "forget_lost_store",
    "heal",
    "index_project",
    "indexed_sessions",
    "reset_collections",
    "session_rows",
]


def index_project(components: Components, project: str, index: IndexedTable) -> StageReport:
    """Make the collections hold exactly this project's rows of `index.table`.

    Sessions whose rows, vectors or collection changed are compared with Chroma, row by
    row, and only differing rows are written; of one that grew, only what is new. All sessions
    are compared when a collection does not hold as many rows as it should. Rows of vanished
    sessions are removed. A damaged local Chroma is set aside and made again.
    """
    report = StageReport(index.stage, project)
    with components.project_lock(project), timed(report):
        try:
            _make_equal(components, project, index, report)
        except StoreMismatch:
            raise
        except StoreError as error:
            wrong = heal(components, error)
            if wrong is None:
                raise
            report.details["chroma_set_aside"] = wrong
            _make_equal(components, project, index, report)
        made = components.catalog.products.of_project(index.stage, project)
        report.add_products(list(made.values()))
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
        if session.collection in incomplete or not _is_current(components, products, session)
    ]
    written.will_compare(changed)
    for session in changed:
        made = None if session.collection in incomplete else products.get(session.session_id)
        written.index(session, made)
    written.flush()
    for session_id in sorted(products.keys() - {session.session_id for session in sessions}):
        gone = products[session_id]
        collection = written.collection(gone.facts["collection"])
        collection.delete(sorted(collection.ids(rows_of_session(project, session_id))))
        catalog.products.drop(index.stage, project, session_id)
        report.removed += 1
    report.details["collections"] = ", ".join(sorted({each.collection for each in sessions}))


def _incomplete_collections(
    written: CollectionWrites, sessions: Sequence[IndexedSession], products: Mapping[str, Product]
) -> set[str]:
    """Return the collections whose rows of this project are not as many as were written.

    All rows of a collection are counted first, which costs a millisecond; the project's own
    are only listed when that count is not what all projects together wrote.
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


def _is_current(
    components: Components, products: Mapping[str, Product], session: IndexedSession
) -> bool:
    made = products.get(session.session_id)
    return made is not None and made.input_hash == expected_input_hash(components, session)


def forget_lost_store(components: Components) -> str:
    """Count every session as not indexed if the local Chroma directory is gone or damaged;
    return what is wrong, or "". Costs two stats, but after a crash of the server.
    """
    settings = components.settings
    if settings.chroma_url is not None:
        return ""
    wrong = None
    if chroma_server.was_killed(settings.data_dir):
        wrong = chroma_server.set_aside_if_damaged(settings.data_dir)
    if wrong is None and chroma_server.has_files(settings.data_dir):
        return ""
    chroma_server.stop(settings.data_dir)
    if components.catalog.collections.forget_all() == 0:
        return ""
    return f"Chroma's files were damaged ({wrong})" if wrong else "Chroma's files are gone"


def heal(components: Components, error: StoreError) -> str | None:
    """Set the local Chroma aside if its files are the reason of an error; return what is
    wrong with them, or None: it is something else. All sessions then count as not indexed."""
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
    """Drop the collections with vectors of another family of embedders; return their names.
    What they held is indexed again from the lake."""
    dropped = []
    for name in components.vectors.names():
        collection = components.vectors.get(name)
        mine = components.catalog.collections.incarnation(catalog_name(components, name))
        if mine and not same_space(collection.embedder_id, components.embedder.embedder_id):
            components.vectors.drop(name)
            dropped.append(name)
    return dropped
