"""Runs of one backfill: the first makes the partitions of all that wait."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.definitions import ASSETS, build_defs
from memory_assets.dagster.partitions import add_keys
from memory_assets.errors import StoreError
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.settings import Settings
from memory_assets.stores.run_history.names import BACKFILL_TAG, INGEST_JOB, PARTITION_TAG

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
Status = dg.DagsterRunStatus
REPOSITORY = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("memory_assets"), "__repository__")


@pytest.fixture
def settings(sample_settings: Settings) -> Settings:
    """Without vectors: what counts here are the runs."""
    return replace(sample_settings, embedder="none")


def _waiting(
    instance: dg.DagsterInstance,
    project: str,
    *,
    backfill: str = "b1",
    status: dg.DagsterRunStatus = Status.QUEUED,
    assets: frozenset[dg.AssetKey] | None = None,
) -> str:
    """Store a run that waits in a backfill, as Dagster's daemon does; return its id."""
    run = dg.DagsterRun(
        job_name=INGEST_JOB,
        status=status,
        asset_selection=assets,
        remote_job_origin=RemoteJobOrigin(REPOSITORY, INGEST_JOB),
        tags={PARTITION_TAG: project, BACKFILL_TAG: backfill},
    )
    return instance.add_run(run).run_id


def _run(settings: Settings, instance: dg.DagsterInstance, project: str) -> bool:
    """Execute the run of a project in the backfill b1."""
    job = build_defs(settings).resolve_job_def(INGEST_JOB)
    return job.execute_in_process(
        instance=instance, partition_key=project, tags={BACKFILL_TAG: "b1"}, run_config=QUIET
    ).success


def _status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_makes_the_partitions_of_the_runs_that_wait(settings: Settings) -> None:
    """Each partition's events belong to its own run, which shows as successful; nothing is
    left for the queue."""
    first, *others = sorted(find_sources(Components(settings)))
    with open_instance(settings) as instance:
        add_keys(instance, [first, *others])
        runs = {project: _waiting(instance, project) for project in others}
        assert _run(settings, instance, first)
        for project, run_id in runs.items():
            record = instance.get_run_record_by_id(run_id)
            assert record is not None and record.dagster_run.status == Status.SUCCESS
            assert record.start_time and record.end_time
            for asset in ASSETS:
                for key in asset.keys:
                    wanted = dg.AssetRecordsFilter(key, asset_partitions=[project])
                    (made,) = {
                        each.run_id for each in instance.fetch_materializations(wanted, 9).records
                    }
                    assert made == run_id, key
                for spec in asset.check_specs:
                    history = instance.event_log_storage.get_asset_check_execution_history(
                        spec.key, limit=9
                    )
                    (check,) = [each for each in history if each.partition == project]
                    assert (check.run_id, check.status.value) == (run_id, "SUCCEEDED")


def test_a_partition_that_fails_fails_its_own_run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that made the others, and their runs, succeed."""
    first, broken, good = sorted(find_sources(Components(settings)))
    real = STEPS["turn_chunks"]

    def fail_one(components: Components, project: str) -> StageReport:
        if project == broken:
            raise StoreError("the disk of this project is full")
        return real.run(components, project)

    monkeypatch.setitem(STEPS, "turn_chunks", replace(real, run=fail_one))
    with open_instance(settings) as instance:
        add_keys(instance, [first, broken, good])
        runs = [_waiting(instance, project) for project in (broken, good)]
        assert _run(settings, instance, first)
        assert [_status(instance, run) for run in runs] == [Status.FAILURE, Status.SUCCESS]
        chunked = instance.get_materialized_partitions(dg.AssetKey("turn_chunks"))
        assert chunked == {first, good}


def test_runs_that_are_not_for_all_assets_of_the_backfill_keep_waiting(
    settings: Settings,
) -> None:
    """Runs of other backfills, of chosen assets, and those that are under way or cancelled."""
    first, second, _ = sorted(find_sources(Components(settings)))
    with open_instance(settings) as instance:
        add_keys(instance, [first, second])
        runs = {
            _waiting(instance, second, backfill="b2"): Status.QUEUED,
            _waiting(instance, second, status=Status.CANCELED): Status.CANCELED,
            _waiting(instance, second, status=Status.STARTED): Status.STARTED,
            _waiting(
                instance, second, assets=frozenset([dg.AssetKey("raw_sessions")])
            ): Status.QUEUED,
        }
        assert _run(settings, instance, first)
        assert {run: _status(instance, run) for run in runs} == runs
        assert instance.get_materialized_partitions(dg.AssetKey("raw_sessions")) == {first}
