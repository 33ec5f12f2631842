"""Writing one run: its row, its events, and what the index repeats of them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memory_assets.errors import safe_reason
from memory_assets.stores.files.sqlite import transaction
from memory_assets.stores.run_history import events
from memory_assets.stores.run_history.events import (
    FAILURE,
    AssetEvent,
    Evaluation,
    EventRow,
    Events,
    Materialization,
)
from memory_assets.stores.run_history.names import PARTITION_TAG


class RecordedRun:
    """Writes what happens in a run. `failed`: the steps that failed."""

    def __init__(
        self,
        file: sqlite3.Connection,
        index: sqlite3.Connection,
        runs: sqlite3.Connection,
        made: Events,
    ) -> None:
        self._file, self._index, self._runs, self._events = file, index, runs, made
        self.run_id = made.run_id
        self.failed: list[str] = []

    def start(
        self, steps: Sequence[str], config: Mapping[str, Any], tags: Mapping[str, str]
    ) -> None:
        """Record that the run started, with the graph of the job's last run."""
        job = self._events.job
        last = self._runs.execute(
            "SELECT snapshot_id, run_body FROM runs WHERE pipeline_name = ? "
            "AND snapshot_id IS NOT NULL ORDER BY id DESC LIMIT 1",
            (job,),
        ).fetchone()
        snapshot, plan = (None, None) if last is None else (last[0], _plan(last[1]))
        body: dict[str, object] = {
            "__class__": "PipelineRun",
            "asset_check_selection": None,
            "asset_selection": {"__frozenset__": []},
            "execution_plan_snapshot_id": plan,
            "external_pipeline_origin": None,
            "has_repository_load_data": False,
            "mode": None,
            "parent_run_id": None,
            "partitions_subset": None,
            "pipeline_code_origin": None,
            "pipeline_name": job,
            "pipeline_snapshot_id": snapshot,
            "root_run_id": None,
            "run_config": config,
            "run_id": self.run_id,
            "run_op_concurrency": None,
            "solid_selection": None,
            "solids_to_execute": None,
            "status": {"__enum__": "PipelineRunStatus.STARTED"},
            "step_keys_to_execute": list(steps),
            "tags": dict(tags),
        }
        now = time.time()
        with transaction(self._runs):
            self._runs.execute(
                "INSERT INTO runs (run_id, snapshot_id, pipeline_name, status, run_body, "
                "partition, create_timestamp, update_timestamp, start_time) "
                "VALUES (?, ?, ?, 'STARTED', ?, ?, ?, ?, ?)",
                (
                    self.run_id,
                    snapshot,
                    job,
                    json.dumps(body, sort_keys=True),
                    tags.get(PARTITION_TAG),
                    *([events.in_utc(now)] * 2),
                    now,
                ),
            )
            self._tag(tags)
        started = f'Started execution of run for "{job}".'
        self._put([self._events.of_run("PIPELINE_START", started)], mirrored=True)

    def end(self, failure: str = "", reason: str = "STEP_FAILURE") -> None:
        """Record that the run ended, or failed: why, in words and as Dagster calls it."""
        kind = FAILURE if failure else "PIPELINE_SUCCESS"
        message = failure or f'Finished execution of run for "{self._events.job}".'
        data = events.run_failure(reason) if failure else None
        self._put([self._events.of_run(kind, message, data)], mirrored=True)
        status = "FAILURE" if failure else "SUCCESS"
        tags = {"dagster/failure_reason": reason, "dagster/will_retry": "false"} if failure else {}
        with transaction(self._runs):
            (text,) = self._runs.execute(
                "SELECT run_body FROM runs WHERE run_id = ?", (self.run_id,)
            ).fetchone()
            body = json.loads(text)
            body["status"] = {"__enum__": f"PipelineRunStatus.{status}"}
            body["tags"] |= tags
            now = time.time()
            self._runs.execute(
                "UPDATE runs SET status = ?, run_body = ?, end_time = ?, update_timestamp = ? "
                "WHERE run_id = ?",
                (status, json.dumps(body, sort_keys=True), now, events.in_utc(now), self.run_id),
            )
            self._tag(tags)

    @contextmanager
    def step(self, name: str) -> Iterator[RecordedStep]:
        """Record a step for a block. An error in it fails the step, and is raised."""
        started = time.perf_counter()
        step = RecordedStep(self, name)
        self._put(
            [self._events.of_step("STEP_START", name, f'Started execution of step "{name}".')]
        )
        kind = "Failure"
        try:
            yield step
        except KeyboardInterrupt:
            step.failure = "interrupted"
            raise
        except Exception as error:
            step.failure, kind = safe_reason(error), type(error).__name__
            raise
        finally:
            self._end_step(name, time.perf_counter() - started, step.failure, kind)

    def store(self, step: str, what: Sequence[AssetEvent]) -> list[int]:
        """Store materializations and check evaluations of a step, in one transaction of each
        file; return their ids in the index."""
        return self._put([self._events.of_asset(step, each) for each in what], what)

    def error(self, step: str, message: str) -> None:
        """Store an error message of a step."""
        self._put([self._events.of_log(step, message)])

    def _end_step(self, name: str, seconds: float, failure: str, kind: str) -> None:
        if failure:
            self.failed.append(name)
            text, data = f'Execution of step "{name}" failed.', events.step_failure(kind, failure)
            self._put([self._events.of_step("STEP_FAILURE", name, text, data)])
        else:
            text = f'Finished execution of step "{name}" in {1_000 * seconds:.0f}ms.'
            data = events.success(seconds)
            self._put([self._events.of_step("STEP_SUCCESS", name, text, data)])

    def _put(
        self, rows: Sequence[EventRow], what: Sequence[AssetEvent] = (), *, mirrored: bool = False
    ) -> list[int]:
        """Insert events into the run's file, and what concerns assets, or is `mirrored`, into the
        index; return the ids there."""
        insert = f"INSERT INTO event_logs ({', '.join(EventRow._fields)}) VALUES (?,?,?,?,?,?,?)"
        with transaction(self._file):
            self._file.executemany(insert, rows)
        if not what and not mirrored:
            return []
        with transaction(self._index):
            ids = [int(self._index.execute(insert, row).lastrowid or 0) for row in rows]
            for each, row, number in zip(what, rows, ids, strict=bool(what)):
                if isinstance(each, Materialization):
                    self._note_made(each, row, number)
                else:
                    self._note_checked(each, row, number)
        return ids

    def _note_made(self, made: Materialization, row: EventRow, number: int) -> None:
        if version := made.tags.get("dagster/data_version"):
            self._index.execute(
                "INSERT INTO asset_event_tags (event_id, asset_key, key, value, event_timestamp) "
                "VALUES (?, ?, 'dagster/data_version', ?, ?)",
                (number, row.asset_key, version, row.timestamp),
            )
        self._index.execute(
            "INSERT INTO asset_keys (asset_key, last_materialization, last_run_id, "
            "last_materialization_timestamp) VALUES (?, ?, ?, ?) ON CONFLICT (asset_key) DO UPDATE "
            "SET last_materialization = excluded.last_materialization, "
            "last_run_id = excluded.last_run_id, "
            "last_materialization_timestamp = excluded.last_materialization_timestamp",
            (row.asset_key, events.as_record(row, number), row.run_id, row.timestamp),
        )

    def _note_checked(self, checked: Evaluation, row: EventRow, number: int) -> None:
        self._index.execute(
            "INSERT OR REPLACE INTO asset_check_executions (asset_key, check_name, partition, "
            "run_id, execution_status, evaluation_event, evaluation_event_timestamp, "
            "evaluation_event_storage_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                events.key_of(checked.asset),
                checked.check,
                checked.project,
                row.run_id,
                "SUCCEEDED" if checked.passed else "FAILED",
                row.event,
                row.timestamp,
                number,
            ),
        )

    def _tag(self, tags: Mapping[str, str]) -> None:
        self._runs.executemany(
            "INSERT INTO run_tags (run_id, key, value) VALUES (?, ?, ?)",
            [(self.run_id, *tag) for tag in tags.items()],
        )


@dataclass
class RecordedStep:
    """A step of a recorded run. `failure`: why it counts as failed when it ends, "" if not."""

    run: RecordedRun
    name: str
    failure: str = ""

    def store(self, what: Sequence[AssetEvent]) -> list[int]:
        """Store materializations and check evaluations; return their ids."""
        return self.run.store(self.name, what)

    def error(self, message: str) -> None:
        """Store an error message."""
        self.run.error(self.name, message)


def _plan(body: str) -> str | None:
    plan: str | None = json.loads(body)["execution_plan_snapshot_id"]
    return plan
