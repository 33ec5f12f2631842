"""Deleting runs from Dagster's history that newer runs have superseded.

Each run keeps some 0.3 MB of events a project, and Dagster's
[retention setting](https://docs.dagster.io/deployment/oss/dagster-yaml) is for ticks only. A
run of `ingest_batch` or `ingest_project` makes every asset of its projects and evaluates every
check, so once newer ones have succeeded, the state of the partitions does not depend on it.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import logging
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError

from memory_assets.dagster.jobs import INGEST_BATCH, INGEST_JOB
from memory_assets.dagster.partitions import (
    BACKFILL_TAG,
    BATCH_TAG,
    PARTITION_TAG,
    projects,
    projects_of,
)
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors

PRUNE_JOB = "prune_superseded_runs"
_BACKFILL_ENDED = ("COMPLETED", "FAILED", "CANCELED")
"""Beginnings of the states of a backfill that has ended."""
_STILL_IN_USE_SECONDS = 60.0
"""Dagster's daemon and page may still write to, or read, a run that has just ended."""
_FAILED_KEPT_SECONDS = 30 * 86_400.0
"""How long a run that did not succeed is kept, to find out why."""
_MOST_AT_ONCE = 50
"""Runs deleted in one call. A deletion takes 13 ms, so an old history is deleted in parts."""
_ENDED = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)
_UNDER_WAY = dg.RunsFilter(
    job_name=PRUNE_JOB,
    statuses=[status for status in dg.DagsterRunStatus if status not in _ENDED],
)
_log = logging.getLogger(__name__)


def delete_superseded(instance: dg.DagsterInstance, names: Sequence[str], keep: int | None) -> int:
    """Delete the runs of projects that the newest `keep` whole runs of each supersede, and
    return their number. With None all are kept. A run for several projects is superseded when
    it is for each of them.

    Not touched are runs that are waiting or under way, that ended after the oldest of those
    kept had begun, or within the last minute; that belong to a backfill under way; and, for
    30 days, those that failed or were cancelled. At most 50 go at once. An error of Dagster's
    storage is logged: the next run, or the schedule, tries again.
    """
    if keep is None:
        return 0
    return _delete(instance, _superseded_of(instance, names, keep))


@dg.op
@no_text_in_errors()
def delete_superseded_runs(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Delete the superseded runs of every project, and those of this job."""
    keep, deleted = memory.settings.runs_kept, 0
    names = sorted(context.instance.get_dynamic_partitions(str(projects.name)))
    while found := delete_superseded(context.instance, names, keep):
        deleted += found
    if keep is not None:
        wanted = dg.RunsFilter(job_name=PRUNE_JOB, statuses=list(_ENDED))
        ended = context.instance.get_run_records(wanted)
        superseded = (record.dagster_run.run_id for record in _superseded(ended, keep))
        deleted += _delete(context.instance, superseded)
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
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    for project in sorted(instance.get_dynamic_partitions(str(projects.name))):
        if next(_superseded_of(instance, [project], settings.runs_kept), None) is not None:
            return dg.RunRequest(tags={"memory/reason": "superseded runs"})
        if time.monotonic() > deadline:
            return dg.RunRequest(tags={"memory/reason": "more projects than a tick can look at"})
    return dg.SkipReason("no run is superseded")


def _delete(instance: dg.DagsterInstance, run_ids: Iterator[str]) -> int:
    """Delete runs, at most 50, and return how many."""
    deleted = 0
    try:
        for run_id in islice(run_ids, _MOST_AT_ONCE):
            # Before the run itself: after a kill in between, the next time finds it again.
            instance.event_log_storage.delete_events(run_id)
            instance.delete_run(run_id)
            deleted += 1
    except (SQLAlchemyError, OSError) as error:  # what the run made is good all the same
        _log.warning("could not delete old runs from Dagster's history: %s", type(error).__name__)
    return deleted


def _superseded_of(instance: dg.DagsterInstance, names: Sequence[str], keep: int) -> Iterator[str]:
    """Yield the ids of the superseded runs of projects, of whatever job; those for several
    projects only if `names` are several."""
    wanted = dg.RunsFilter(tags={BATCH_TAG: "true"}, statuses=list(_ENDED))
    batches = instance.get_run_records(wanted)

    def superseded(project: str) -> Iterator[dg.RunRecord]:
        alone = dg.RunsFilter(tags={PARTITION_TAG: project}, statuses=list(_ENDED))
        shared = [record for record in batches if project in projects_of(record.dagster_run)]
        return _superseded([*instance.get_run_records(alone), *shared], keep)

    found = (record for project in names for record in superseded(project))
    among = batches if len(names) > 1 else ()
    shared = (
        record
        for record in among
        if all(record in superseded(project) for project in projects_of(record.dagster_run))
    )
    for record in chain((record for record in found if record not in batches), shared):
        if not _is_of_backfill_under_way(instance, record.dagster_run):
            yield record.dagster_run.run_id


def _superseded(records: Sequence[dg.RunRecord], keep: int) -> Iterator[dg.RunRecord]:
    """Yield those of some ended runs that the newest `keep` whole ones among them supersede,
    newest first."""
    ended = sorted(records, key=_end, reverse=True)
    kept = [record for record in ended if _is_whole(record.dagster_run)][:keep]
    if len(kept) < keep:
        return
    begun = min(_start(record) for record in kept)
    now = time.time()
    for record in ended:
        rests = _STILL_IN_USE_SECONDS if record.dagster_run.is_success else _FAILED_KEPT_SECONDS
        if record not in kept and _end(record) <= min(begun, now - rests):
            yield record


def _is_whole(run: dg.DagsterRun) -> bool:
    """Whether a run did all that its job is there for: made all assets of its project and
    evaluated all checks, or pruned the history. One that went on where another had failed
    counts as not."""
    part = run.asset_selection or run.asset_check_selection or run.op_selection
    again = run.parent_run_id is not None
    return (
        run.is_success
        and run.job_name in (INGEST_BATCH, INGEST_JOB, PRUNE_JOB)
        and not part
        and not again
    )


def _is_of_backfill_under_way(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a backfill still counts on the run: one that is gone counts as failed there."""
    backfill = instance.get_backfill(run.tags.get(BACKFILL_TAG, ""))
    return backfill is not None and not backfill.status.name.startswith(_BACKFILL_ENDED)


def _start(record: dg.RunRecord) -> float:
    return record.start_time or record.create_timestamp.timestamp()


def _end(record: dg.RunRecord) -> float:
    return record.end_time or record.update_timestamp.timestamp()
