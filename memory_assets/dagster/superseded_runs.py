"""The [job](https://docs.dagster.io/guides/build/jobs) that deletes superseded runs from
Dagster's history, whoever launched them, and its
[schedule](https://docs.dagster.io/guides/automate/schedules)."""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import time

import dagster as dg

from memory_assets.dagster.instance_runs import InstanceRuns
from memory_assets.dagster.partitions import all_partitions
from memory_assets.dagster.resources import MemoryParam
from memory_assets.dagster.superseded import (
    delete_prunings,
    delete_superseded,
    superseded_batches,
    superseded_of,
)
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.ingest.run_ends import note_run_ends
from memory_assets.stores.runs.ledger import ENDED
from memory_assets.stores.runs.names import PRUNE_JOB

_UNDER_WAY = dg.RunsFilter(
    job_name=PRUNE_JOB,
    statuses=[status for status in dg.DagsterRunStatus if status.value not in ENDED],
)


@dg.op
@no_text_in_errors()
def delete_superseded_runs(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Delete the superseded runs of every project, and those of this job."""
    keep, deleted = memory.settings.runs_kept, 0
    names = all_partitions(context.instance)
    runs = InstanceRuns(context.instance, memory.components().runs)
    note_run_ends(memory.components(), runs.ended)
    while found := delete_superseded(runs, names, keep):
        deleted += found
    if keep is not None:
        deleted += delete_prunings(runs, keep)
    context.add_output_metadata({"runs_deleted": deleted})


@dg.job(
    name=PRUNE_JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600"},
    description="Deletes the runs from Dagster's history that newer ones supersede.",
)
def prune_superseded_runs() -> None:
    """Prune the history."""
    delete_superseded_runs()


@dg.schedule(
    job=prune_superseded_runs,
    cron_schedule="*/10 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
@no_text_in_errors()
def superseded_runs_schedule(
    context: dg.ScheduleEvaluationContext, memory: MemoryParam
) -> dg.RunRequest | dg.SkipReason:
    """Keep the newest MEMORY_RUNS_KEPT runs of each project, whoever launched them.

    Every ten minutes, if a project has a superseded run, or there are too many projects to
    look at in the time that a tick may take.
    """
    settings, instance = memory.settings, context.instance
    if settings.runs_kept is None:
        return dg.SkipReason("MEMORY_RUNS_KEPT=all: every run is kept")
    if instance.get_runs(_UNDER_WAY, limit=1):
        return dg.SkipReason("the last time is still under way")
    names = all_partitions(instance)
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    runs = InstanceRuns(instance, memory.components().runs)
    for project in names:
        if next(superseded_of(runs, [project], settings.runs_kept), None) is not None:
            return dg.RunRequest(tags={"memory/reason": "superseded runs"})
        if time.monotonic() > deadline:
            return dg.RunRequest(tags={"memory/reason": "more projects than a tick can look at"})
    if next(superseded_batches(runs, settings.runs_kept), None) is not None:
        return dg.RunRequest(tags={"memory/reason": "superseded runs"})
    return dg.SkipReason("no run is superseded")
