"""The status of each workspace, from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets.errors import NotFound
from memory_assets.requests.times import spoken_time
from memory_assets.status.words import counted
from memory_assets.stores.catalog.catalog import catalog_of
from memory_assets.stores.catalog.facts import count
from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS, WORKSPACE_DOCUMENTS
from memory_assets.stores.workspaces import Workspaces


def has_workspaces(data_dir: Path) -> bool:
    """Return whether a workspace is on record; raise `StoreError` if their file is damaged."""
    return bool(Workspaces(data_dir).all())


def workspace_of(data_dir: Path, path: Path) -> str | None:
    """Return the name of the workspace that a path is in, None if it is in none."""
    try:
        return Workspaces(data_dir).of_file(path).name
    except NotFound:
        return None


def workspaces_on_record(data_dir: Path) -> list[dict[str, Any]]:
    """Return name, root, whether that is there, documents, chunks and the time of the last change
    ("" before the first) of each workspace; raise `StoreError` if the catalogue is damaged."""
    listed = []
    with closing(catalog_of(data_dir)) as catalog:
        for workspace in Workspaces(data_dir).all():
            of_stage = {
                table.name: catalog.products.of_project(table.name, workspace.partition).values()
                for table in (WORKSPACE_DOCUMENTS, WORKSPACE_CHUNKS)
            }
            chunked = of_stage[WORKSPACE_CHUNKS.name]
            listed.append(
                {
                    "name": workspace.name,
                    "root": str(workspace.root),
                    "present": workspace.root.is_dir(),
                    "documents": sum(
                        product.rows for product in of_stage[WORKSPACE_DOCUMENTS.name]
                    ),
                    "chunks": sum(count(product.facts, "chunks") for product in chunked),
                    "changed": max((product.made_at for product in chunked), default=""),
                }
            )
    return listed


def workspace_lines(workspaces: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each workspace."""
    for workspace in workspaces:
        at = workspace["changed"]
        changed = f"  changed {spoken_time(datetime.fromisoformat(at))}" if at else ""
        gone = "" if workspace["present"] else "  (gone)"
        yield (
            f"{workspace['name']}  {counted(workspace['documents'], 'document')}, "
            f"{counted(workspace['chunks'], 'chunk')}  {workspace['root']}{gone}{changed}"
        )
