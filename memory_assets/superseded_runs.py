"""Runs in Dagster's history whose every result a newer run has made again.

Each run keeps 0.9 MB of events, in a SQLite file of its own and in the index of all, and
Dagster's `retention` setting is for ticks only. A run of `ingest_project` makes every asset
of its project and evaluates every check, so once newer ones have succeeded, an older one
holds nothing that a partition's state hangs on.
"""

from __future__ import annotations

import time

import dagster as dg

from memory_assets.errors import no_text_in_errors
from memory_assets.jobs import JOBS
from memory_assets.resources import MemoryResource

_PARTITION = "dagster/partition"
_FAILED_KEPT_SECONDS = 30 * 86_400.0
"""A run that did not succeed is kept for so long, to find out why."""
_ENDED = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)


def delete_superseded(instance: dg.DagsterInstance, run: dg.DagsterRun, keep: int | None) -> int:
    """Delete what the newest `keep` whole runs of this run's job and project supersede, and
    return how many runs that were. With None all are kept.

    Those that failed or were cancelled stay for 30 days; one that is waiting or under way
    is never touched, nor one that ended after the oldest of those kept had begun.
    """
    if keep is None:
        return 0
    ended = _ended_runs(instance, run)
    whole = [record for record in ended if _is_whole(record.dagster_run, run.job_name)]
    if len(whole) < keep:
        return 0
    begun = min(_start(record) for record in whole[:keep])
    failed_before = time.time() - _FAILED_KEPT_SECONDS
    kept = {record.dagster_run.run_id for record in whole[:keep]}
    deleted = 0
    for record in ended:
        before = begun if record.dagster_run.is_success else min(begun, failed_before)
        if record.dagster_run.run_id not in kept and _end(record) <= before:
            instance.delete_run(record.dagster_run.run_id)
            deleted += 1
    return deleted


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitored_jobs=list(JOBS),
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
@no_text_in_errors()
def superseded_runs_sensor(
    context: dg.RunStatusSensorContext, memory: MemoryResource
) -> None:
    """Keep the newest MEMORY_RUNS_KEPT runs of each job and project, as `memory ingest` does.

    Dagster shows it up to five runs a tick, as long as it returns nothing.
    """
    keep = memory.settings().runs_kept
    deleted = delete_superseded(context.instance, context.dagster_run, keep)
    if deleted:
        context.log.info(f"{deleted} older runs deleted")


def _ended_runs(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[dg.RunRecord]:
    """Return the runs on the same partition, of whatever job, or those of the same job where
    it has none; newest first."""
    if _PARTITION in run.tags:
        wanted = dg.RunsFilter(tags={_PARTITION: run.tags[_PARTITION]}, statuses=list(_ENDED))
    else:
        wanted = dg.RunsFilter(job_name=run.job_name, statuses=list(_ENDED))
    return sorted(instance.get_run_records(wanted), key=_end, reverse=True)


def _is_whole(run: dg.DagsterRun, job_name: str) -> bool:
    """Whether a run of the job made all of its assets, and evaluated all of its checks; one
    that went on where another had failed counts as not."""
    part = run.asset_selection or run.asset_check_selection or run.op_selection
    again = run.parent_run_id is not None
    return run.is_success and run.job_name == job_name and not part and not again


def _start(record: dg.RunRecord) -> float:
    return record.start_time or record.create_timestamp.timestamp()


def _end(record: dg.RunRecord) -> float:
    return record.end_time or record.update_timestamp.timestamp()
