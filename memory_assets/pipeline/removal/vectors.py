"""Forgetting in Chroma: rows at once, then every byte of them.

A deleted row's vector stays in the HNSW files of its collection. So each collection that
held one is made again from the vectors in the lake (nothing is embedded), put in the old
one's place, and the files are rewritten without what belongs to no collection.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence, Set

from memory_assets.errors import NotFound
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, IndexedTable
from memory_assets.pipeline.indexes.rebuild import Progress, SessionKey, rebuild_collection
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.files import sweep, were_set_aside

_IDS_A_QUERY = 200


def forget_vectors(
    components: Components,
    selected: Set[SessionKey],
    indexes: Sequence[IndexedTable] = INDEXES,
    *,
    progress: Progress,
) -> int:
    """Remove the rows of these sessions from our collections (of these tables) and, where the
    files are ours, every byte of them, in stores that were set aside too; return how many
    rows were found."""
    if components.chroma_url is None:
        for path in were_set_aside(components.data_dir):
            shutil.rmtree(path, ignore_errors=True)
    if components.chroma_url is None and not chroma_server.has_files(components.data_dir):
        return 0
    progress("removing rows from Chroma")
    removed = 0
    affected: dict[str, list[IndexedTable]] = {}
    for index in indexes:
        made = components.catalog.products.of_stage(index.stage)
        held = {key: str(product.facts["collection"]) for key, product in made.items()}
        for name in sorted(set(held.values())):
            rows = _delete_rows(components, name, selected)
            removed += rows
            if rows or any(held[key] == name for key in held.keys() & selected):
                affected.setdefault(name, []).append(index)
    if components.chroma_url is None:
        for name, tables in affected.items():
            progress(f"making {name} again from the lake")
            rebuild_collection(components, name, tables, without=selected, progress=progress)
        progress("rewriting Chroma's files")
        with chroma_server.closed_files(components.data_dir) as directory:
            sweep(directory)
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
        found = collection.keys_of({"session_id": {"$in": list(some)}})
        ids = sorted(row_id for row_id, key in found.items() if key in selected)
        collection.delete(ids)
        removed += len(ids)
    return removed
