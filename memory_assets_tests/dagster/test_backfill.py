"""Runs that Dagster starts from its page: backfills, what goes on after a failure, checks alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from memory_assets.dagster.definitions import ASSETS, build_defs
from memory_assets.dagster.partitions import add_keys
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.stores.runs.names import INGEST_JOB
from memory_assets_tests.command_line import environment_of
from memory_assets_tests.conftest import without_harbor
from memory_assets_tests.dagster.instances import opened_instance
from memory_assets_tests.dagster.recorded import QUIET, chunks_failing_for, run_job
from memory_assets_tests.own_files import altered

FEW = [
    dg.AssetKey(name)
    for name in ("raw_sessions", "redacted_records", "turn_chunks", "turn_embeddings")
]
"""One after the other: enough where it does not matter how many assets a run makes."""


@pytest.fixture
def settings(sample_settings: Settings) -> Settings:
    """Two projects without vectors: what counts here are the runs."""
    return without_harbor(sample_settings)


@pytest.fixture
def instance(settings: Settings, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance with the partitions of the sample's projects."""
    storage: dict[str, object] = {"sqlite": {"base_dir": str(tmp_path / "elsewhere")}}
    with opened_instance(tmp_path / "home", storage) as opened:
        add_keys(opened, sorted(find_sources(Components(settings))))
        yield opened


def _run_all(
    settings: Settings, instance: dg.DagsterInstance, selection: list[dg.AssetKey] | None = None
) -> dg.ExecuteInProcessResult:
    """Run what a backfill of all partitions requests: one run with the range as its tags."""
    names = instance.get_dynamic_partitions("projects")
    tags = {
        "dagster/asset_partition_range_start": names[0],
        "dagster/asset_partition_range_end": names[-1],
    }
    return run_job(
        settings, INGEST_JOB, instance, tags=tags, asset_selection=selection, raise_on_error=False
    )


def _versions(instance: dg.DagsterInstance, asset: str) -> dict[str, list[str]]:
    """The data versions of each partition's materializations of an asset."""
    versions: dict[str, list[str]] = {}
    for record in instance.fetch_materializations(dg.AssetKey(asset), limit=50).records:
        assert record.asset_materialization is not None and record.partition_key is not None
        tags = record.asset_materialization.tags or {}
        versions.setdefault(record.partition_key, []).append(tags["dagster/data_version"])
    return versions


def test_a_backfill_makes_all_partitions_in_one_run(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    """All assets say so; each partition of each is materialized with its own data version, and
    every check is evaluated for it."""
    for asset in ASSETS:
        assert asset.backfill_policy == dg.BackfillPolicy.single_run()
    assert _run_all(settings, instance).success
    names = set(instance.get_dynamic_partitions("projects"))
    for asset in ASSETS:
        for key in asset.keys:
            versions = _versions(instance, key.to_user_string())
            times = 3 if key == dg.AssetKey("keyword_index") else 1  # once in each pass
            assert {name: len(made) for name, made in versions.items()} == dict.fromkeys(
                names, times
            ), key
        for spec in asset.check_specs:
            history = instance.event_log_storage.get_asset_check_execution_history(
                spec.key, limit=9
            )
            assert {each.partition for each in history} == names
            assert {each.status.value for each in history} == {"SUCCEEDED"}
        # Else the page shows the checks as missing.
        about = instance.event_log_storage.get_asset_check_partition_info(list(asset.check_keys))
        assert all(each.is_current for each in about)
    assert len({each for (each,) in _versions(instance, "turn_chunks").values()}) == len(names)


def test_a_partition_that_fails_leaves_the_others_of_a_backfill_made(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run fails; the partition is the only one without the asset. So it is with chosen assets,
    of which those that are made of the first are made, too, and nothing else."""
    broken, *good = sorted(instance.get_dynamic_partitions("projects"))

    with monkeypatch.context() as patched:
        patched.setitem(STEPS, "turn_chunks", chunks_failing_for(broken))
        assert not _run_all(settings, instance, FEW).success
    assert _versions(instance, "turn_chunks").keys() == set(good)
    assert _run_all(settings, instance, FEW[2:]).success
    assert {name: len(made) for name, made in _versions(instance, "turn_embeddings").items()} == {
        broken: 1,
        **dict.fromkeys(good, 2),
    }
    assert {len(made) for made in _versions(instance, "raw_sessions").values()} == {1}


def test_reexecution_from_failure_runs_what_failed(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what could not be made for it; what had succeeded is left alone."""
    project = min(instance.get_dynamic_partitions("projects"))

    with monkeypatch.context() as patched:
        patched.setitem(STEPS, "turn_chunks", chunks_failing_for(project))
        failed = run_job(
            settings,
            INGEST_JOB,
            instance,
            partition_key=project,
            asset_selection=FEW,
            raise_on_error=False,
        )
    assert not failed.success
    environment = environment_of(settings)  # of which the job is built anew
    for name, value in {**environment, "MEMORY_EMBEDDER": settings.embedder}.items():
        monkeypatch.setenv(name, value)
    with dg.execute_job(
        dg.reconstructable(_ingest_project_of_environment),
        instance,
        run_config=QUIET,
        tags=dict(failed.dagster_run.tags),
        asset_selection=FEW,
        reexecution_options=dg.ReexecutionOptions.from_failure(failed.run_id, instance),
    ) as again:
        assert again.success
        ran = {event.step_key for event in again.all_events if event.is_step_success}
    assert "turn_chunks" in ran and "raw_sessions" not in ran


def _ingest_project_of_environment() -> dg.JobDefinition:
    return build_defs().resolve_job_def(INGEST_JOB)


def test_checks_alone_fail_when_a_blocking_one_does(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    """The log names the partition, all others are checked, and the failure is the last result of
    its check, which is the one that the page shows."""
    assert _run_all(settings, instance, FEW[:2]).success
    first, *others = instance.get_dynamic_partitions("projects")
    lake = Components(settings).lake
    session = lake.sessions(REDACTED_RECORDS, first)[0]
    row = lake.read(REDACTED_RECORDS, first, session).to_pylist()[0]
    leak = {**row, "text": f"export GITHUB_TOKEN=ghp_{'Zq4' * 12}"}
    leaked = pa.Table.from_pylist([leak], schema=REDACTED_RECORDS.schema)
    altered(lake, REDACTED_RECORDS, first, "left-by-another-program", leaked)
    (asset,) = (each for each in ASSETS if FEW[1] in each.keys)
    job = build_defs(settings).resolve_job_def(INGEST_JOB)
    checks = job.get_subset(asset_selection=set(), asset_check_selection=set(asset.check_keys))
    run = checks.execute_in_process(instance=instance, run_config=QUIET, raise_on_error=False)
    assert not run.success
    (failure,) = (event for event in run.all_node_events if event.is_step_failure)
    assert f"1 of {len(others) + 1} partitions" in str(failure.step_failure_data)
    logged = [entry.user_message for entry in instance.all_logs(run.run_id)]
    assert any(line.startswith(f"{first}: redacted_records.no_secrets") for line in logged)
    history = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(FEW[1], "no_secrets_remain"), limit=len(others) + 1
    )
    newest_first = [(each.partition, each.status.value) for each in history]
    assert newest_first[0] == (first, "FAILED")
    assert set(newest_first[1:]) == {(other, "SUCCEEDED") for other in others}


def test_a_partition_of_no_project_fails_a_backfill_that_makes_the_others(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    """It alone stays without the asset."""
    names = set(instance.get_dynamic_partitions("projects"))
    add_keys(instance, ["-home-mara-code-harbor-spi"])
    assert not _run_all(settings, instance, [dg.AssetKey("raw_sessions")]).success
    assert _versions(instance, "raw_sessions").keys() == names
