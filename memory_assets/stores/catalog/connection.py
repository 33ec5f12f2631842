"""The catalogue's connection to SQLite, and what its parts share. It knows no tables."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.errors import StoreMismatch
from memory_assets.stores.catalog.schema import MIGRATIONS, SCHEMA
from memory_assets.stores.files.sqlite import SqliteStore, open_shared

_REMEDY = "If it is damaged, move it away and run `memory ingest`: the lake is adopted."


class CatalogConnection(SqliteStore):
    """One SQLite file, brought to the present schema when it is opened.

    Raises:
        StoreBusy, StoreError: it cannot be used.
        StoreMismatch: a newer version of this project made it.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        connection = open_shared(path, SCHEMA, _REMEDY, seconds=busy_seconds)
        connection.row_factory = sqlite3.Row
        # A document's path may turn out to hold a secret.
        connection.execute("PRAGMA secure_delete = ON")
        super().__init__(path, connection, _REMEDY)
        if self.value("PRAGMA user_version") > len(MIGRATIONS):
            raise StoreMismatch(
                f"{path} was made by a newer version of memory-assets. Update, or move it "
                "away and run `memory ingest`: the lake is adopted."
            )
        if self.value("PRAGMA user_version") < len(MIGRATIONS):
            with self.transaction():
                for statement in MIGRATIONS[self.value("PRAGMA user_version") :]:
                    connection.execute(statement)
                if self.value("SELECT state FROM identities") == "unkeyed":
                    raise StoreMismatch(
                        f"{path} was made by version 0.1.0, whose memories are not read any more. "
                        "Move the data directory away and run `memory ingest`."
                    )
                connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def state(self) -> tuple[int, int]:
        """Return what changes when this connection or another one writes."""
        with self.lock:
            return int(self.value("PRAGMA data_version")), self.connection.total_changes


class CatalogPart:
    """The tables of one subject."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection


def now() -> str:
    """Return the time as the catalogue writes it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
