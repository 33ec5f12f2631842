"""The file of one session in the lake as versions before wrote it, for tests that damage or change
one."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import write_file
from memory_assets.stores.lake.schemas import Table


def own_path(lake: Lake, table: Table, project: str, session_id: str) -> Path:
    """Return where a session's own file is, or would be."""
    name = quote(session_id, safe="")
    name = f"{name.removesuffix('.tail')}%2Etail" if name.endswith(".tail") else name
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > 225:
        name = f"{name[:60]}@{blake2b(session_id.encode(), digest_size=16).hexdigest()}"
    return lake.partition_dir(table, project) / f"{name}.parquet"


def own_file(lake: Lake, table: Table, project: str, session_id: str) -> Path:
    """Return the file of a session's own, to which its rows are moved."""
    path = own_path(lake, table, project, session_id)
    if not path.exists() and lake.file(table, project, session_id):
        with lake.opened(table, project, session_id) as rows:
            parts, footer = list(rows.parts(0, None)), dict(rows.footer)
        lake.delete(table, project, session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, table.schema, parts, lambda: {**footer, "session_of_file": session_id})
    return path
