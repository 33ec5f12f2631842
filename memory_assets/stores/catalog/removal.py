"""Removing sessions from the catalogue: their rows, and where other sessions' rows name them.

Tables are found by their columns, so that one that is added later is covered.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from memory_assets.stores.files.sqlite import opened, tables, transaction

_REMOVED_IDS = "(SELECT session_id FROM removed)"
_MENTIONS = (
    # A known secret stays, by keyed hash, without the session that contained it.
    f"UPDATE known_values SET first_session = NULL WHERE first_session IN {_REMOVED_IDS}",
    *(
        f"UPDATE sources SET facts = json_set(facts, '$.{fact}', NULL)"
        f" WHERE json_extract(facts, '$.{fact}') IN {_REMOVED_IDS}"
        for fact in ("named_session", "parent_session")
    ),
    "UPDATE products SET facts = json_set(facts, '$.copied_from', ("
    " SELECT json_group_array(json(value)) FROM json_each(facts, '$.copied_from')"
    " WHERE (json_extract(value, '$[0]'), json_extract(value, '$[1]')) NOT IN removed))"
    " WHERE EXISTS (SELECT 1 FROM json_each(facts, '$.copied_from')"
    " WHERE (json_extract(value, '$[0]'), json_extract(value, '$[1]')) IN removed)",
)


def remove_sessions(
    path: Path, sessions: Collection[tuple[str, str]], projects: Collection[str]
) -> int:
    """Delete from every table the rows of these (project, session id), and all rows of these
    projects, and take their names out of what is left; return how many rows were deleted.

    Raises:
        StoreBusy, StoreError: the file cannot be written; nothing is deleted.
    """
    deleted = 0
    with opened(path) as connection, transaction(connection):
        connection.execute("CREATE TEMP TABLE removed (project TEXT, session_id TEXT)")
        connection.executemany("INSERT INTO removed VALUES (?,?)", sorted(sessions))
        for sql in _MENTIONS:
            connection.execute(sql)
        for table, columns in tables(connection).items():
            which = f"session_id IN {_REMOVED_IDS}"
            if "project" in columns:
                which = "(project, session_id) IN removed"
                deleted += connection.executemany(
                    f'DELETE FROM "{table}" WHERE project = ?', [(name,) for name in projects]
                ).rowcount
            if "session_id" in columns:
                deleted += connection.execute(f'DELETE FROM "{table}" WHERE {which}').rowcount
    return deleted
