"""Rewriting SQLite files, so that no byte of what was deleted stays in them.

A deleted row stays readable in free pages, in the write-ahead log and, word by word, in
full-text segments.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memory_assets.errors import StoreBusy, StoreError

_BUSY_SECONDS = 30.0
_IN_USE = "; stop it, then run `memory status`, which completes the forgetting"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that is there, for deleting from it.

    Raises:
        StoreBusy, StoreError: it cannot be used.
    """
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
            )
        ) as connection:
            connection.execute("PRAGMA temp_store = MEMORY")
            yield connection
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise StoreBusy(f"{path} is in use by another process{_IN_USE}") from None
        raise StoreError(f"cannot erase from {path}: {error}") from None
    except sqlite3.Error as error:
        raise StoreError(f"cannot erase from {path}: {type(error).__name__}") from None


def tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each table by its name."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
        for (name,) in names
    }


def compact(path: Path, *, seconds: float = _BUSY_SECONDS) -> None:
    """Rewrite a database so that it holds nothing but its rows, and cut its log.

    Other processes may have it open, but not be amid a transaction for longer than
    `seconds`.

    Raises:
        StoreBusy: somebody was; what was deleted may still be in the file.
    """
    with opened(path) as connection:
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%USING fts5%'"
        ).fetchall():
            connection.execute(f'INSERT INTO "{table}"("{table}") VALUES(\'optimize\')')
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise StoreBusy(f"another process reads {path}, so that its log cannot be cut{_IN_USE}")
