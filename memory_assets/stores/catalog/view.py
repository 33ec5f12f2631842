"""Reading the catalogue without its dataclasses, and without ever changing it.

For the watcher, which asks often, and `memory status`, which must answer at once and where
there is no catalogue yet, too; all others read by `Catalog`. It opens
no file that is not there, makes no schema, and imports nothing but SQLite.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from memory_assets.errors import StoreBusy, StoreError


class CatalogView:
    """Queries over one catalogue file; a connection of its own, opened with the first."""

    def __init__(self, path: Path, *, busy_seconds: float = 5.0) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None

    def rows(self, sql: str, *parameters: object) -> list[sqlite3.Row]:
        """Return the rows of a query; none where there is no catalogue yet.

        Raises:
            StoreBusy, StoreError: it cannot be read.
        """
        try:
            if self._connection is None:
                if not self.path.exists():
                    return []
                self._connection = sqlite3.connect(
                    f"{self.path.absolute().as_uri()}?mode=ro",
                    uri=True,
                    timeout=self._busy_seconds,
                    isolation_level=None,
                    check_same_thread=False,
                )
                self._connection.row_factory = sqlite3.Row
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise StoreBusy(f"{self.path} is locked by another process") from error
            raise StoreError(f"cannot read {self.path}: {type(error).__name__}") from error

    def one(self, sql: str, *parameters: object) -> dict[str, Any]:
        """Return the first row by column name; empty where there is none."""
        found = self.rows(sql, *parameters)
        return dict(found[0]) if found else {}

    def project_of_path(self, path: str) -> str | None:
        """Return the project of a source file, or None for one that is not known."""
        found = self.rows("SELECT project FROM sources WHERE path = ? LIMIT 1", path)
        return str(found[0]["project"]) if found else None

    def knows(self, path: str, size: int, mtime_ns: int) -> bool:
        """Whether the file was read in its present state."""
        sql = (
            "SELECT 1 FROM sources WHERE path = ? AND size = ? AND mtime_ns = ?"
            " AND gone_at IS NULL LIMIT 1"
        )
        return bool(self.rows(sql, path, size, mtime_ns))

    def is_present(self, path: str) -> bool:
        """Whether the ledger has the file as present."""
        sql = "SELECT 1 FROM sources WHERE path = ? AND gone_at IS NULL LIMIT 1"
        return bool(self.rows(sql, path))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
