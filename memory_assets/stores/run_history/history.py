"""The SQLite files of a Dagster instance: `runs.db`, `index.db` with the events of all runs that
concern assets, and a file of each run with all its events."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from memory_assets.stores.files.sqlite import connect, sqlite_errors, transaction
from memory_assets.stores.run_history.events import EventRow, Events
from memory_assets.stores.run_history.names import PARTITIONS
from memory_assets.stores.run_history.processes import PROCESS_TAG, is_alive
from memory_assets.stores.run_history.recorded_run import RecordedRun
from memory_assets.stores.run_history.superseded import RunRecord

UNDER_WAY = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED")
_COLUMNS = {
    "runs": "run_id snapshot_id pipeline_name status run_body partition create_timestamp "
    "update_timestamp start_time end_time backfill_id",
    "run_tags": "run_id key value",
    "bulk_actions": "key status",
    "event_logs": "id " + " ".join(EventRow._fields),
    "asset_keys": "asset_key last_materialization last_run_id last_materialization_timestamp",
    "asset_event_tags": "event_id asset_key key value event_timestamp",
    "asset_check_executions": "asset_key check_name partition run_id execution_status "
    "evaluation_event evaluation_event_timestamp evaluation_event_storage_id",
    "dynamic_partitions": "partitions_def_name partition",
    "concurrency_slots": "run_id step_key",
    "pending_steps": "run_id",
}
"""The columns that are read or written here, by table."""
_WITHOUT_GRAPH = "SELECT run_id, run_body FROM runs WHERE pipeline_name = ? AND snapshot_id IS NULL"
_REMEDY = "Run `memory doctor`. Dagster's run history can be moved away without loss to the memory."


class RunHistory:
    """The run history in a DAGSTER_HOME; its files are opened when used, until `close`.

    Raises:
        StoreBusy, StoreError: by each method; a file cannot be used.
    """

    def __init__(self, home: Path) -> None:
        self.directory = home / "history" / "runs"
        self._path = home / "history" / "runs.db"
        self._opened = ExitStack()

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def is_usable(self) -> bool:
        """Whether Dagster has created the files and can open them, and they have all tables and
        columns that are used."""
        found: dict[str, set[str]] = {}
        try:
            for file in (self._runs, self._index):
                (revisions,) = file.execute("SELECT COUNT(*) FROM alembic_version").fetchone()
                if revisions != 1:
                    return False
                for table in _COLUMNS:
                    columns = file.execute(f"PRAGMA table_info({table})").fetchall()
                    found.setdefault(table, set()).update(row[1] for row in columns)
        except sqlite3.DatabaseError:
            return False
        return all(found[table].issuperset(names.split()) for table, names in _COLUMNS.items())

    @cached_property
    def _runs(self) -> sqlite3.Connection:
        return self._opened.enter_context(_opened(self._path))

    @cached_property
    def _index(self) -> sqlite3.Connection:
        return self._opened.enter_context(_opened(self.directory / "index.db"))

    def records(self, statuses: Sequence[str], **tags: str) -> list[RunRecord]:
        """Return the runs with one of these statuses and all of these tags, newest first."""
        where = f"status IN ({','.join('?' * len(statuses))})"
        for _ in tags:
            where += " AND run_id IN (SELECT run_id FROM run_tags WHERE key = ? AND value = ?)"
        values = [*statuses, *(part for tag in tags.items() for part in tag)]
        with self._errors():
            rows = self._runs.execute(
                "SELECT run_id, pipeline_name, status, run_body, "
                "CAST(strftime('%s', create_timestamp) AS REAL), start_time, "
                "COALESCE(end_time, CAST(strftime('%s', update_timestamp) AS REAL)) "
                f"FROM runs WHERE {where} ORDER BY id DESC",
                values,
            ).fetchall()
        return [
            RunRecord(
                run_id,
                job,
                status,
                (body := json.loads(text))["tags"],
                body["run_config"],
                _is_part(body),
                body["parent_run_id"] is not None,
                created,
                started or created,
                ended,
            )
            for run_id, job, status, text, created, started, ended in rows
        ]

    def fail_dead_runs(self) -> int:
        """Mark as failed the command line's runs whose process is gone, and return how many.

        Dagster does not notice a killed `memory ingest`; its run would count as started, and
        the daemon would hold back the next run of its project for an hour.
        """
        dead = [
            run
            for run in self.records(["STARTED"])
            if PROCESS_TAG in run.tags and not is_alive(run.tags[PROCESS_TAG])
        ]
        for run in dead:
            with self.recorded(run.run_id, run.job) as recorded:
                reason = "the process of this run is gone; run `memory ingest`"
                recorded.end(reason, "UNKNOWN")
        return len(dead)

    def add_partitions(self, names: Iterable[str], of: str = PARTITIONS) -> None:
        """Add partitions of projects, or of another definition, unless they are there."""
        with self._errors(), transaction(self._index):
            self._index.executemany(
                "INSERT OR IGNORE INTO dynamic_partitions (partitions_def_name, partition) "
                "VALUES (?, ?)",
                [(of, name) for name in names],
            )

    def lacks_graph(self, job: str) -> bool:
        """Whether a run of a job names no snapshot of the job's graph."""
        with self._errors():
            return bool(self._runs.execute(_WITHOUT_GRAPH, (job,)).fetchall())

    def add_graph(self, job: str, graph: str, plan: str) -> None:
        """Note the snapshots of a job's graph and of its steps for the runs that name none."""
        with self._errors(), transaction(self._runs):
            for run_id, text in self._runs.execute(_WITHOUT_GRAPH, (job,)).fetchall():
                body = json.loads(text)
                body |= {"pipeline_snapshot_id": graph, "execution_plan_snapshot_id": plan}
                self._runs.execute(
                    "UPDATE runs SET snapshot_id = ?, run_body = ? WHERE run_id = ?",
                    (graph, json.dumps(body), run_id),
                )

    def is_backfill_under_way(self, backfill: str) -> bool:
        """Whether a backfill still counts on its runs: one that is gone counts as failed."""
        with self._errors():
            row = self._runs.execute(
                "SELECT status FROM bulk_actions WHERE key = ?", (backfill,)
            ).fetchone()
        return row is not None and not row[0].startswith(("COMPLETED", "FAILED", "CANCELED"))

    def delete(self, run_id: str) -> None:
        """Delete all there is of a run, last of all its row, so that after a kill in between it
        is found again."""
        with self._errors(), transaction(self._index):
            of_run = "(SELECT id FROM event_logs WHERE run_id = ?)"
            for statement in (
                f"DELETE FROM asset_event_tags WHERE event_id IN {of_run}",
                "DELETE FROM event_logs WHERE run_id = ?",
                "DELETE FROM asset_check_executions WHERE run_id = ?",
                "DELETE FROM pending_steps WHERE run_id = ?",
                "UPDATE concurrency_slots SET run_id = NULL, step_key = NULL WHERE run_id = ?",
            ):
                self._index.execute(statement, (run_id,))
        for path in self.directory.glob(f"{run_id}.db*"):
            path.unlink(missing_ok=True)
        with self._errors(), transaction(self._runs):
            self._runs.execute("DELETE FROM run_tags WHERE run_id = ?", (run_id,))
            self._runs.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))

    @contextmanager
    def run(
        self, job: str, steps: Sequence[str], config: Mapping[str, Any], tags: Mapping[str, str]
    ) -> Iterator[RecordedRun]:
        """Record a run of this process for a block; an error in it is the run's, and raised."""
        run_id = str(uuid4())
        with self.recorded(run_id, job) as run:
            run.start(steps, config, tags)
            try:
                yield run
            except KeyboardInterrupt:
                run.end("Execution of the run was interrupted.", "UNEXPECTED_TERMINATION")
                raise
            except Exception:
                run.end(f'Execution of run for "{job}" failed.')
                raise
            failed = ", ".join(run.failed)
            run.end(failed and f'Execution of run for "{job}" failed. Steps failed: {failed}.')

    @contextmanager
    def recorded(self, run_id: str, job: str) -> Iterator[RecordedRun]:
        """Open the file of a run for a block, and create it if need be."""
        path = self.directory / f"{run_id}.db"
        with sqlite_errors(path, _REMEDY), closing(connect(path)) as file:
            if not file.execute("SELECT 1 FROM sqlite_master").fetchone():
                file.execute("PRAGMA journal_mode = WAL")
                with transaction(file):
                    for (statement,) in self._index.execute(
                        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
                    ):
                        file.execute(statement)
                    for row in self._index.execute("SELECT version_num FROM alembic_version"):
                        file.execute("INSERT INTO alembic_version VALUES (?)", row)
            file.execute("PRAGMA synchronous = NORMAL")
            yield RecordedRun(file, self._index, self._runs, Events(run_id, job))

    def _errors(self) -> AbstractContextManager[None]:
        return sqlite_errors(self._path, _REMEDY)


def _is_part(body: Mapping[str, Any]) -> bool:
    selected = (body["asset_selection"], body["asset_check_selection"])
    named = [each["__frozenset__"] for each in selected if each]
    return any(named) or bool(body["solid_selection"])


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path, mode="rw")) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        yield connection
