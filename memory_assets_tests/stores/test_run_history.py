"""Runs that the command line writes into Dagster's files are what Dagster itself would write."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import DagsterRun
from dagster._serdes import deserialize_value, serialize_value

from memory_assets.cli.dagster.dev_command import add_missing_graph
from memory_assets.cli.dagster.home import DATABASES, open_instance
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.definitions import build_defs
from memory_assets.errors import StoreError
from memory_assets.pipeline.ingest.batch_run import BatchRun
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.settings import Settings
from memory_assets.stores.run_history.create import create_files
from memory_assets.stores.run_history.names import (
    BATCH_OPS,
    INGEST_BATCH,
    RECHECK_JOB,
    batch_config,
)

PROJECT = "-home-mara-code-lantern"
MATERIALIZED, CHECKED = (
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
)
_OF_ASSETS = ("event_logs", "asset_keys", "asset_event_tags", "asset_check_executions")
_NUMBERS = {"id", "event_id", "evaluation_event_storage_id", "create_timestamp"}


@pytest.fixture
def settings(sample_settings: Settings) -> Settings:
    """Without vectors: what counts here are the events."""
    return replace(sample_settings, embedder="none")


def _ingest(settings: Settings) -> dict[str, str]:
    return run_plans(settings, [ProjectPlan(PROJECT, "test", "")]).failed


def _rows(database: Path, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]


def _reads_back(text: str) -> object:
    """Read what was written with Dagster, which writes it the same way again."""
    value = deserialize_value(text)
    assert serialize_value(value) == text
    return value


def _fail_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(components: Components, project: str) -> StageReport:
        raise StoreError("the disk is full")

    monkeypatch.setitem(STEPS, "turn_chunks", replace(STEPS["turn_chunks"], run=fail))


def test_dagster_reads_and_writes_the_same(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of a run that went well, and of one that failed, in each file."""
    assert _ingest(settings) == {}
    with monkeypatch.context() as patched:
        _fail_chunks(patched)
        assert _ingest(settings) == {PROJECT: "turn_chunks: the disk is full"}
    runs, index, _ = (settings.dagster_dir / name for name in DATABASES)
    kinds = set()
    for row in _rows(runs, "runs"):
        run = _reads_back(row["run_body"])
        assert isinstance(run, DagsterRun)
        assert (run.status.value, run.job_name) == (row["status"], INGEST_BATCH)
        for event in _rows(index.with_name(f"{row['run_id']}.db"), "event_logs"):
            entry = _reads_back(event["event"])
            assert isinstance(entry, dg.EventLogEntry)
            kinds.add(event["dagster_event_type"])
    assert kinds >= {None, "STEP_FAILURE", "PIPELINE_FAILURE", "STEP_SUCCESS", "PIPELINE_SUCCESS"}
    for row in _rows(index, "asset_keys"):
        _reads_back(row["last_materialization"])


def test_rows_are_those_that_dagster_stores(settings: Settings, tmp_path: Path) -> None:
    """The same events, stored by Dagster's own storage in another instance: the same rows."""
    assert _ingest(settings) == {}
    ours = settings.dagster_dir / "history" / "runs" / "index.db"
    (tmp_path / "other").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "other")) as instance:
        for row in _rows(ours, "event_logs"):
            entry = deserialize_value(row["event"], dg.EventLogEntry)
            instance.event_log_storage.store_event(entry)
        theirs = Path(instance.root_directory) / "history" / "runs" / "index.db"
        for table in _OF_ASSETS:
            assert _compared(ours, table) == _compared(theirs, table), table


def _compared(database: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, sorted, without what depends on other rows."""
    rows = [
        {
            name: value.rpartition(', "storage_id"')[0] if name == "last_materialization" else value
            for name, value in row.items()
            if name not in _NUMBERS
        }
        for row in _rows(database, table)
    ]
    return sorted(rows, key=str)


def test_a_run_has_what_a_run_by_dagster_has(settings: Settings) -> None:
    """The same partition, checks, tags, step statistics and status: beside it, the job as the
    daemon runs it."""
    assert _ingest(settings) == {}
    with open_instance(settings) as instance:
        (written,) = instance.get_run_records()
        by_dagster = (
            build_defs(settings)
            .resolve_job_def(INGEST_BATCH)
            .execute_in_process(
                instance=instance,
                run_config={
                    **batch_config([PROJECT]),
                    "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                },
            )
        )
        there = instance.get_run_record_by_id(by_dagster.run_id)
        assert there is not None
        own, other = written.dagster_run, there.dagster_run
        assert own.status == other.status == dg.DagsterRunStatus.SUCCESS
        assert own.step_keys_to_execute == other.step_keys_to_execute
        assert other.tags.items() <= own.tags.items()
        assert written.start_time and written.end_time and written.end_time > written.start_time
        assert instance.get_run_step_stats(own.run_id)
        for run in (own, other):
            steps = instance.get_run_step_stats(run.run_id)
            assert {step.step_key: str(step.status) for step in steps} == dict.fromkeys(
                BATCH_OPS, "StepEventStatus.SUCCESS"
            )
        for kind in (MATERIALIZED, CHECKED):
            first, second = (
                [
                    (event.step_key, event.get_dagster_event().asset_key)
                    for event in instance.all_logs(run.run_id, of_type=kind)
                ]
                for run in (own, other)
            )
            assert sorted(map(str, first)) == sorted(map(str, second)) != []
        assert instance.get_materialized_partitions(dg.AssetKey("turn_chunks")) == {PROJECT}


def test_a_failed_op_says_why_and_is_not_retried(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error outside of any project fails the op, the run and the ingest; the daemon's retries
    leave it alone, and the next run goes on."""

    def fail(*_: object) -> None:
        raise StoreError("no room for the words")

    with monkeypatch.context() as patched:
        patched.setattr(BatchRun, "index_words", fail)
        assert _ingest(settings) == {INGEST_BATCH: "no room for the words"}
    with open_instance(settings) as instance:
        (run,) = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.FAILURE
        assert run.tags["dagster/failure_reason"] == "STEP_FAILURE"
        assert run.tags["dagster/will_retry"] == "false"
        (step,) = instance.get_run_step_stats(run.run_id)
        assert (step.step_key, str(step.status)) == (BATCH_OPS[0], "StepEventStatus.FAILURE")
        failures = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
        (error,) = (entry.get_dagster_event().step_failure_data.error for entry in failures)
        assert error is not None and error.message == "StoreError: no room for the words\n"
    assert _ingest(settings) == {}


def test_no_ingest_imports_dagster(settings: Settings) -> None:
    """It would cost more than the work for a new turn; neither does the first one, nor its search
    for secrets found since. Nor are the parsers of documents imported."""
    code = (
        "import sys\n"
        "from memory_assets.cli.ingesting.ingest_command import ingest_once\n"
        "from memory_assets.settings import load_settings\n"
        "ingest_once(load_settings(), limit=None, projects=[], full=False, as_json=False)\n"
        "heavy = {'dagster', 'sqlalchemy', 'alembic', 'pandas'}\n"
        "parsers = {'markdown_it', 'tree_sitter'}\n"
        "print(sorted((heavy | parsers) & set(sys.modules)))"
    )
    environment = {
        "MEMORY_DATA_DIR": str(settings.data_dir),
        "MEMORY_PROJECTS_DIR": str(settings.projects_dir),
        "MEMORY_CODEX_DIR": str(settings.codex_dir),
        "MEMORY_PI_DIR": str(settings.pi_dir),
        "MEMORY_EMBEDDER": "none",
    }

    def ingest() -> str:
        run = [sys.executable, "-c", code]
        out = subprocess.check_output(run, env={**os.environ, **environment}, text=True)
        return out.splitlines()[-1]

    assert ingest() == "[]"
    assert settings.projects_dir is not None
    session = max(settings.projects_dir.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    prompts = (json.loads(line) for line in session.read_text().splitlines())
    prompt = next(each for each in prompts if each.get("type") == "user" and "uuid" in each)
    prompt |= {"uuid": "one-more", "message": {"role": "user", "content": "and another thing"}}
    with session.open("a") as file:
        file.write(json.dumps(prompt) + "\n")
    assert ingest() == "[]"
    with open_instance(settings) as instance:
        assert len(instance.get_runs(dg.RunsFilter(job_name=INGEST_BATCH))) >= 2
        searches = instance.get_runs(dg.RunsFilter(job_name=RECHECK_JOB))
        assert {run.status for run in searches} == {dg.DagsterRunStatus.SUCCESS}
        made = instance.get_latest_materialization_event(dg.AssetKey("known_secrets"))
        assert made is not None and made.run_id == searches[0].run_id


def test_a_history_of_another_kind_is_refused(settings: Settings) -> None:
    """Rather than half written: the message says what to do."""
    assert _ingest(settings) == {}
    with closing(sqlite3.connect(settings.dagster_dir / DATABASES[1])) as index, index:
        index.execute("ALTER TABLE asset_event_tags RENAME COLUMN value TO worth")
    with pytest.raises(StoreError, match=r"not one of Dagster 1\.13"):
        _ingest(settings)


def test_the_files_are_what_dagster_creates(settings: Settings, tmp_path: Path) -> None:
    """The same tables, indexes, schema revision and noted migrations; after an update of Dagster
    this says what to change in `run_history/*.sql`."""
    with open_instance(settings):
        create_files(tmp_path, 1.0)
    for name in DATABASES[:2]:
        ours, theirs = (_created(home / name) for home in (tmp_path, settings.dagster_dir))
        assert ours == theirs


def _created(database: Path) -> tuple[object, ...]:
    with closing(sqlite3.connect(database)) as connection:
        schema = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
        revision = connection.execute("SELECT * FROM alembic_version").fetchall()
        done = "SELECT name, migration_completed IS NULL FROM secondary_indexes"
        return (
            sorted((*row[:3], " ".join(str(row[3]).split())) for row in schema),
            revision,
            connection.execute(done).fetchall(),
            connection.execute("PRAGMA journal_mode").fetchone(),
        )


def test_dagster_draws_runs_from_before_it_ran_itself(settings: Settings) -> None:
    """`memory dev` gives them the graph of the job, and later runs name it, too."""
    assert _ingest(settings) == {}
    with open_instance(settings) as instance:
        (first,) = instance.get_runs()
        assert first.job_snapshot_id is None
        add_missing_graph(settings, instance)
        assert _ingest(settings) == {}
        for run in instance.get_runs():
            assert run.job_snapshot_id and run.execution_plan_snapshot_id
            graph = instance.get_job_snapshot(run.job_snapshot_id)
            assert [node.node_name for node in graph.dep_structure_snapshot.node_invocation_snaps]
            plan = instance.get_execution_plan_snapshot(run.execution_plan_snapshot_id)
            assert [step.key for step in plan.steps] == list(BATCH_OPS)
