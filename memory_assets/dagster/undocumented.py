"""Every use of undocumented parts of Dagster, and why; `TRIED` has the versions they work with.

- `PooledSqliteEventLogStorage`: a run of a small project costs a third less CPU, and of a run that
  is deleted nothing stays on disk. Taken out of dagster.yaml, all else works.
- `run_code_server`: a run begins in a process that has imported Dagster and the assets, which is
  most of what a run for one more turn costs. Elsewhere than on Linux, where a fork may be unsafe,
  each run starts a new Python, as Dagster has it.
- `webserver_app`: Dagster's webserver has no access control, accepts any Host and Origin, and runs
  GraphQL mutations sent by GET; no option of it or of dagster.yaml changes that. So `memory dev`
  wraps its application.
- `target_of_check`: an argument of `dg.AssetCheckEvaluation` whose class Dagster does not export.
  Without it, the page shows a check that was logged as missing for each partition.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sqlite3
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event
from starlette.types import ASGIApp

TRIED = ("1.13.0", "1.13.28")
"""The oldest and the newest Dagster with which the tests passed: the range of pyproject.toml."""
DAEMON = "dagster._daemon"
"""The module that the documented command `dagster-daemon` runs."""
_NEEDED_BY_RUNS = (
    "dagster._cli",
    "dagster._core.storage.runs",
    "dagster._core.storage.schedules",
    "dagster._grpc.server",
)
"""The modules that a run imports when it starts."""
_OPEN_SHARDS = 4
"""Runs whose file stays open; each run has a file of its own."""
_BUSY_SECONDS = 30.0


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """Dagster's SQLite event log, with connections that stay open and deleted runs that go: one
    engine a file, kept for the index and for the runs used last.

    Dagster opens one for each statement: a new engine, whose statements are compiled anew, and a
    checkpoint of the write-ahead log with its disk flush when it closes. Files and tables are
    Dagster's own.
    """

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
        """Delete a run's events, check results and file. Dagster's own method leaves the file,
        emptied but as large as it was, and the check results."""
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


def target_of_check(
    record: dg.EventLogRecord,
) -> AssetCheckEvaluationTargetMaterializationData:
    """Return how the evaluation of a check names the materialization that was checked."""
    return AssetCheckEvaluationTargetMaterializationData(
        storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp
    )


def import_for_runs() -> None:
    """Import what a run needs of Dagster, in the process from which runs are forked."""
    for module in _NEEDED_BY_RUNS:
        importlib.import_module(module)


def run_code_server(origin: str) -> None:
    """Run Dagster's command line, with its code server's runs forked, by multiprocessing's
    `forkserver`, from a process that has imported the module `origin`."""
    from dagster import _cli
    from dagster._grpc import server

    class ForkingServer(server.DagsterApiServer):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            if hasattr(self, "_mp_ctx"):
                forking = multiprocessing.get_context("forkserver")
                forking.set_forkserver_preload([origin])
                self._mp_ctx = forking  # type: ignore[assignment]

    replaced: Any = server
    if sys.platform == "linux":
        replaced.DagsterApiServer = ForkingServer
    command: Any = _cli
    command.main()


@contextmanager
def webserver_app(
    instance: dg.DagsterInstance, socket: Path, location: str, *, poll_milliseconds: int
) -> Iterator[ASGIApp]:
    """Yield the application of Dagster's webserver for the code location that a code server has at
    a socket; its page polls at this interval."""
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import GrpcServerTarget
    from dagster_webserver.webserver import DagsterWebserver

    target = GrpcServerTarget(
        host="localhost", port=None, socket=str(socket), location_name=location
    )
    with WorkspaceProcessContext(instance, target, version=dg.__version__) as context:
        server: DagsterWebserver[Any, Any] = DagsterWebserver(
            context, live_data_poll_rate=poll_milliseconds
        )
        yield server.create_asgi_app()
