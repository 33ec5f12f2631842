"""The runs of a Dagster instance, by its API, so that it does not matter where the instance keeps
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import dagster as dg

from memory_assets.stores.runs.ledger import ENDED, KEPT, EndedRun, RunLedger, iso_time
from memory_assets.stores.runs.names import projects_of

_RUNS_A_QUERY = 500
UNDER_WAY = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED")
"""Statuses of runs that wait or work."""


def runs_under_way(instance: dg.DagsterInstance, job: str | None = None) -> Sequence[dg.DagsterRun]:
    """Return the runs of a job (None: of all) that are queued or in progress."""
    statuses = [dg.DagsterRunStatus(status) for status in UNDER_WAY]
    return instance.get_runs(dg.RunsFilter(job_name=job, statuses=statuses))


def busy_partitions(instance: dg.DagsterInstance, job: str | None = None) -> set[str]:
    """Return the partitions of the runs that are queued or in progress."""
    return {name for run in runs_under_way(instance, job) for name in projects_of(run)}


def ended_runs(instance: dg.DagsterInstance) -> Iterator[dg.RunRecord]:
    """Yield the runs that have ended, the newest first."""
    run_filter = dg.RunsFilter(statuses=[dg.DagsterRunStatus(status) for status in ENDED])
    records = instance.get_run_records(run_filter, limit=_RUNS_A_QUERY)
    while records:
        yield from records
        last = records[-1].dagster_run.run_id
        records = instance.get_run_records(run_filter, limit=_RUNS_A_QUERY, cursor=last)


def runs_by_id(instance: dg.DagsterInstance, run_ids: Iterable[str]) -> dict[str, EndedRun]:
    """Return the runs with these ids that the instance still has, ended or not, as the ledger notes
    them."""
    ids = sorted(run_ids)
    return {
        record.dagster_run.run_id: _ledger_entry(record)
        for start in range(0, len(ids), _RUNS_A_QUERY)
        for record in instance.get_run_records(
            dg.RunsFilter(run_ids=ids[start : start + _RUNS_A_QUERY])
        )
    }


def delete_run(instance: dg.DagsterInstance, ledger: RunLedger, run_id: str) -> None:
    """Delete a run with its events, and tell the ledger."""
    instance.delete_run(run_id)
    ledger.note_pruned(run_id)


def _ledger_entry(record: dg.RunRecord) -> EndedRun:
    run = record.dagster_run
    partitions = projects_of(run)
    return EndedRun(
        run.run_id,
        run.job_name,
        run.status.value,
        iso_time(record.start_time),
        iso_time(record.end_time),
        partitions[0] if len(partitions) == 1 else "",
        KEPT,
    )
