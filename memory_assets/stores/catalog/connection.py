"""The catalogue's connection to SQLite, which its parts share."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memory_assets.errors import StoreMismatch
from memory_assets.stores.catalog.schema import MIGRATIONS, OF_0_2_0, SCHEMA
from memory_assets.stores.files.sqlite import IN_MEMORY, SqliteStore, open_shared

if TYPE_CHECKING:
    from memory_assets.stores.lake.lake import Lake

_OF_0_3_0 = 17
"""The `user_version` of the last version that wrote files of single sessions to the lake."""
_REMEDY = "If it is damaged, move it away and run `memory ingest`: the lake is adopted."


class CatalogConnection(SqliteStore):
    """One SQLite file. Opening it migrates its schema, and the files of the lake beside it.

    Raises:
        StoreBusy, StoreError: it cannot be used, or another process writes the lake that is to be
            moved.
        StoreMismatch: a newer version of this project made it.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        connection = open_shared(path, SCHEMA, _REMEDY, seconds=busy_seconds)
        connection.row_factory = sqlite3.Row
        # A document's path may turn out to hold a secret.
        connection.execute("PRAGMA secure_delete = ON")
        super().__init__(path, connection, _REMEDY)
        version, newest = self._version(), OF_0_2_0 + len(MIGRATIONS)
        if version > newest:
            raise StoreMismatch(
                f"{path} was made by a newer version of memory-assets. Update, or move it "
                "away and run `memory ingest`: the lake is adopted."
            )
        if not self.value("SELECT 1 FROM pragma_table_info('sources') WHERE name = 'shares'"):
            raise StoreMismatch(
                f"{path} was made by version 0.1.0, whose memories are not read any more. "
                "Move the data directory away and run `memory ingest`."
            )
        if version < newest:
            own_lake = None
            if version <= _OF_0_3_0 and path != IN_MEMORY:
                own_lake = _lake_at(path.with_name("lake"))
            # Projects are locked first, as writers do; the former version knows these locks.
            locks = own_lake.all_locked(busy_seconds) if own_lake is not None else nullcontext()
            with locks, self.transaction():
                for statement in MIGRATIONS[self._version() - OF_0_2_0 :]:
                    connection.execute(statement)
                if own_lake is not None:
                    own_lake.move_own_files()
                connection.execute(f"PRAGMA user_version = {newest}")

    def _version(self) -> int:
        return max(OF_0_2_0, int(self.value("PRAGMA user_version")))


def _lake_at(directory: Path) -> Lake | None:
    """Return the lake in a directory, if there is one; it is imported only then."""
    if not directory.is_dir():
        return None
    from memory_assets.stores.lake.lake import Lake

    return Lake(directory)


class CatalogPart:
    """The tables of one subject."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection


def now() -> str:
    """Return the time as the catalogue writes it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
