"""The catalogue's connection to SQLite: opening, transactions, errors. No tables."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_assets.errors import StoreBusy, StoreError, StoreMismatch
from memory_assets.stores.catalog.schema import MIGRATIONS, SCHEMA


class CatalogConnection:
    """One SQLite file, brought to the present schema when it is opened. Threads of a process
    may share it.

    Raises:
        StoreBusy, StoreError: it cannot be used.
        StoreMismatch: a newer version of this project made it.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise _store_error(path, error) from error
        self._migrate()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _migrate(self) -> None:
        version = self._version()
        if version > len(MIGRATIONS):
            raise StoreMismatch(
                f"{self.path} was made by a newer version of memory-assets. Update, or move it "
                "away and run `memory ingest`: the lake is adopted."
            )
        if version == len(MIGRATIONS):
            return
        with self.transaction() as connection:
            for statement in MIGRATIONS[self._version() :]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _version(self) -> int:
        return int(self.rows("PRAGMA user_version")[0][0])

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock for a block: all of it happens, or none. Within another
        transaction of this thread the block is part of that one.

        Raises:
            StoreBusy, StoreError: it cannot be written.
        """
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            try:
                with transaction(self._connection):
                    yield self._connection
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error

    def rows(self, sql: str, *parameters: object) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        with self._lock:
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold SQLite's write lock for a block: all of it happens, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def now() -> str:
    """Return the time as the catalogue writes it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def row_without(row: sqlite3.Row, name: str) -> dict[str, Any]:
    """Return a row by column name, without one of its columns."""
    values = dict(row)
    del values[name]
    return values


def _store_error(path: Path, error: Exception) -> StoreError:
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return StoreBusy(f"{path} is locked by another process; wait for it or stop it")
    if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
        return StoreError(f"{path} is damaged. Move it away and run `memory ingest`.")
    return StoreError(f"cannot use {path}: {type(error).__name__}: {error}")
