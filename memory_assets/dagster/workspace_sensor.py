"""The [sensor](https://docs.dagster.io/guides/automate/sensors) of the workspaces on record, and of
those that MEMORY_WORKSPACES names."""

import time
from pathlib import Path

import dagster as dg

from memory_assets.dagster.jobs import index_workspace
from memory_assets.dagster.partitions import new_keys, workspaces
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import ConfigurationError, no_text_in_errors
from memory_assets.pipeline.plan.workspaces import plan_workspace
from memory_assets.stores.run_history.names import WORKSPACE_JOB, projects_of
from memory_assets.stores.workspaces import Workspaces

_TRIED_AGAIN_SECONDS = 3_600.0
"""Work that a run left undone is asked for again after so long."""
_UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]


@dg.sensor(
    job=index_workspace,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def workspaces_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SensorResult | dg.SkipReason:
    """Request a run for each workspace with changed files. A tick costs a stat for each file."""
    components = memory.components()
    known = Workspaces(memory.settings.data_dir)
    missing = []
    for root in memory.settings.workspaces:
        try:
            known.add(Path(root))
        except ConfigurationError as error:
            missing.append(str(error))
    under_way = context.instance.get_runs(
        dg.RunsFilter(job_name=WORKSPACE_JOB, statuses=_UNDER_WAY)
    )
    busy = {partition for run in under_way for partition in projects_of(run)}
    runs = []
    for workspace in known.all():
        if workspace.partition in busy:
            continue
        try:
            work = plan_workspace(components, workspace)
        except ConfigurationError as error:
            missing.append(str(error))
            continue
        if work is not None:
            attempt = int(time.time() / _TRIED_AGAIN_SECONDS)
            runs.append(
                dg.RunRequest(
                    run_key=f"{workspace.partition}:{work.fingerprint}:{attempt}",
                    partition_key=workspace.partition,
                    tags={"memory/reason": work.reason},
                )
            )
    if not runs:
        return dg.SkipReason("; ".join(missing) or "every workspace is up to date")
    added = new_keys(context.instance, [str(run.partition_key) for run in runs], workspaces)
    return dg.SensorResult(
        run_requests=runs,
        dynamic_partitions_requests=[workspaces.build_add_request(added)] if added else [],
    )
