"""Noting a run of the command line in the ledger, from which Dagster's `ingests_sensor` has it
recorded in Dagster's history.

The ledger also keeps how Dagster's runs ended, after they are deleted from its history, and once a
day the sizes of the stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

from memory_assets.pipeline.stage.components import Components
from memory_assets.status.status import sizes_of
from memory_assets.stores.runs.events import AssetEvent
from memory_assets.stores.runs.ledger import (
    CANCELED,
    ENDED,
    FAILURE,
    PRUNED,
    SUCCESS,
    EndedRun,
    RunLedger,
    Unreported,
    ended_now,
)


class NotedRun:
    """The events of a run. `failure`: why it counts as failed when it ends, "" if not."""

    def __init__(self, ledger: RunLedger, run_id: str, now: Callable[[], float]) -> None:
        self._ledger, self.run_id, self._now = ledger, run_id, now
        self.failure = ""

    def store(self, events: Sequence[AssetEvent]) -> None:
        """Note events for Dagster."""
        at = self._now()
        self._ledger.note_unreported(Unreported(self.run_id, at, event) for event in events)

    def error(self, message: str) -> None:
        """Do nothing: the command line prints each outcome itself."""


@contextmanager
def noted_run(components: Components, job: str, partitions: Sequence[str]) -> Iterator[NotedRun]:
    """Note the block as a run of this process: failed if it raises, canceled by Ctrl-C. Runs whose
    process is gone are noted as failed."""
    ledger = components.runs
    ledger.fail_dead_runs()
    run = NotedRun(ledger, str(uuid4()), components.clock)
    status = FAILURE
    with ledger.under_way(run.run_id, job, partitions):
        try:
            yield run
            status = FAILURE if run.failure else SUCCESS
        except KeyboardInterrupt:
            status = CANCELED
            raise
        finally:
            for begun in ledger.begun(run.run_id):
                ledger.note_ended(ended_now(begun, status))


RunsById = Callable[[Iterable[str]], Mapping[str, EndedRun]]
"""Returns, of runs with these ids, those that a Dagster instance has."""


def note_run_ends(components: Components, runs: RunsById | None = None) -> None:
    """Note in the ledger how each run ended, and delete the runs that no product names any more; on
    a new day, note the sizes of the stores. `runs` returns Dagster's runs; None: leave them."""
    live = components.catalog.products.runs()
    ledger = components.runs
    ledger.fail_dead_runs()
    if runs is not None and (not_ended := ledger.not_ended(run_id for _, run_id in live)):
        ended_runs = runs(not_ended)
        for run_id in sorted(not_ended):
            run = ended_runs.get(run_id, EndedRun(run_id, history=PRUNED))
            if run_id not in ended_runs or run.status in ENDED:
                ledger.note_ended(run)
    if not live:
        return
    ledger.keep_only(live)
    day = datetime.fromtimestamp(components.clock(), UTC).date().isoformat()
    if day not in ledger.sizes():
        ledger.note_sizes(day, sizes_of(components.data_dir))
