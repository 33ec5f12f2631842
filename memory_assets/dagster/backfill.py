"""A [backfill](https://docs.dagster.io/guides/build/partitions-and-backfills/backfilling-data):
one run makes the partitions of all runs of the backfill that wait.

Dagster requests a run for each partition, and nearly all that a small one costs is a process of
its own. So dagster.yaml lets one run of a backfill be under way at a time, and this one takes the
projects of the waiting runs through the passes of ingest_batch. Events of a partition belong to
its own run, which is reported as ended afterwards. If that is interrupted, the runs still wait,
and the next one takes them.
"""

from __future__ import annotations

import dagster as dg

from memory_assets.dagster.batch import OpEvents
from memory_assets.dagster.resources import MemoryResource
from memory_assets.pipeline.ingest.batch_run import BatchRun
from memory_assets.pipeline.ingest.passes import SUMMARIES, VECTORS
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.stores.run_history.names import BACKFILL_TAG, PARTITION_TAG

_MOST_RUNS = 200
"""Runs that are taken at once."""


def run_waiting(
    context: dg.AssetExecutionContext, memory: MemoryResource, workers: Workers
) -> None:
    """Make the partitions of the runs that wait in the backfill of this run, if it is in one,
    and report these runs as ended. Backfills of single assets are left alone."""
    while runs := _waiting_runs(context.instance, context.run):
        log = OpEvents(context.op_execution_context, runs)
        batch = BatchRun(memory.components(), workers)
        batch.index_words(log, list(runs))
        for part in (SUMMARIES, VECTORS):
            batch.run_pass(log, part)
        for project, run in runs.items():
            failed = ", ".join(sorted(batch.batch.failed.get(project, ())))
            _report_ended(context.instance, run, context.run.run_id, failed)


def _waiting_runs(instance: dg.DagsterInstance, own: dg.DagsterRun) -> dict[str, dg.DagsterRun]:
    """Return the waiting runs of all assets in the backfill of a run, by project."""
    backfill = own.tags.get(BACKFILL_TAG)
    if backfill is None or not _is_of_all_assets(own):
        return {}
    waiting = dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED], tags={BACKFILL_TAG: backfill})
    return {
        run.tags[PARTITION_TAG]: run
        for run in instance.get_runs(waiting, limit=_MOST_RUNS)
        if PARTITION_TAG in run.tags and _is_of_all_assets(run)
    }


def _is_of_all_assets(run: dg.DagsterRun) -> bool:
    if run.asset_selection:
        return {key.to_user_string() for key in run.asset_selection} >= STEPS.keys()
    return not run.op_selection


def _report_ended(
    instance: dg.DagsterInstance, run: dg.DagsterRun, made_by: str, failed: str
) -> None:
    """Report a run whose partition was made by the run `made_by`; `failed`: the assets that
    were not made. A run that was cancelled meanwhile stays as it is."""
    now = instance.get_run_by_id(run.run_id)
    if now is None or now.status != dg.DagsterRunStatus.QUEUED:
        return
    instance.report_engine_event(f"Run {made_by} made this partition, with others.", now)
    if failed:
        instance.report_run_failed(now, f"{failed}: run {made_by} says why")
        return
    for kind in (dg.DagsterEventType.RUN_START, dg.DagsterEventType.RUN_SUCCESS):
        instance.report_dagster_event(dg.DagsterEvent(kind.value, run.job_name), run.run_id)
