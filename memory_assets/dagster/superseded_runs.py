"""Runs that newer runs have superseded: the [job](https://docs.dagster.io/guides/build/jobs) that
deletes them from Dagster's history, whoever launched them, and its
[schedule](https://docs.dagster.io/guides/automate/schedules).

Each run keeps some 0.3 MB of events a project, and Dagster's
[retention setting](https://docs.dagster.io/deployment/oss/dagster-yaml) is for ticks only. A
run of `ingest_batch` or `ingest_project` makes every asset of its projects and evaluates every
check, and one of `record_ingests` records such a run of the command line, so once newer ones have
succeeded, the state of the partitions does not depend on it.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import dagster as dg

from memory_assets.dagster.instance_runs import delete_run, ended_runs, runs_by_id, runs_under_way
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.ingest.noted_run import note_run_ends
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_JOB,
    BACKFILL_TAG,
    INGEST_BATCH,
    INGEST_JOB,
    PART_TAG,
    PARTITIONS,
    PRUNE_JOB,
    RANGE_TAGS,
    RECORD_JOB,
    WORKSPACE_JOB,
    is_of_range,
    projects_of,
)

_WHOLE = (INGEST_BATCH, INGEST_JOB, RECORD_JOB, WORKSPACE_JOB, AGENT_MEMORY_JOB, PRUNE_JOB)
_STILL_IN_USE_SECONDS = 60.0
"""Dagster's daemon and page may still write to, or read, a run that has just ended."""
_FAILED_KEPT_SECONDS = 30 * 86_400.0
"""How long a run that did not succeed is kept, to find out why."""
_BACKFILL_ENDED = ("COMPLETED", "FAILED", "CANCELED")


def ended_and_superseded(instance: dg.DagsterInstance, keep: int) -> Iterator[tuple[str, bool]]:
    """Yield each run that has ended, newest first, and whether the newest `keep` whole runs of each
    of its partitions supersede it.

    Not superseded are runs of no partition, runs that ended after the oldest of those kept had
    begun, or within the last minute; that belong to a backfill under way; and, for 30 days, those
    that failed or were cancelled.
    """
    kept = Counter[str]()
    began: dict[str, float] = {}
    for record in ended_runs(instance):
        run = record.dagster_run
        created = record.create_timestamp.timestamp()
        partitions = _partitions(instance, run)
        full = [name for name in partitions if kept[name] >= keep]
        if _is_whole(run):
            for name in set(partitions).difference(full):
                kept[name] += 1
                began[name] = min(record.start_time or created, began.get(name, time.time()))
        superseded = False
        if partitions and len(full) == len(partitions):
            ended = record.end_time or record.update_timestamp.timestamp()
            rests = _STILL_IN_USE_SECONDS if run.is_success else _FAILED_KEPT_SECONDS
            before = min(time.time() - rests, *map(began.__getitem__, full))
            superseded = ended <= before and not _is_in_backfill(instance, run)
        yield run.run_id, superseded


def _partitions(instance: dg.DagsterInstance, run: dg.DagsterRun) -> Sequence[str]:
    """Return the partitions of a run; runs of `prune_superseded_runs` count as one partition."""
    if run.job_name == PRUNE_JOB:
        return [PRUNE_JOB]
    if not is_of_range(run):
        return projects_of(run)
    names = instance.get_dynamic_partitions(PARTITIONS)
    first, last = map(run.tags.get, RANGE_TAGS)
    if first not in names or last not in names:
        return []
    return names[names.index(first) : names.index(last) + 1]


def _is_whole(run: dg.DagsterRun) -> bool:
    """Whether a run succeeded with all assets and checks of its job. A run that resumed a failed
    one is not whole."""
    is_part = run.asset_selection or run.asset_check_selection or run.op_selection
    return (
        run.is_success
        and run.job_name in _WHOLE
        and PART_TAG not in run.tags
        and not is_part
        and run.parent_run_id is None
    )


def _is_in_backfill(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a run belongs to a backfill that still counts on its runs."""
    name = run.tags.get(BACKFILL_TAG)
    backfill = instance.get_backfill(name) if name else None
    return backfill is not None and not backfill.status.value.startswith(_BACKFILL_ENDED)


@dg.op
@no_text_in_errors()
def delete_superseded_runs(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Delete the superseded runs of every project, and those of this job."""
    keep = memory.settings.runs_kept
    instance = context.instance
    components = memory.components()
    note_run_ends(components, partial(runs_by_id, instance))
    superseded: list[str] = []
    if keep is not None:
        pairs = ended_and_superseded(instance, keep)
        superseded = [run_id for run_id, is_superseded in pairs if is_superseded]
    for run_id in superseded:
        delete_run(instance, components.runs, run_id)
    context.add_output_metadata({"runs_deleted": len(superseded)})


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
    description="Keeps the newest MEMORY_RUNS_KEPT runs of each project.",
)
@no_text_in_errors()
def superseded_runs_schedule(
    context: dg.ScheduleEvaluationContext, memory: MemoryParam
) -> dg.RunRequest | dg.SkipReason:
    """Keep the newest MEMORY_RUNS_KEPT runs of each project, whoever launched them.

    Every ten minutes, if a run is superseded, or there are too many runs to look at in the time
    that a tick may take.
    """
    settings = memory.settings
    instance = context.instance
    if settings.runs_kept is None:
        return dg.SkipReason("MEMORY_RUNS_KEPT=all: every run is kept")
    if runs_under_way(instance, PRUNE_JOB):
        return dg.SkipReason("the last time is still under way")
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    for _, is_superseded in ended_and_superseded(instance, settings.runs_kept):
        if is_superseded:
            return dg.RunRequest(tags={"memory/reason": "superseded runs"})
        if time.monotonic() > deadline:
            return dg.RunRequest(tags={"memory/reason": "more runs than a tick can look at"})
    return dg.SkipReason("no run is superseded")
