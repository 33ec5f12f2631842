"""The sensor's runs, their events and the pruning, wherever Dagster keeps runs and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.cli.dagster import traces
from memory_assets.cli.dagster.traces import erase_traces
from memory_assets.dagster import superseded_runs
from memory_assets.dagster.definitions import ASSETS, build_defs
from memory_assets.dagster.partitions import add_keys
from memory_assets.dagster.resources import MemoryResource
from memory_assets.pipeline.removal.forget import Names
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.runs.ledger import ledger_of
from memory_assets.stores.runs.names import INGEST_BATCH, INGEST_JOB, PRUNE_JOB, RANGE_TAGS
from memory_assets_tests.conftest import without_harbor
from memory_assets_tests.dagster.instances import on_postgres, opened_instance, postgres_server
from memory_assets_tests.dagster.recorded import record_ingests, run_job, tick

pytestmark = [  # on the shipped one: test_ingest_batch.py, test_superseded_runs.py
    pytest.mark.long,
    pytest.mark.parametrize("instance", ["moved SQLite", "ephemeral", "PostgreSQL"], indirect=True),
]


@pytest.fixture
def instance(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance whose runs are elsewhere than `memory` keeps them."""
    if request.param == "ephemeral":
        with dg.DagsterInstance.ephemeral() as opened:
            yield opened
    elif request.param == "moved SQLite":
        storage: dict[str, object] = {"sqlite": {"base_dir": str(tmp_path / "elsewhere")}}
        with opened_instance(tmp_path / "home", storage) as opened:
            yield opened
    else:
        with (
            postgres_server() as port,
            opened_instance(tmp_path / "home", on_postgres(port)) as opened,
        ):
            yield opened


def _run_what_is_asked(
    instance: dg.DagsterInstance, settings: Settings, asked: dg.RunRequest
) -> str:
    run = run_job(settings, str(asked.job_name), instance, asked.run_config, tags=dict(asked.tags))
    assert run.success
    return run.run_id


def test_what_the_sensor_asks_for_runs_and_is_pruned_on_any_instance(
    sample_settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One tick asks for a run of all projects, which stores a materialization and every check's
    evaluation for each partition (test_ingest_batch.py: in full). When newer runs have superseded
    it, the schedule asks for the pruning, which deletes it; how it ended stays in the ledger."""
    settings = replace(without_harbor(sample_settings), runs_kept=1)
    (asked,) = tick("projects_directory_sensor", settings, instance).run_requests or ()
    assert asked.job_name == INGEST_BATCH
    first = _run_what_is_asked(instance, settings, asked)
    projects = set(instance.get_dynamic_partitions("projects"))
    assert len(projects) == 2
    for asset in ASSETS:
        for key in asset.keys:
            assert instance.get_materialized_partitions(key) == projects, key
        about = instance.event_log_storage.get_asset_check_partition_info(list(asset.check_keys))
        assert all(each.is_current for each in about)
    last = _run_what_is_asked(instance, settings, asked)
    if not instance.is_ephemeral:  # Dagster gives schedules no ephemeral one
        schedule = build_defs(settings).resolve_schedule_def("superseded_runs_schedule")
        context = dg.build_schedule_context(
            instance=instance, resources={"memory": MemoryResource(settings)}
        )
        monkeypatch.setattr(superseded_runs, "_STILL_IN_USE_SECONDS", 3_600.0)
        assert isinstance(schedule(context), dg.SkipReason)  # the run has only just ended
    monkeypatch.setattr(superseded_runs, "_STILL_IN_USE_SECONDS", 0.0)
    if not instance.is_ephemeral:
        assert isinstance(schedule(context), dg.RunRequest)
    assert run_job(settings, PRUNE_JOB, instance).success
    assert instance.get_run_by_id(first) is None
    assert instance.get_run_by_id(last) is not None
    assert not instance.all_logs(first)
    noted = ledger_of(settings.data_dir).ended(first)
    assert noted is not None and noted.status == "SUCCESS" and noted.ended_at
    for asset in ASSETS:
        for key in asset.keys:
            assert instance.get_materialized_partitions(key) == projects, key


def test_a_backfill_is_made_and_a_project_forgotten_on_any_instance(
    sample_settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run of the range makes all partitions; to forget a project deletes that run, and what it
    had of the others is recorded again. The instance is found by DAGSTER_HOME."""
    settings = without_harbor(sample_settings)
    names = add_keys(instance, find_sources(Components(settings)))
    tags = dict(zip(RANGE_TAGS, (names[0], names[-1]), strict=True))
    made = run_job(settings, INGEST_JOB, instance, tags=tags)
    assert made.success
    chunks = dg.AssetKey("turn_chunks")
    assert instance.get_materialized_partitions(chunks) == set(names)
    forgotten, *others = names
    if instance.is_ephemeral:  # of no other process, and so of no command
        monkeypatch.setattr(traces, "_instances", lambda _: iter([instance]))
    else:
        monkeypatch.setenv("DAGSTER_HOME", instance.root_directory)
    assert erase_traces(settings, Names(frozenset(), frozenset({forgotten}))) == 1
    assert not settings.dagster_dir.exists()
    assert instance.get_run_by_id(made.run_id) is None
    assert instance.get_dynamic_partitions("projects") == others
    record_ingests(instance, settings)
    assert instance.get_materialized_partitions(chunks) == set(others)
    assert forgotten not in repr([instance.get_runs(), *map(instance.all_logs, _ids(instance))])


def _ids(instance: dg.DagsterInstance) -> list[str]:
    return [run.run_id for run in instance.get_runs()]
