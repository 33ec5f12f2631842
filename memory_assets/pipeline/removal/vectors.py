"""Removing sessions from Chroma.

A deleted row stays in Chroma's files, so local files are rewritten with the remaining rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence, Set

from memory_assets.errors import NotFound
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, IndexedTable
from memory_assets.pipeline.indexes.rebuild import Progress, collections_of
from memory_assets.pipeline.removal.selection import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.files import set_aside_directories
from memory_assets.stores.chroma.rewrite import rewrite_files

_IDS_A_QUERY = 200


def forget_vectors(
    components: Components,
    selected: Set[SessionKey],
    indexes: Sequence[IndexedTable] = INDEXES,
    *,
    progress: Progress,
) -> int:
    """Remove the rows of these sessions from the collections of these tables, and return their
    number. Of a local Chroma the files are rewritten, and those set aside are deleted, so
    that no byte of the rows is left."""
    if components.chroma_url is None:
        for path in set_aside_directories(components.data_dir):
            shutil.rmtree(path, ignore_errors=True)
        if not chroma_server.has_files(components.data_dir):
            return 0
    progress("removing rows from Chroma")
    removed = sum(
        _delete_rows(components, name, selected)
        for name, tables in sorted(collections_of(components).items())
        if any(table in indexes for table in tables)
    )
    if components.chroma_url is None:
        progress("rewriting Chroma's files")
        rewrite_files(components.data_dir, progress)
    return removed


def _delete_rows(components: Components, name: str, selected: Set[SessionKey]) -> int:
    try:
        collection = components.vectors.get(name)
    except NotFound:
        return 0
    session_ids = sorted({session_id for _, session_id in selected})
    removed = 0
    for start in range(0, len(session_ids), _IDS_A_QUERY):
        some = session_ids[start : start + _IDS_A_QUERY]
        found = collection.values({"session_id": {"$in": some}}, "project", "session_id")
        ids = sorted(row_id for row_id, key in found.items() if key in selected)
        collection.delete(ids)
        removed += len(ids)
    return removed
