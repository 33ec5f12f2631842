"""What the daemon does when the command line made something, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.resources import MemoryResource
from memory_assets.errors import StoreError
from memory_assets.pipeline.ingest.steps import STEPS, Step
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.settings import Settings
from memory_assets.stores.runs.names import RECORD_JOB

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def ingests_tick(
    instance: dg.DagsterInstance, settings: Settings
) -> dg.SensorResult | dg.SkipReason:
    """What the sensor answers."""
    context = dg.build_sensor_context(
        instance=instance, resources={"memory": MemoryResource(settings)}
    )
    answer = build_defs(settings).resolve_sensor_def("ingests_sensor")(context)
    assert isinstance(answer, dg.SensorResult | dg.SkipReason)
    return answer


def record_ingests(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Tick until nothing is asked for any more, and run what is; returns the runs."""
    runs = []
    job = build_defs(settings).resolve_job_def(RECORD_JOB)
    while isinstance(answer := ingests_tick(instance, settings), dg.SensorResult):
        for added in answer.dynamic_partitions_requests or ():
            instance.add_dynamic_partitions(added.partitions_def_name, list(added.partition_keys))
        for asked in answer.run_requests or ():
            run = job.execute_in_process(
                instance=instance, run_config={**asked.run_config, **QUIET}, tags=dict(asked.tags)
            )
            assert run.success
            runs.append(run.run_id)
    return runs


def chunks_failing_for(broken: str) -> Step:
    """The step of `turn_chunks`, which one project makes fail."""
    real = STEPS["turn_chunks"]

    def run(components: Components, project: str) -> StageReport:
        if project == broken:
            raise StoreError("the disk of this project is full")
        return real.run(components, project)

    return replace(real, run=run)


def all_made(
    done: dg.ExecuteInProcessResult, assets: Sequence[dg.AssetsDefinition]
) -> dict[str, Mapping[str, Any]]:
    """The metadata of what a run materialized: every one of these assets, of which every check was
    evaluated and passed."""
    made = {
        event.materialization.asset_key.to_user_string(): event.materialization.metadata
        for event in done.get_asset_materialization_events()
    }
    assert made.keys() == {spec.key.to_user_string() for each in assets for spec in each.specs}
    checks = {
        (each.asset_key, each.check_name): each for each in done.get_asset_check_evaluations()
    }
    assert checks.keys() == {
        (spec.asset_key, spec.name) for each in assets for spec in each.check_specs
    }
    assert all(each.passed for each in checks.values())
    return made
