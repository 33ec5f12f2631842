"""Dagster's SQLite event log, with connections that stay open and deleted runs that go.

Dagster opens one for each statement: a new engine, whose statements are compiled anew, and
a checkpoint of the write-ahead log with its disk flush when it closes. With 140 events a
run that is a third of the CPU and half of the time of a run of a small project. Files and
tables are Dagster's own; taking this class out of dagster.yaml changes nothing else, but
that of a deleted run its file stays. Private to Dagster; read and tried at 1.13.27.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event

_OPEN_SHARDS = 4
"""Runs whose file stays open; each run has a file of its own."""
_BUSY_SECONDS = 30.0


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """One engine a file, kept for the index and for the runs used last."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._tables: set[str] = set()
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Any
    ) -> PooledSqliteEventLogStorage:
        """Return the storage that dagster.yaml describes."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine(shard)
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def has_table(self, table_name: str) -> bool:
        """Whether the index has a table. Dagster looks at each event; tables do not go."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def delete_events(self, run_id: str) -> None:
        """Delete all there is of a run: Dagster leaves its file, emptied but as large as it
        was, and what its checks came to."""
        with self.index_connection() as connection:
            self.delete_events_for_run(connection, run_id)
            checks = AssetCheckExecutionsTable
            connection.execute(checks.delete().where(checks.c.run_id == run_id))
        if self.supports_global_concurrency_limits:
            self.free_concurrency_slots_for_run(run_id)
        with self._db_lock:
            if run_id in self._engines:
                self._engines.pop(run_id).dispose()
            self._initialized_dbs.discard(run_id)
            for path in Path(self._base_dir).glob(f"{run_id}.db*"):
                path.unlink(missing_ok=True)

    def dispose(self) -> None:
        """Close every connection."""
        with self._db_lock:
            while self._engines:
                self._engines.popitem()[1].dispose()
        super().dispose()

    def _engine(self, shard: str) -> Engine:
        engine = self._engines.get(shard)
        if engine is None:
            engine = create_engine(
                self.conn_string_for_shard(shard), connect_args={"timeout": _BUSY_SECONDS}
            )
            event.listen(engine, "connect", _flush_at_checkpoints)
            self._engines[shard] = engine
            while len(self._engines) > _OPEN_SHARDS:
                oldest = next(name for name in self._engines if name != INDEX_SHARD_NAME)
                self._engines.pop(oldest).dispose()
        self._engines.move_to_end(shard)
        return engine


def _flush_at_checkpoints(connection: sqlite3.Connection, record: object) -> None:
    """With a write-ahead log that survives any crash of the process; a power cut may take
    the last events of a run, never consistency."""
    connection.execute("PRAGMA synchronous=NORMAL")
