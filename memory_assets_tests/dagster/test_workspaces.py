"""Workspaces in Dagster: the job of one partition, and the sensor that requests it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.definitions import WORKSPACE_ASSETS, build_defs
from memory_assets.dagster.partitions import agent_memory, projects, workspaces
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.runs.names import AGENT_MEMORY_JOB, INGEST_JOB, WORKSPACE_JOB
from memory_assets.stores.workspaces import Workspaces
from memory_assets_tests.dagster.recorded import QUIET, all_made, run_job, tick

HARBOR = "workspace:harbor"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A memory of nothing, whose settings name a workspace of two documents."""
    root = tmp_path / "harbor"
    root.mkdir()
    (root / "README.md").write_text("# Harbor\n\n## Lamps\n\nLamps are lit at dusk.\n")
    (root / "keeper.py").write_text("def light(lamp: str) -> str:\n    return lamp\n")
    data_dir = tmp_path / "memory"
    return load_settings(data_dir=data_dir, embedder="none", workspaces=[str(root)])


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of that memory."""
    with open_instance(settings) as opened:
        yield opened


@pytest.mark.parametrize(
    ("job", "asset", "partition"),
    [
        (WORKSPACE_JOB, "workspace_chunks", "workspace:harbour"),
        (INGEST_JOB, "turn_chunks", "-home-mara-code-harbour"),
        (AGENT_MEMORY_JOB, "agent_memory", "agent-memory:-home-mara-code-harbour"),
    ],
)
def test_a_partition_of_nothing_fails_and_says_so(
    settings: Settings, instance: dg.DagsterInstance, job: str, asset: str, partition: str
) -> None:
    """A mistyped one, whatever it is of: nothing is materialized."""
    definition = {WORKSPACE_JOB: workspaces, INGEST_JOB: projects}.get(job, agent_memory)
    instance.add_dynamic_partitions(str(definition.name), [partition])
    run = run_job(
        settings,
        job,
        instance,
        partition_key=partition,
        asset_selection=[dg.AssetKey(asset)],
        raise_on_error=False,
    )
    assert not run.success and not run.get_asset_materialization_events()
    (failure,) = (event for event in run.all_node_events if event.is_step_failure)
    assert "misspelt" in str(failure.step_failure_data)


def test_checks_without_a_partition_are_evaluated_for_every_partition(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    """As the page's "Execute all" asks; to make the asset without a partition fails."""
    Workspaces(settings.data_dir).add(Path(settings.workspaces[0]))
    instance.add_dynamic_partitions(str(workspaces.name), [HARBOR])
    job = build_defs(settings).resolve_job_def(WORKSPACE_JOB)
    assert job.execute_in_process(instance=instance, partition_key=HARBOR, run_config=QUIET).success
    (asset,) = (each for each in WORKSPACE_ASSETS if dg.AssetKey("workspace_chunks") in each.keys)
    alone = job.get_subset(asset_selection=set(), asset_check_selection=set(asset.check_keys))
    run = alone.execute_in_process(instance=instance, run_config=QUIET)
    assert run.success and not run.get_asset_materialization_events()
    evaluated = {
        (each.asset_check_key, each.partition, each.passed)
        for each in run.get_asset_check_evaluations()
    }
    assert evaluated == {(key, HARBOR, True) for key in asset.check_keys}
    made = job.get_subset(asset_selection={dg.AssetKey("workspace_chunks")}).execute_in_process(
        instance=instance, run_config=QUIET, raise_on_error=False
    )
    assert not made.success


def test_the_sensor_requests_a_run_when_a_file_changes(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    """With the partition of a new workspace; and says of a missing directory that it is gone. The
    run materializes every asset, and evaluates every check."""
    first = tick("workspaces_sensor", settings, instance)
    (request,) = first.run_requests or ()
    assert request.partition_key == HARBOR and first.dynamic_partitions_requests
    instance.add_dynamic_partitions(str(workspaces.name), [HARBOR])
    done = run_job(settings, WORKSPACE_JOB, instance, partition_key=HARBOR)
    made = all_made(done, WORKSPACE_ASSETS)
    assert made["workspace_documents"]["work"].value == "brought up to date"
    assert tick("workspaces_sensor", settings, instance).skip_reason
    root = Path(settings.workspaces[0])
    (root / "README.md").write_text("# Harbor\n\n## Lamps\n\nLamps are lit at noon.\n")
    again = tick("workspaces_sensor", settings, instance)
    assert len(again.run_requests or ()) == 1
    root.rename(root.with_name("moved"))
    gone = tick("workspaces_sensor", settings, instance)
    assert "does not exist" in str(gone.skip_reason)
