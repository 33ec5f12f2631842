"""Runs that newer runs have superseded, and deleting them.

Each run keeps some 0.3 MB of events a project, and Dagster's
[retention setting](https://docs.dagster.io/deployment/oss/dagster-yaml) is for ticks only. A
run of `ingest_batch` or `ingest_project` makes every asset of its projects and evaluates every
check, and one of `record_ingests` records such a run of the command line, so once newer ones have
succeeded, the state of the partitions does not depend on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice

from memory_assets.dagster.instance_runs import InstanceRuns, RunRecord
from memory_assets.stores.runs.ledger import ENDED
from memory_assets.stores.runs.names import (
    AGENT_MEMORY_JOB,
    BACKFILL_TAG,
    BATCH_TAG,
    INGEST_BATCH,
    INGEST_JOB,
    PART_TAG,
    PARTITION_TAG,
    PRUNE_JOB,
    RECORD_JOB,
    WORKSPACE_JOB,
    projects_of,
)

_WHOLE = (INGEST_BATCH, INGEST_JOB, RECORD_JOB, WORKSPACE_JOB, AGENT_MEMORY_JOB, PRUNE_JOB)
_STILL_IN_USE_SECONDS = 60.0
"""Dagster's daemon and page may still write to, or read, a run that has just ended."""
_FAILED_KEPT_SECONDS = 30 * 86_400.0
"""How long a run that did not succeed is kept, to find out why."""
_MOST_AT_ONCE = 50
"""Runs deleted in one call, so that an old history is deleted in parts."""


def delete_superseded(history: InstanceRuns, names: Sequence[str], keep: int | None) -> int:
    """Delete the runs of projects that the newest `keep` whole runs of each supersede, and
    return their number. With None all are kept. A run for several projects is superseded when
    it is for each of them.

    Not touched are runs that are waiting or under way, that ended after the oldest of those
    kept had begun, or within the last minute; that belong to a backfill under way; and, for
    30 days, those that failed or were cancelled. At most 50 go at once.
    """
    if keep is None:
        return 0
    return _delete(history, superseded_of(history, names, keep))


def delete_prunings(history: InstanceRuns, keep: int) -> int:
    """Delete the runs of the job that deletes runs, but the newest, and return their number."""
    ended = [run for run in history.records(ENDED) if run.job == PRUNE_JOB]
    return _delete(history, _superseded(ended, keep))


def superseded_of(history: InstanceRuns, names: Sequence[str], keep: int) -> Iterator[RunRecord]:
    """Yield the superseded runs of projects, of whatever job; those for several projects only if
    `names` are several."""
    batches = history.records(ENDED, **{BATCH_TAG: "true"})
    superseded = _by_project(history, batches, keep)
    for run in chain.from_iterable(map(superseded, names)):
        if run not in batches and not _is_in_backfill(history, run):
            yield run
    if len(names) > 1:
        yield from _superseded_batches(history, batches, superseded)


def superseded_batches(history: InstanceRuns, keep: int) -> Iterator[RunRecord]:
    """Yield the runs for several projects that newer ones supersede for each of them."""
    batches = history.records(ENDED, **{BATCH_TAG: "true"})
    yield from _superseded_batches(history, batches, _by_project(history, batches, keep))


_ByProject = Callable[[str], Sequence[RunRecord]]


def _by_project(history: InstanceRuns, batches: Sequence[RunRecord], keep: int) -> _ByProject:
    """Return what says which runs of a project are superseded, its own and `batches`."""

    @cache
    def superseded(project: str) -> Sequence[RunRecord]:
        alone = history.records(ENDED, **{PARTITION_TAG: project})
        shared = [run for run in batches if project in projects_of(run)]
        return list(_superseded([*alone, *shared], keep))

    return superseded


def _superseded_batches(
    history: InstanceRuns, batches: Sequence[RunRecord], superseded: _ByProject
) -> Iterator[RunRecord]:
    for run in batches:
        in_all = all(run in superseded(project) for project in projects_of(run))
        if in_all and not _is_in_backfill(history, run):
            yield run


def _is_in_backfill(history: InstanceRuns, run: RunRecord) -> bool:
    """Whether a run belongs to a backfill that is under way."""
    backfill = run.tags.get(BACKFILL_TAG)
    return backfill is not None and history.is_backfill_under_way(backfill)


def _delete(history: InstanceRuns, runs: Iterable[RunRecord]) -> int:
    """Delete runs, at most 50, and return how many."""
    deleted = 0
    for run in islice(runs, _MOST_AT_ONCE):
        history.delete(run.run_id)
        deleted += 1
    return deleted


def _superseded(runs: Sequence[RunRecord], keep: int) -> Iterator[RunRecord]:
    """Yield those of some ended runs that the newest `keep` whole ones among them supersede,
    newest first."""
    ended = sorted(runs, key=lambda run: run.ended, reverse=True)
    kept = [run for run in ended if _is_whole(run)][:keep]
    if len(kept) < keep:
        return
    begun = min(run.started for run in kept)
    now = time.time()
    for run in ended:
        rests = _STILL_IN_USE_SECONDS if run.status == "SUCCESS" else _FAILED_KEPT_SECONDS
        if run not in kept and run.ended <= min(begun, now - rests):
            yield run


def _is_whole(run: RunRecord) -> bool:
    """Whether a run did all that its job is there for: made all assets of its project and
    evaluated all checks, or pruned the history. One that went on where another had failed
    counts as not."""
    return (
        run.status == "SUCCESS"
        and run.job in _WHOLE
        and PART_TAG not in run.tags
        and not run.is_part
        and not run.continues
    )
