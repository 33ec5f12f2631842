"""The file of one session in the lake, for tests that damage or change one as another program
would."""

from __future__ import annotations

import secrets
from pathlib import Path

import pyarrow as pa

from memory_assets.errors import NotFound
from memory_assets.stores.lake import segments
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import Table


def own_file(lake: Lake, table: Table, project: str, session_id: str) -> Path:
    """Return the file that has a session's rows alone, to which they are moved."""
    return altered(lake, table, project, session_id, lake.read(table, project, session_id))


def altered(lake: Lake, table: Table, project: str, session_id: str, rows: pa.Table) -> Path:
    """Write other rows as those of a session into a file of its own, of which nobody is told."""
    footer: dict[str, str] = {}
    try:
        _, footer = lake.read_footer(table, project, session_id)
        lake.delete(table, project, session_id)
    except NotFound:
        lake.partition_dir(table, project).mkdir(parents=True, exist_ok=True)
    path = segments.next_path(lake.partition_dir(table, project))
    packed = segments.Packed(session_id, secrets.token_hex(8), footer, [rows])
    segments.write(path, rows.schema, [packed])
    return path
