"""Dagster's history keeps the newest runs of a project, and nothing of older ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from memory_assets.entrypoints.dagster_home import open_instance
from memory_assets.entrypoints.ingest import run_plans
from memory_assets.jobs import INGEST_JOB
from memory_assets.pipeline.plan import ProjectPlan
from memory_assets.resources import MemoryResource
from memory_assets.settings import Settings, load_settings
from memory_assets.superseded_runs import delete_superseded, superseded_runs_sensor

PROJECT, OTHER = "-home-mara-code-harbor-api", "-home-mara-code-harbor-web"
PARTITION = "dagster/partition"
SUCCESS, FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE
NOW = datetime.now(UTC)


@pytest.fixture
def instance(sample_settings: Settings) -> Iterator[dg.DagsterInstance]:
    """An instance on disk, as the project's dagster.yaml lays it out."""
    with open_instance(sample_settings) as opened:
        yield opened


def _add(
    instance: dg.DagsterInstance,
    *,
    ended: timedelta,
    took: timedelta = timedelta(seconds=1),
    status: dg.DagsterRunStatus = SUCCESS,
    project: str | None = PROJECT,
    job: str = INGEST_JOB,
    selection: frozenset[dg.AssetKey] | None = None,
) -> str:
    """Put a run on record that ended so long ago."""
    tags = {PARTITION: project} if project else {}
    run = dg.DagsterRun(job, status=status, tags=tags, asset_selection=selection)
    instance.add_run(run)
    ended_at = (NOW - ended).timestamp()
    path = f"{instance.root_directory}/history/runs.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE runs SET start_time = ?, end_time = ? WHERE run_id = ?",
            (ended_at - took.total_seconds(), ended_at, run.run_id),
        )
    return run.run_id


def _prune(instance: dg.DagsterInstance, run_id: str, keep: int | None = 2) -> set[str]:
    """Delete what a run supersedes, and return what is left."""
    run = instance.get_run_by_id(run_id)
    assert run is not None
    delete_superseded(instance, run, keep)
    return {run.run_id for run in instance.get_runs()}


def _minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def test_the_newest_runs_of_a_project_stay(instance: dg.DagsterInstance) -> None:
    """Whatever job the older ones were of; other projects have runs of their own."""
    other = _add(instance, ended=_minutes(9), project=OTHER)
    _add(instance, ended=_minutes(5), job="__ASSET_JOB")
    _add(instance, ended=_minutes(4))
    kept = {_add(instance, ended=_minutes(2)), last := _add(instance, ended=_minutes(1))}
    assert _prune(instance, last) == {other} | kept


def test_a_run_of_some_assets_supersedes_nothing(instance: dg.DagsterInstance) -> None:
    """The other assets' last materialization is in the older one."""
    whole = [_add(instance, ended=_minutes(9)), _add(instance, ended=_minutes(8))]
    part = [
        _add(instance, ended=_minutes(age), selection=frozenset({dg.AssetKey("turn_chunks")}))
        for age in (3, 2, 1)
    ]
    assert _prune(instance, part[-1]) == {*whole, *part}


def test_a_run_that_waited_and_ended_later_stays(instance: dg.DagsterInstance) -> None:
    """It may have been the last to make something."""
    late = _add(instance, ended=_minutes(1.5), took=_minutes(30))
    newer = [_add(instance, ended=_minutes(age)) for age in (2, 1)]
    assert _prune(instance, newer[-1]) == {late, *newer}


def test_failed_runs_stay_for_thirty_days_and_those_under_way_for_ever(
    instance: dg.DagsterInstance,
) -> None:
    """Somebody may still ask why."""
    _add(instance, ended=timedelta(days=31), status=FAILURE)
    _add(instance, ended=timedelta(days=40), status=dg.DagsterRunStatus.CANCELED)
    failed = _add(instance, ended=timedelta(days=29), status=FAILURE)
    running = _add(instance, ended=timedelta(days=50), status=dg.DagsterRunStatus.STARTED)
    kept = [_add(instance, ended=_minutes(age)) for age in (2, 1)]
    assert _prune(instance, kept[-1]) == {failed, running, *kept}


def test_jobs_over_all_projects_are_counted_each_for_itself(instance: dg.DagsterInstance) -> None:
    """They have no partition."""
    nightly = [_add(instance, ended=_minutes(age), project=None, job="a") for age in (4, 3, 2)]
    other = _add(instance, ended=_minutes(9), project=None, job="b")
    assert _prune(instance, nightly[-1]) == {other, *nightly[1:]}


def test_all_keeps_all(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEMORY_RUNS_KEPT=all."""
    monkeypatch.setenv("MEMORY_RUNS_KEPT", "all")
    runs = [_add(instance, ended=_minutes(age)) for age in (4, 3, 2, 1)]
    assert _prune(instance, runs[-1], load_settings().runs_kept) == set(runs)


def test_nothing_is_left_of_a_deleted_run_and_the_partition_is_as_it_was(
    sample_settings: Settings,
) -> None:
    """Real runs of the job: their files and rows go, the last state of each asset and check
    stays."""
    settings = sample_settings.model_copy(update={"embedder": "none", "runs_kept": 1})
    work = ProjectPlan(PROJECT, "test", "")
    with open_instance(settings) as instance:
        run_plans(settings, [work])
        (first,) = instance.get_runs()
        run_plans(settings, [work])
        (last,) = instance.get_runs()
        assert last.run_id != first.run_id
        for key in (dg.AssetKey("raw_sessions"), dg.AssetKey("session_collection")):
            assert instance.get_materialized_partitions(key) == {PROJECT}
        history = settings.dagster_dir / "history" / "runs"
        assert {path.stem for path in history.glob("*.db")} == {"index", last.run_id}
        with closing(sqlite3.connect(history / "index.db")) as index:
            for table in ("event_logs", "asset_check_executions"):
                found = index.execute(f"SELECT DISTINCT run_id FROM {table}").fetchall()
                assert found == [(last.run_id,)]


def test_runs_of_the_daemon_are_pruned_by_a_sensor(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """It sees each run that succeeds, whoever launched it."""
    settings = sample_settings.model_copy(update={"runs_kept": 1})
    for age in (3, 2):
        _add(instance, ended=_minutes(age))
    run = instance.get_run_by_id(_add(instance, ended=_minutes(1)))
    assert run is not None
    event = dg.DagsterEvent("PIPELINE_SUCCESS", INGEST_JOB)
    context = dg.build_run_status_sensor_context(
        "superseded_runs_sensor",
        event,
        instance,
        run,
        resources={"memory": MemoryResource.of(settings)},
    )
    superseded_runs_sensor(context)
    assert [kept.run_id for kept in instance.get_runs()] == [run.run_id]
