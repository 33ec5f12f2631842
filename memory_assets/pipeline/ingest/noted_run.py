"""A run of the command line, noted in the ledger; when Dagster is there, its sensor
`ingests_sensor` has what came of it recorded in Dagster's catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.runs.events import AssetEvent
from memory_assets.stores.runs.ledger import FAILURE, SUCCESS, RunLedger, Unreported, ended


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
        """Do nothing: who runs it is told of each outcome."""


@contextmanager
def noted_run(components: Components, job: str, partitions: Sequence[str]) -> Iterator[NotedRun]:
    """Note a run of this process for a block; an error in it is the run's, and raised. Runs whose
    process is gone count as failed from now on."""
    ledger = components.runs
    ledger.fail_dead_runs()
    run = NotedRun(ledger, str(uuid4()), components.clock)
    ledger.note_begun(run.run_id, job, partitions)
    status = FAILURE
    try:
        yield run
        status = FAILURE if run.failure else SUCCESS
    finally:
        for begun in ledger.begun(run.run_id):
            ledger.note_ended(ended(begun, status))
