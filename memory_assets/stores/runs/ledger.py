"""The ledger of the runs, of Dagster and of the command line, that made the products: runs under
way, how runs ended, what they made, and events that Dagster has not recorded yet.

It has a file of its own, because neither the lake nor a lost catalogue could restore it. It has no
text, and only names of projects and of sessions that a check held back.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_assets.errors import StoreBusy, StoreReadOnly
from memory_assets.stores.files.shared import is_locked, locked
from memory_assets.stores.files.sqlite import (
    BUSY_SECONDS,
    IN_MEMORY,
    SqliteStore,
    compact,
    open_shared,
)
from memory_assets.stores.runs.events import AssetEvent, Evaluation, from_json, to_json
from memory_assets.stores.runs.names import (
    INGEST_BATCH,
    INGEST_JOB,
    PRUNE_JOB,
    RECHECK_JOB,
    RECORD_JOB,
)

FILE_NAME = "lineage.db"
"""Where in the data directory the ledger is."""
UNKNOWN = "UNKNOWN"
"""Status of a run that Dagster had forgotten before it was noted."""
SUCCESS, FAILURE, CANCELED, STARTED = "SUCCESS", "FAILURE", "CANCELED", "STARTED"
ENDED = (SUCCESS, FAILURE, CANCELED)
"""The statuses of ended runs, in Dagster's names."""
FAILED = "failed"
"""The outcome of a check that failed and is no warning."""
KEPT, PRUNED = "kept", "pruned"
"""Whether Dagster still has its run; runs of the command line have neither value."""
_REMEDY = "move it away: audits then lack what it said of runs that were pruned"
_READER_SECONDS = 1.0
"""How long a reader waits for a lock."""
_LISTED = 5
_DAYS = 7
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, job TEXT NOT NULL, status TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT NOT NULL,
    partition TEXT NOT NULL DEFAULT '', history TEXT NOT NULL DEFAULT 'unknown'
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS begun (
    run_id TEXT PRIMARY KEY, job TEXT NOT NULL, partitions TEXT NOT NULL,
    process TEXT NOT NULL, started_at TEXT NOT NULL, history TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made (
    run_id TEXT NOT NULL, project TEXT NOT NULL, asset TEXT NOT NULL,
    versions TEXT NOT NULL, checks TEXT NOT NULL, PRIMARY KEY (run_id, project, asset)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unreported (
    partition TEXT NOT NULL, asset TEXT NOT NULL, check_name TEXT NOT NULL,
    run_id TEXT NOT NULL, at REAL NOT NULL, event TEXT NOT NULL,
    PRIMARY KEY (partition, asset, check_name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sizes (day TEXT PRIMARY KEY, bytes TEXT NOT NULL) WITHOUT ROWID;
"""
"""`runs` are ended runs, `begun` those without a noted end (`process`: the id that theirs had).
`made`: the assets of a partition that a run made, with versions of the code and outcomes of checks
(JSON). `unreported`: the newest event, of each asset's partition and of each check, that Dagster
has not recorded yet. `sizes`: the bytes of each store on a day (JSON)."""
_ADDED = {"partition": "''", "history": "'unknown'"}
"""Columns of `runs` that earlier versions lack, with their default."""


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended; times are ISO 8601, UTC, "" if unknown. `partition`: its only
    partition, "" for several or none. `history`: `KEPT`, `PRUNED`, "unknown", or "" for runs of the
    command line."""

    run_id: str
    job: str = ""
    status: str = UNKNOWN
    started_at: str = ""
    ended_at: str = ""
    partition: str = ""
    history: str = "unknown"


@dataclass(frozen=True)
class BegunRun:
    """A run that has begun, for these partitions. `is_under_way`: whether a process is at work on
    it."""

    run_id: str
    job: str
    partitions: Sequence[str]
    started_at: str
    history: str
    is_under_way: bool


@dataclass(frozen=True)
class MadeByRun:
    """The versions of the code with which a run made an asset, and the outcome of each check:
    "passed", "warning" or "failed"."""

    versions: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Unreported:
    """An event of a run that Dagster has not recorded yet, and its time in Unix seconds."""

    run_id: str
    at: float
    event: AssetEvent


class RunLedger(SqliteStore):
    """The ledger of runs. `seconds`: how long to wait for a lock of another process.

    Raises:
        StoreBusy, StoreError: the file cannot be used.
    """

    def __init__(self, path: Path, seconds: float = BUSY_SECONDS) -> None:
        connection = open_shared(path, _SCHEMA, _REMEDY, seconds=seconds)
        super().__init__(path, connection, _REMEDY)
        try:
            if self._missing_columns():
                with self.transaction():
                    for name in self._missing_columns():  # another process may have been first
                        column = f"{name} TEXT NOT NULL DEFAULT {_ADDED[name]}"
                        self.write(f"ALTER TABLE runs ADD COLUMN {column}")
        except BaseException:
            self.close()
            raise

    def _missing_columns(self) -> list[str]:
        """Return the columns that a file of an earlier version lacks."""
        return sorted(_ADDED.keys() - {row[1] for row in self.rows("PRAGMA table_info(runs)")})

    @contextmanager
    def under_way(
        self, run_id: str, job: str, partitions: Sequence[str], *, history: str = ""
    ) -> Iterator[None]:
        """Note that a run has begun, and hold its lock during the block, which is its work: the
        system releases that of a killed process. A run of Dagster's is `KEPT`; Dagster knows how it
        ended."""
        with locked(self._lock_of(run_id), BUSY_SECONDS, f"run {run_id} is under way"):
            self.put(
                "begun",
                run_id=run_id,
                job=job,
                partitions=json.dumps(list(partitions)),
                process=str(os.getpid()),
                started_at=iso_time(time.time()),
                history=history,
            )
            yield

    def _lock_of(self, run_id: str) -> Path:
        """Return the file that a run has locked while it works; noting its end deletes it."""
        return self.path.with_name(f"{self.path.name}.{run_id}.lock")

    def begun(self, run_id: str | None = None) -> list[BegunRun]:
        """Return the runs without a noted end, or the one with this id."""
        columns = "run_id, job, partitions, started_at, history"
        rows = self.tuples(f"SELECT {columns} FROM begun WHERE run_id = ifnull(?, run_id)", run_id)
        return [
            BegunRun(run, job, json.loads(names), began, history, is_locked(self._lock_of(run)))
            for run, job, names, began, history in rows
        ]

    def busy_partitions(self) -> set[str]:
        """Return the partitions of the runs under way."""
        return {name for run in self.begun() if run.is_under_way for name in run.partitions}

    def fail_dead_runs(self) -> None:
        """Note the command line's runs whose process is gone as failed."""
        for run in self.begun():
            if not run.history and not run.is_under_way:
                self.note_ended(ended_now(run, FAILURE))

    def note_made(
        self,
        run_id: str,
        project: str,
        asset: str,
        versions: Mapping[str, str],
        checks: Mapping[str, str],
    ) -> None:
        """Note the versions and checks with which a run made an asset, replacing earlier notes."""
        about: dict[str, Any] = {"run_id": run_id, "project": project, "asset": asset}
        self.put("made", **about, versions=json.dumps(versions), checks=json.dumps(checks))

    def note_ended(self, run: EndedRun) -> None:
        """Note how a run ended."""
        with self.transaction():
            self.delete("begun", run_id=run.run_id)
            self.put("runs", **vars(run))
        with suppress(OSError):  # Windows removes no file that is open
            self._lock_of(run.run_id).unlink()

    def note_pruned(self, run_id: str) -> None:
        """Note that Dagster's history no longer has a run."""
        self.write("UPDATE runs SET history = ? WHERE run_id = ?", PRUNED, run_id)

    def not_ended(self, run_ids: Iterable[str]) -> set[str]:
        """Return Dagster's runs without a noted end, among these, those that have begun, and those
        that made an asset."""
        begun = {run.run_id: run for run in self.begun()}
        known = {*run_ids, *begun, *(str(row[0]) for row in self.select("made", "DISTINCT run_id"))}
        own = {run.run_id for run in begun.values() if not run.history}
        return known - own - {str(row[0]) for row in self.select("runs", "run_id")}

    def ended(self, run_id: str) -> EndedRun | None:
        """Return how a run ended; None if that is not noted."""
        rows = self.tuples(f"SELECT {_RUN_COLUMNS} FROM runs WHERE run_id = ?", run_id)
        return EndedRun(*rows[0]) if rows else None

    def last_runs(self) -> dict[str, Any]:
        """Return the last runs that ended and the failed ones of a week, newest first, without jobs
        that only maintain Dagster's history. `last` prefers other jobs to the search for known
        secrets, which follows them."""
        since = iso_time(time.time() - _DAYS * 86_400)
        newest = f"SELECT {_RUN_COLUMNS} FROM runs WHERE ended_at > ? AND status LIKE ?"
        newest += f" AND job NOT IN ('{RECORD_JOB}', '{PRUNE_JOB}') ORDER BY ended_at DESC"
        last = [EndedRun(*row) for row in self.tuples(f"{newest} LIMIT {_LISTED}", "", "%")]
        failed = [EndedRun(*row) for row in self.tuples(newest, since, FAILURE)]
        return {
            "last": _status_values(min(last, key=lambda run: run.job == RECHECK_JOB))
            if last
            else None,
            "ended": [_status_values(run) for run in last],
            "failed_in_7_days": len(failed),
            "failed": [_status_values(run) for run in failed[:_LISTED]],
            "under_way": sum(run.is_under_way for run in self.begun()),
        }

    def failing(self) -> list[str]:
        """Return the partitions whose last ingest failed, "" for several; cancelled ones do not
        count, nor those after which a run of the same partitions succeeded."""
        newest = f"""
            WITH newest AS (
                SELECT partition, status, MAX(ended_at) AS at FROM runs
                WHERE job IN ('{INGEST_BATCH}', '{INGEST_JOB}') AND status <> '{CANCELED}'
                GROUP BY partition
            )
            SELECT partition FROM newest WHERE status = ? AND NOT EXISTS (
                SELECT 1 FROM newest AS later WHERE later.status = ? AND later.at > newest.at
                AND '' IN (newest.partition, later.partition)
            )
            ORDER BY partition"""
        return [str(partition) for (partition,) in self.tuples(newest, FAILURE, SUCCESS)]

    def made(self, run_id: str, project: str, asset: str) -> MadeByRun:
        """Return the versions and checks with which a run made an asset; empty if none are
        noted."""
        about = {"run_id": run_id, "project": project, "asset": asset}
        rows = self.select("made", "versions, checks", **about)
        return MadeByRun(*map(json.loads, rows[0])) if rows else MadeByRun()

    def latest_checks(self) -> dict[tuple[str, str], Mapping[str, str]]:
        """Return the results of the checks of the last run that made something, by project and
        asset; a run that has not ended is the last."""
        rows = self.rows(
            "SELECT made.project, made.asset, made.checks FROM made LEFT JOIN runs USING (run_id)"
            " ORDER BY runs.ended_at IS NULL, runs.ended_at"
        )
        parsed = {text: json.loads(text) for text in {row[2] for row in rows}}  # most are alike
        return {(str(row[0]), str(row[1])): parsed[row[2]] for row in rows}

    def note_unreported(self, events: Iterable[Unreported]) -> None:
        """Note events for Dagster; each replaces an older one of the same partition, asset and
        check."""
        rows = [
            (
                unreported.event.project or "",
                unreported.event.asset,
                unreported.event.check if isinstance(unreported.event, Evaluation) else "",
                unreported.run_id,
                unreported.at,
                to_json(unreported.event),
            )
            for unreported in events
        ]
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO unreported VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET"
                " run_id = excluded.run_id, at = excluded.at, event = excluded.event"
                " WHERE excluded.at >= unreported.at",
                rows,
            )

    def unreported_partitions(self) -> dict[str, bool]:
        """Return the partitions with unreported events, those that wait longest first ("": assets
        without partitions), and whether all these events are of runs that succeeded."""
        rows = self.rows(
            "SELECT unreported.partition, MIN(runs.status IS 'SUCCESS') FROM unreported"
            " LEFT JOIN runs USING (run_id) GROUP BY 1 ORDER BY MIN(at), 1"
        )
        return {str(name): bool(whole) for name, whole in rows}

    def unreported(self, partition: str) -> list[Unreported]:
        """Return the unreported events of a partition."""
        rows = self.select("unreported", "run_id, at, event", partition=partition)
        return [Unreported(run_id, at, from_json(event)) for run_id, at, event in rows]

    def note_reported(self, partition: str, events: Iterable[Unreported]) -> None:
        """Note that Dagster has recorded these events of a partition."""
        with self.transaction() as connection:
            connection.executemany(
                "DELETE FROM unreported WHERE partition = ? AND run_id = ? AND at = ?",
                {(partition, event.run_id, event.at) for event in events},
            )

    def note_sizes(self, day: str, sizes: Mapping[str, int]) -> None:
        """Note the bytes of each store on a day (ISO 8601), replacing earlier ones."""
        self.put("sizes", day=day, bytes=json.dumps(sizes))

    def sizes(self) -> dict[str, dict[str, int]]:
        """Return the bytes of each store by day, the first day first."""
        return {str(day): json.loads(noted) for day, noted in self.select("sizes", order="day")}

    def keep_only(self, live: Collection[tuple[str, str]]) -> None:
        """Delete the ended runs that made no present product; `live` has the (project, run) of all
        products. The last runs stay, those that failed within a week, and failed checks until they
        have run again."""
        since = iso_time(time.time() - _DAYS * 86_400)
        with self.transaction() as connection:
            connection.execute("CREATE TEMP TABLE live (project TEXT, run_id TEXT)")
            connection.executemany("INSERT INTO live VALUES (?,?)", sorted(live))
            connection.execute(
                "DELETE FROM made WHERE run_id IN (SELECT run_id FROM runs)"
                " AND (project, run_id) NOT IN live"
                f" AND (checks NOT LIKE '%\"{FAILED}\"%' OR EXISTS (SELECT 1 FROM made AS later"
                " JOIN runs AS ended USING (run_id) JOIN runs AS own ON own.run_id = made.run_id"
                " WHERE later.project = made.project AND later.asset = made.asset"
                " AND ended.ended_at > own.ended_at))"
            )
            connection.execute(
                "DELETE FROM runs WHERE run_id NOT IN"
                " (SELECT run_id FROM live UNION SELECT run_id FROM made)"
                " AND run_id NOT IN (SELECT run_id FROM unreported)"
                " AND NOT (status = ? AND ended_at > ?) AND run_id NOT IN"
                " (SELECT run_id FROM runs WHERE ended_at > '' ORDER BY ended_at DESC LIMIT ?)",
                (FAILURE, since, _LISTED),
            )
            connection.execute("DROP TABLE live")

    def forget(self, projects: Collection[str], session_ids: Collection[str] = ()) -> None:
        """Delete these projects, and events that name these sessions, and rewrite the file, so that
        it has no byte of the names."""
        with self.transaction() as connection:
            for name in sorted(projects):
                connection.execute("DELETE FROM made WHERE project = ?", (name,))
                connection.execute("DELETE FROM unreported WHERE partition = ?", (name,))
                connection.execute("UPDATE runs SET partition = '' WHERE partition = ?", (name,))
            for run in self.begun():
                left = [name for name in run.partitions if name not in projects]
                connection.execute(
                    "UPDATE begun SET partitions = ? WHERE run_id = ?",
                    (json.dumps(left), run.run_id),
                )
            connection.executemany(
                "DELETE FROM unreported WHERE instr(event, ?)", [(name,) for name in session_ids]
            )
        compact(self.path)


_RUN_COLUMNS = "run_id, job, status, started_at, ended_at, partition, history"


def ended_now(run: BegunRun, status: str) -> EndedRun:
    """Return a run that has ended now."""
    partition = run.partitions[0] if len(run.partitions) == 1 else ""
    now = iso_time(time.time())
    return EndedRun(run.run_id, run.job, status, run.started_at, now, partition, run.history)


def iso_time(seconds: float | None) -> str:
    """Return a time in Unix seconds as ISO 8601, UTC; "" for none."""
    moment = datetime.fromtimestamp(seconds, UTC) if seconds else None
    return moment.isoformat(timespec="milliseconds") if moment else ""


def ledger_of(data_dir: Path) -> RunLedger:
    """Return the ledger of a data directory for reading; an empty one if there is none, or if it is
    of an earlier version and cannot be written now."""
    path = data_dir / FILE_NAME
    with suppress(StoreReadOnly, StoreBusy):
        return RunLedger(path if path.exists() else IN_MEMORY, _READER_SECONDS)
    return RunLedger(IN_MEMORY)


def _status_values(run: EndedRun) -> dict[str, Any]:
    """Return a run as `memory status` shows it."""
    shown = asdict(run)
    started, over = shown.pop("started_at"), datetime.fromisoformat(run.ended_at)
    took = (over - datetime.fromisoformat(started)).total_seconds() if started else None
    del shown["history"]
    return {"project": shown.pop("partition") or None, **shown, "seconds": took}
