"""The file of one session in the lake, for tests that damage or change one."""

from __future__ import annotations

from pathlib import Path

from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import Table


def own_file(lake: Lake, table: Table, project: str, session_id: str) -> Path:
    """Return the file of a session's own, to which its rows are moved if they share one."""
    path = lake.partition(table, project).own_path(session_id)
    if not path.exists() and lake.files(table, project, session_id):
        footer = lake.read_footer(table, project, session_id)[1]
        lake.amend_footer(table, project, session_id, footer)
    return path
