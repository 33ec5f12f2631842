"""What the daemon does, in this process: sensors and runs."""

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


def tick(
    sensor: str, settings: Settings, instance: dg.DagsterInstance, cursor: str | None = None
) -> dg.SensorResult:
    """What a sensor answers; a reason to skip alone, as a result without runs."""
    context = dg.build_sensor_context(
        instance=instance, cursor=cursor, resources={"memory": MemoryResource(settings)}
    )
    answer = build_defs(settings).resolve_sensor_def(sensor)(context)
    if isinstance(answer, dg.SkipReason):
        return dg.SensorResult(skip_reason=answer)
    assert isinstance(answer, dg.SensorResult)
    return answer


def run_job(
    settings: Settings,
    job: str,
    instance: dg.DagsterInstance | None = None,
    run_config: Mapping[str, Any] | None = None,
    **given: Any,
) -> dg.ExecuteInProcessResult:
    """Run a job, or a part of it."""
    config = {**(run_config or {}), **QUIET}
    resolved = build_defs(settings).resolve_job_def(job)
    return resolved.execute_in_process(instance=instance, run_config=config, **given)


def record_ingests(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Tick until nothing is asked for any more, and run what is; returns the runs."""
    runs = []
    while (answer := tick("ingests_sensor", settings, instance)).run_requests:
        for added in answer.dynamic_partitions_requests or ():
            instance.add_dynamic_partitions(added.partitions_def_name, list(added.partition_keys))
        for asked in answer.run_requests or ():
            run = run_job(settings, RECORD_JOB, instance, asked.run_config, tags=dict(asked.tags))
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
