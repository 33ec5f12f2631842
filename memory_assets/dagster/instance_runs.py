"""The runs of a Dagster instance, by its API: what is superseded is the same wherever the
instance keeps its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from memory_assets.stores.runs.ledger import KEPT, EndedRun, RunLedger, iso_time
from memory_assets.stores.runs.names import projects_of

_BACKFILL_ENDED = ("COMPLETED", "FAILED", "CANCELED")
_IDS_AT_ONCE = 500


@dataclass(frozen=True)
class RunRecord:
    """A run on record; times are Unix seconds. `is_part`: it was for some assets, checks or ops of
    its job only; `continues`: it went on where another had failed."""

    run_id: str
    job: str
    status: str
    tags: Mapping[str, str]
    run_config: Mapping[str, Any]
    is_part: bool
    continues: bool
    created: float
    started: float
    ended: float


class InstanceRuns:
    """The runs of an instance, as `superseded.py` looks at them; the ledger is told of those that
    are deleted."""

    def __init__(self, instance: dg.DagsterInstance, ledger: RunLedger) -> None:
        self._instance, self._ledger = instance, ledger

    def records(self, statuses: Sequence[str], **tags: str) -> list[RunRecord]:
        """Return the runs with one of these statuses and all of these tags, newest first."""
        wanted = dg.RunsFilter(statuses=[dg.DagsterRunStatus(name) for name in statuses], tags=tags)
        return [_record(record) for record in self._instance.get_run_records(wanted)]

    def is_backfill_under_way(self, backfill: str) -> bool:
        """Whether a backfill still counts on its runs: one that is gone counts as failed."""
        known = self._instance.get_backfill(backfill)
        return known is not None and not known.status.value.startswith(_BACKFILL_ENDED)

    def delete(self, run_id: str) -> None:
        """Delete a run with its events."""
        self._instance.delete_run(run_id)
        self._ledger.note_pruned(run_id)

    def ended(self, run_ids: Iterable[str]) -> dict[str, EndedRun]:
        """Return those of some runs that the instance still has, ended or not."""
        ids = sorted(run_ids)
        return {
            record.dagster_run.run_id: _as_noted(record)
            for start in range(0, len(ids), _IDS_AT_ONCE)
            for record in self._instance.get_run_records(
                dg.RunsFilter(run_ids=ids[start : start + _IDS_AT_ONCE])
            )
        }


def _as_noted(record: dg.RunRecord) -> EndedRun:
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


def _record(record: dg.RunRecord) -> RunRecord:
    run = record.dagster_run
    created = record.create_timestamp.timestamp()
    return RunRecord(
        run.run_id,
        run.job_name,
        run.status.value,
        tags=run.tags,
        run_config=run.run_config,
        is_part=bool(run.asset_selection or run.asset_check_selection or run.op_selection),
        continues=run.parent_run_id is not None,
        created=created,
        started=record.start_time or created,
        ended=record.end_time or record.update_timestamp.timestamp(),
    )
