"""Dagster's history keeps the newest runs of a project, and nothing of older ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.definitions import defs
from memory_assets.dagster.instance_runs import delete_run
from memory_assets.dagster.partitions import add_keys
from memory_assets.dagster.resources import MemoryResource
from memory_assets.dagster.superseded_runs import ended_and_superseded
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.files.sqlite import IN_MEMORY
from memory_assets.stores.runs.ledger import RunLedger
from memory_assets.stores.runs.names import INGEST_JOB, PARTITION_TAG, PRUNE_JOB, RANGE_TAGS
from memory_assets_tests.dagster.recorded import record_ingests, run_job

PROJECT, OTHER = "-home-mara-code-harbor-api", "-Users-jonas-work-tidepool-web"
SUCCESS, FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE


def _add(
    instance: dg.DagsterInstance,
    *,
    ended: timedelta,
    took: timedelta = timedelta(seconds=1),
    status: dg.DagsterRunStatus = SUCCESS,
    project: str = PROJECT,
    job: str = INGEST_JOB,
    backfill: str = "",
    selection: frozenset[dg.AssetKey] | None = None,
) -> str:
    """Put a run on record that ended so long ago."""
    tags = {PARTITION_TAG: project} | ({"dagster/backfill": backfill} if backfill else {})
    run = dg.DagsterRun(job, status=status, tags=tags, asset_selection=selection)
    instance.add_run(run)
    end_earlier(instance, run.run_id, ended, took)
    return run.run_id


def end_earlier(
    instance: dg.DagsterInstance,
    run_id: str,
    ended: timedelta,
    took: timedelta = timedelta(seconds=1),
) -> None:
    """Have a run end so long ago."""
    ended_at = (datetime.now(UTC) - ended).timestamp()
    path = f"{instance.root_directory}/history/runs.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE runs SET start_time = ?, end_time = ? WHERE run_id = ?",
            (ended_at - took.total_seconds(), ended_at, run_id),
        )


def _prune(instance: dg.DagsterInstance) -> set[str]:
    """Delete what the two newest runs supersede, and return what is left."""
    delete_in(instance, 2)
    return {run.run_id for run in instance.get_runs()}


def delete_in(instance: dg.DagsterInstance, keep: int) -> int:
    """Delete what newer runs supersede, and return how many runs."""
    superseded = [
        run_id for run_id, is_superseded in ended_and_superseded(instance, keep) if is_superseded
    ]
    for run_id in superseded:
        delete_run(instance, RunLedger(IN_MEMORY), run_id)
    return len(superseded)


def _minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def test_the_newest_runs_of_a_project_stay(instance: dg.DagsterInstance) -> None:
    """Whatever job the older ones were of; other projects have runs of their own."""
    other = _add(instance, ended=_minutes(9), project=OTHER)
    _add(instance, ended=_minutes(8), job="__ASSET_JOB")
    _add(instance, ended=_minutes(7))
    kept = {_add(instance, ended=_minutes(5)), _add(instance, ended=_minutes(4))}
    assert _prune(instance) == {other} | kept


def test_a_run_of_some_assets_supersedes_nothing(instance: dg.DagsterInstance) -> None:
    """The other assets' last materialization is in the older one."""
    whole = {_add(instance, ended=_minutes(9)), _add(instance, ended=_minutes(8))}
    chunks = frozenset({dg.AssetKey("turn_chunks")})
    part = {_add(instance, ended=_minutes(age), selection=chunks) for age in (4, 3, 2)}
    assert _prune(instance) == whole | part


def test_a_run_that_ended_after_a_kept_one_had_begun_stays(instance: dg.DagsterInstance) -> None:
    """It may have been the last to make something."""
    late = _add(instance, ended=_minutes(6), job="__ASSET_JOB")
    kept = {_add(instance, ended=_minutes(5), took=_minutes(3)), _add(instance, ended=_minutes(4))}
    assert _prune(instance) == {late} | kept


def test_a_run_that_has_just_ended_stays_for_a_minute(instance: dg.DagsterInstance) -> None:
    """Dagster may still write to it."""
    _add(instance, ended=_minutes(1.5))
    fresh = {_add(instance, ended=timedelta(seconds=age)) for age in (50, 40, 30, 20)}
    assert _prune(instance) == fresh


def test_failed_runs_stay_for_thirty_days_and_those_under_way_for_ever(
    instance: dg.DagsterInstance,
) -> None:
    """Somebody may still ask why."""
    _add(instance, ended=timedelta(days=31), status=FAILURE)
    _add(instance, ended=timedelta(days=40), status=dg.DagsterRunStatus.CANCELED)
    failed = _add(instance, ended=timedelta(days=29), status=FAILURE)
    running = _add(instance, ended=timedelta(days=50), status=dg.DagsterRunStatus.STARTED)
    kept = {_add(instance, ended=_minutes(age)) for age in (4, 3)}
    assert _prune(instance) == {failed, running} | kept


@pytest.mark.parametrize("status", [BulkActionStatus.REQUESTED, BulkActionStatus.COMPLETED_SUCCESS])
def test_runs_of_a_backfill_stay_until_it_has_ended(
    instance: dg.DagsterInstance, status: BulkActionStatus
) -> None:
    """Dagster counts a run that is gone as failed."""
    instance.add_backfill(
        PartitionBackfill("b1", status, from_failure=False, tags={}, backfill_timestamp=0.0)
    )
    of_backfill = _add(instance, ended=_minutes(9), backfill="b1")
    kept = {_add(instance, ended=_minutes(age)) for age in (4, 3)}
    under_way = status is BulkActionStatus.REQUESTED
    assert _prune(instance) == kept | ({of_backfill} if under_way else set())


def test_all_keeps_all(
    sample_settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MEMORY_RUNS_KEPT=all."""
    monkeypatch.setenv("MEMORY_RUNS_KEPT", "all")
    runs = {_add(instance, ended=_minutes(age)) for age in (6, 5, 4, 3)}
    settings = replace(sample_settings, runs_kept=load_settings().runs_kept)
    assert isinstance(_tick(instance, settings), dg.SkipReason)
    assert _run_the_job(instance, settings) == 0
    assert {run.run_id for run in instance.get_runs()} > runs


def test_a_run_of_a_backfill_goes_when_newer_ones_have_superseded_it_for_each_partition(
    instance: dg.DagsterInstance,
) -> None:
    """Its tags name the first and the last of them."""
    add_keys(instance, [PROJECT, OTHER])
    names = instance.get_dynamic_partitions("projects")
    tags = dict(zip(RANGE_TAGS, (names[0], names[-1]), strict=True))
    run = dg.DagsterRun("__ASSET_JOB", status=SUCCESS, tags=tags)
    instance.add_run(run)
    end_earlier(instance, run.run_id, _minutes(9))
    kept = {_add(instance, ended=_minutes(age)) for age in (5, 4)}
    assert _prune(instance) == {run.run_id} | kept
    kept |= {_add(instance, ended=_minutes(age), project=OTHER) for age in (5, 4)}
    assert _prune(instance) == kept


def test_nothing_is_left_of_a_deleted_run_and_the_partition_is_as_it_was(
    sample_settings: Settings,
) -> None:
    """Real runs that recorded what the command line made: their files and rows go, the last state
    of each asset and check stays."""
    settings = replace(sample_settings, embedder="none", runs_kept=1)
    work = ProjectPlan(PROJECT, "test", "")
    with open_instance(settings) as instance:
        run_plans(settings, [work])
        (first,) = record_ingests(instance, settings)
        end_earlier(instance, first, _minutes(2))
        run_plans(settings, [work])
        (last,) = record_ingests(instance, settings)
        assert delete_in(instance, 1) == 1
        for key in (dg.AssetKey("raw_sessions"), dg.AssetKey("session_collection")):
            assert instance.get_materialized_partitions(key) == {PROJECT}
        history = settings.dagster_dir / "history" / "runs"
        assert {path.stem for path in history.glob("*.db")} == {"index", last}
        with closing(sqlite3.connect(history / "index.db")) as index:
            for table in ("event_logs", "asset_check_executions"):
                found = index.execute(f"SELECT DISTINCT run_id FROM {table}").fetchall()
                assert found == [(last,)]


def _tick(
    instance: dg.DagsterInstance, settings: Settings, **changed: Any
) -> dg.RunRequest | dg.SkipReason:
    """What the schedule answers."""
    resources = {"memory": MemoryResource(replace(settings, **changed))}
    context = dg.build_schedule_context(instance=instance, resources=resources)
    answer = defs.resolve_schedule_def("superseded_runs_schedule")(context)
    assert isinstance(answer, dg.RunRequest | dg.SkipReason)
    return answer


def _run_the_job(instance: dg.DagsterInstance, settings: Settings) -> int:
    """Run the job as the daemon would, and return how many runs it deleted."""
    run = run_job(settings, PRUNE_JOB, instance)
    (made,) = (event for event in run.all_node_events if event.is_successful_output)
    return int(str(made.step_output_data.metadata["runs_deleted"].value))


def test_the_schedule_asks_for_a_run_while_a_project_has_superseded_runs(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """Whoever launched them. The run deletes those of every project, however many."""
    settings = replace(sample_settings, runs_kept=1)
    add_keys(instance, [PROJECT, OTHER])
    assert isinstance(_tick(instance, settings), dg.SkipReason)
    for project, older in ((PROJECT, 2), (OTHER, 60)):
        for age in reversed(range(3, 4 + older)):
            _add(instance, ended=_minutes(age), project=project)
    assert isinstance(_tick(instance, settings, runs_kept=None), dg.SkipReason)
    assert isinstance(_tick(instance, settings), dg.RunRequest)
    assert _run_the_job(instance, settings) == 62
    left = [run.tags.get(PARTITION_TAG) for run in instance.get_runs()]
    assert sorted(filter(None, left)) == sorted([PROJECT, OTHER])
    assert isinstance(_tick(instance, settings), dg.SkipReason)


def test_the_schedule_leaves_to_a_run_what_a_tick_has_no_time_for(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """With more runs than it can look at it asks for a run, one at a time."""
    _add(instance, ended=_minutes(3))
    hurried = _tick(instance, sample_settings, sensor_seconds_per_tick=1e-9)
    assert isinstance(hurried, dg.RunRequest)
    instance.add_run(dg.DagsterRun(PRUNE_JOB, status=dg.DagsterRunStatus.STARTED))
    waiting = _tick(instance, sample_settings, sensor_seconds_per_tick=1e-9)
    assert isinstance(waiting, dg.SkipReason)


def test_the_job_deletes_its_own_older_runs(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """A history in which nothing else happens does not grow by the pruning of it."""
    settings = replace(sample_settings, runs_kept=2)
    old = [_add(instance, ended=_minutes(age), project="", job=PRUNE_JOB) for age in (4, 3, 2)]
    assert _run_the_job(instance, settings) == 1
    left = {run.run_id for run in instance.get_runs()}
    assert left.issuperset(old[1:]) and old[0] not in left
