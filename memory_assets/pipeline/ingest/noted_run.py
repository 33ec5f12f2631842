"""A run of the command line, noted in the ledger; when Dagster is there, its sensor
`ingests_sensor` has what came of it recorded in Dagster's catalogue.

The ledger also has how runs of Dagster ended, before they are deleted from its history, and once a
day the sizes of the stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

from memory_assets.pipeline.stage.components import Components
from memory_assets.status import sizes_of
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
    ended,
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
        """Do nothing: who runs it is told of each outcome."""


@contextmanager
def noted_run(components: Components, job: str, partitions: Sequence[str]) -> Iterator[NotedRun]:
    """Note a run of this process for a block; an error in it is the run's, and raised; Ctrl-C
    cancels it. Runs whose process is gone count as failed from now on."""
    ledger = components.runs
    ledger.fail_dead_runs()
    run = NotedRun(ledger, str(uuid4()), components.clock)
    ledger.note_begun(run.run_id, job, partitions)
    status = FAILURE
    try:
        yield run
        status = FAILURE if run.failure else SUCCESS
    except KeyboardInterrupt:
        status = CANCELED
        raise
    finally:
        for begun in ledger.begun(run.run_id):
            ledger.note_ended(ended(begun, status))


RunsById = Callable[[Iterable[str]], Mapping[str, EndedRun]]
"""Returns what is known of those of some runs that a Dagster instance has."""


def note_run_ends(components: Components, runs: RunsById | None = None) -> None:
    """Note in the ledger how each run ended, and delete what it has of those that made nothing on
    record; on a new day, note the sizes of the stores. Of Dagster's runs only `runs` can tell."""
    live = components.catalog.products.runs()
    ledger = components.runs
    ledger.fail_dead_runs()
    if runs is not None and (waiting := ledger.not_ended(run_id for _, run_id in live)):
        known = runs(waiting)
        for run_id in sorted(waiting):
            run = known.get(run_id, EndedRun(run_id, history=PRUNED))
            if run_id not in known or run.status in ENDED:
                ledger.note_ended(run)
    if not live:
        return
    ledger.keep_only(live)
    day = datetime.fromtimestamp(components.clock(), UTC).date().isoformat()
    if day not in ledger.sizes():
        ledger.note_sizes(day, sizes_of(components.data_dir))
