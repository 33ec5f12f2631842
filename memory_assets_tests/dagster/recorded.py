"""What the daemon does when the command line made something, in this process."""

from __future__ import annotations

from dataclasses import replace

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
