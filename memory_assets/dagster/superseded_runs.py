"""Runs in Dagster's history whose every result a newer run has made again.

Each run of `ingest_project` keeps 0.9 MB of events, in a SQLite file of its own and in the
index of all, and Dagster's `retention` setting is for ticks only. Such a run makes every
asset of its project and evaluates every check, so once newer ones have succeeded, an older
one holds nothing that the partition's state hangs on.
"""

from __future__ import annotations

import json
import logging
import time
from bisect import bisect_right
from collections.abc import Iterator

import dagster as dg
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES
from sqlalchemy.exc import SQLAlchemyError

from memory_assets.dagster.jobs import INGEST_JOB
from memory_assets.dagster.partitions import PARTITION_TAG, projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors

_BACKFILL_TAG = "dagster/backfill"
_STILL_IN_USE_SECONDS = 60.0
"""Dagster's daemon and page may still write to, or read, a run that has just ended."""
_FAILED_KEPT_SECONDS = 30 * 86_400.0
"""A run that did not succeed is kept for so long, to find out why."""
_MOST_AT_ONCE = 50
"""A deletion takes 13 ms; an old history goes run by run, or tick by tick."""
_ENDED = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)
_log = logging.getLogger(__name__)


def delete_superseded(instance: dg.DagsterInstance, project: str, keep: int | None) -> int:
    """Delete the runs of a project that its newest `keep` whole runs supersede, and return
    how many that were. With None all are kept.

    Not touched are runs that are waiting or under way, that ended after the oldest of those
    kept had begun, or within the last minute; that belong to a backfill under way; and, for
    30 days, those that failed or were cancelled. At most 50 go at once. An error of Dagster's
    storage is logged: the next run, or the sensor, tries again.
    """
    if keep is None:
        return 0
    deleted = 0
    try:
        for run_id in _superseded(instance, project, keep):
            # Before the run itself: after a kill in between, the next time finds it again.
            instance.event_log_storage.delete_events(run_id)
            instance.delete_run(run_id)
            deleted += 1
            if deleted == _MOST_AT_ONCE:
                break
    except (SQLAlchemyError, OSError) as error:  # what the run made is good all the same
        _log.warning("could not delete old runs from Dagster's history: %s", type(error).__name__)
    return deleted


@dg.sensor(minimum_interval_seconds=600, default_status=dg.DefaultSensorStatus.RUNNING)
@no_text_in_errors()
def superseded_runs_sensor(
    context: dg.SensorEvaluationContext, memory: MemoryParam
) -> dg.SkipReason:
    """Keep the newest MEMORY_RUNS_KEPT runs of each project, whoever launched them.

    It requests no runs. A tick looks at every project; one that ran out of time goes on
    behind the last one looked at, which its cursor names.
    """
    settings = memory.settings
    deadline = time.monotonic() + settings.sensor_seconds_per_tick
    after = json.loads(context.cursor or "{}").get("after", "")
    names = sorted(context.instance.get_dynamic_partitions(str(projects.name)))
    start = bisect_right(names, after)
    deleted = 0
    for project in (*names[start:], *names[:start]):
        deleted += delete_superseded(context.instance, project, settings.runs_kept)
        after = project
        if time.monotonic() > deadline:
            break
    context.update_cursor(json.dumps({"after": after}))
    return dg.SkipReason(f"{deleted} superseded runs deleted")


def _superseded(instance: dg.DagsterInstance, project: str, keep: int) -> Iterator[str]:
    """Yield the ids of a project's superseded runs, of whatever job, newest first."""
    wanted = dg.RunsFilter(tags={PARTITION_TAG: project}, statuses=list(_ENDED))
    ended = sorted(instance.get_run_records(wanted), key=_end, reverse=True)
    kept = [record for record in ended if _is_whole(record.dagster_run)][:keep]
    if len(kept) < keep:
        return
    begun = min(_start(record) for record in kept)
    now = time.time()
    for record in ended:
        run = record.dagster_run
        rests = _STILL_IN_USE_SECONDS if run.is_success else _FAILED_KEPT_SECONDS
        if record in kept or _end(record) > min(begun, now - rests):
            continue
        if not _is_of_backfill_under_way(instance, run):
            yield run.run_id


def _is_whole(run: dg.DagsterRun) -> bool:
    """Whether a run made all assets of its project, and evaluated all checks; one that went
    on where another had failed counts as not."""
    part = run.asset_selection or run.asset_check_selection or run.op_selection
    again = run.parent_run_id is not None
    return run.is_success and run.job_name == INGEST_JOB and not part and not again


def _is_of_backfill_under_way(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a backfill still counts on the run: one that is gone counts as failed there."""
    backfill = instance.get_backfill(run.tags.get(_BACKFILL_TAG, ""))
    return backfill is not None and backfill.status not in BULK_ACTION_TERMINAL_STATUSES


def _start(record: dg.RunRecord) -> float:
    return record.start_time or record.create_timestamp.timestamp()


def _end(record: dg.RunRecord) -> float:
    return record.end_time or record.update_timestamp.timestamp()
