"""Dagster's SQLite event log, with connections that stay open, deleted runs that go, and the
events of many partitions stored at once.

Dagster opens one for each statement: a new engine, whose statements are compiled anew, and
a checkpoint of the write-ahead log with its disk flush when it closes. With 140 events a
run that is a third of the CPU and half of the time of a run of a small project. Files and
tables are Dagster's own; taking this class out of dagster.yaml changes nothing else, but
that of a deleted run its file stays. Private to Dagster; read and tried at 1.13.27.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.events import StepMaterializationData
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log import EventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    SqlEventLogStorageTable,
)
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

    def store_asset_events(self, events: Sequence[dg.EventLogEntry]) -> list[int]:
        """Store materializations or check evaluations, in one transaction of each run's file and
        one of the index; return their ids in the index."""
        rows = [self._event_to_row(event) for event in events]
        for run_id in {each.run_id for each in events}:
            of_run = [row for row in rows if row["run_id"] == run_id]
            with self.run_connection(run_id) as connection:
                connection.execute(SqlEventLogStorageTable.insert(), of_run)
        with self.index_transaction() as connection:
            mirrored = SqlEventLogStorageTable.insert().returning(
                SqlEventLogStorageTable.c.id, sort_by_parameter_order=True
            )
            ids = connection.execute(mirrored, rows).scalars().all()
            stored = list(zip(events, ids, strict=True))
            made = [(event, at) for event, at in stored if _is_made(event)]
            self._store_asset_event_tags(
                connection, [event for event, _ in made], [at for _, at in made]
            )
            for event, at in {_asset_of(event): (event, at) for event, at in made}.values():
                self._store_asset_event(connection, event, at)
            checked = [
                self._check_row(event, row["event"], at)
                for (event, at), row in zip(stored, rows, strict=True)
                if not _is_made(event)
            ]
            if checked:
                replaced = AssetCheckExecutionsTable.insert().prefix_with("OR REPLACE")
                connection.execute(replaced, checked)
        return list(ids)

    def _check_row(self, event: dg.EventLogEntry, serialized: str, at: int) -> dict[str, Any]:
        evaluation = event.get_dagster_event().event_specific_data
        assert isinstance(evaluation, dg.AssetCheckEvaluation)
        status = AssetCheckExecutionRecordStatus
        return {
            "asset_key": evaluation.asset_key.to_string(),
            "check_name": evaluation.check_name,
            "partition": evaluation.partition,
            "run_id": event.run_id,
            "execution_status": (status.SUCCEEDED if evaluation.passed else status.FAILED).value,
            "evaluation_event": serialized,
            "evaluation_event_timestamp": datetime.fromtimestamp(event.timestamp, UTC).replace(
                tzinfo=None
            ),
            "evaluation_event_storage_id": at,
        }

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


def asset_event(
    run: dg.DagsterRun, step: str, what: dg.AssetMaterialization | dg.AssetCheckEvaluation
) -> dg.EventLogEntry:
    """Return the event that a step of a run made or checked an asset, to be stored with
    `store_asset_events`: one through the step's context costs ten times as much."""
    made = isinstance(what, dg.AssetMaterialization)
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION
    event = dg.DagsterEvent(
        event_type_value=(kind if made else dg.DagsterEventType.ASSET_CHECK_EVALUATION).value,
        job_name=run.job_name,
        step_key=step,
        event_specific_data=(
            StepMaterializationData(what) if isinstance(what, dg.AssetMaterialization) else what
        ),
    )
    return dg.EventLogEntry(  # type: ignore[no-untyped-call]
        error_info=None,
        level=logging.DEBUG,
        user_message="",
        run_id=run.run_id,
        timestamp=time.time(),
        step_key=step,
        job_name=run.job_name,
        dagster_event=event,
    )


def store_asset_events(
    storage: EventLogStorage, events: Sequence[dg.EventLogEntry]
) -> Sequence[int | None]:
    """Store materializations or check evaluations; return their ids, or None for each where the
    instance keeps its events on a server."""
    if isinstance(storage, PooledSqliteEventLogStorage):
        return storage.store_asset_events(events)
    storage.store_event_batch(events)
    return [None] * len(events)


def _is_made(event: dg.EventLogEntry) -> bool:
    return event.get_dagster_event().event_type == dg.DagsterEventType.ASSET_MATERIALIZATION


def _asset_of(event: dg.EventLogEntry) -> dg.AssetKey | None:
    return event.get_dagster_event().asset_key
