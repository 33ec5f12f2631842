"""The [sensor](https://docs.dagster.io/guides/automate/sensors) of the workspaces on record, and of
those that MEMORY_WORKSPACES names."""

import time
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from memory_assets.dagster.jobs import index_workspace
from memory_assets.dagster.partitions import (
    PartitionsRequest,
    busy_partitions,
    requests_to_add,
    requests_to_remove,
    workspaces,
)
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import ConfigurationError, no_text_in_errors
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.plan.workspaces import plan_workspace
from memory_assets.stores.runs.names import WORKSPACE_JOB
from memory_assets.stores.workspaces import Workspaces

_TRIED_AGAIN_SECONDS = 3_600.0
"""Work that a run left undone is asked for again after so long."""


@dg.sensor(
    job=index_workspace,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def workspaces_sensor(context: dg.SensorEvaluationContext, memory: MemoryParam) -> dg.SensorResult:
    """Request a run for each workspace with changed files. A tick costs a stat for each file."""
    components = memory.components()
    known = Workspaces(memory.settings.data_dir)
    missing = []
    for root in memory.settings.workspaces:
        try:
            known.add(Path(root))
        except ConfigurationError as error:
            missing.append(str(error))
    there = {workspace.partition for workspace in known.all()} | components.catalog.projects()
    gone = requests_to_remove(context.instance, workspaces, there)
    busy = busy_partitions(context.instance, WORKSPACE_JOB) | components.runs.busy_partitions()
    plans = []
    for workspace in known.all():
        if workspace.partition in busy:
            continue
        try:
            work = plan_workspace(components, workspace)
        except ConfigurationError as error:
            missing.append(str(error))
            continue
        if work is not None:
            plans.append(work)
    reason = "; ".join(missing) or "every workspace is up to date"
    return requested(context.instance, plans, gone, reason)


def requested(
    instance: dg.DagsterInstance,
    plans: Sequence[ProjectPlan],
    gone: Sequence[PartitionsRequest],
    reason: str,
) -> dg.SensorResult:
    """Return the request of a run for each plan, and of the partitions that are new or `gone`;
    where there is no plan, the reason."""
    attempt = int(time.time() / _TRIED_AGAIN_SECONDS)
    added = requests_to_add(instance, [work.project for work in plans])
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=f"{work.project}:{work.fingerprint}:{attempt}",
                partition_key=work.project,
                tags={"memory/reason": work.reason},
            )
            for work in plans
        ],
        skip_reason=None if plans else reason,
        dynamic_partitions_requests=[*added, *gone],
    )
