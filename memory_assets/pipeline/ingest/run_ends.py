"""Notes for the ledger after runs: how they ended, before they are deleted from Dagster's
history, and once a day the sizes of the stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from memory_assets.pipeline.stage.components import Components
from memory_assets.status import RunTimes, runs_in_history, sizes_of
from memory_assets.stores.run_history.superseded import ENDED
from memory_assets.stores.run_ledger import UNKNOWN, EndedRun

RunsById = Callable[[Iterable[str]], Mapping[str, RunTimes] | None]
"""Returns what is known of those of some runs that an instance has; None if it cannot be read."""


def note_run_ends(components: Components, runs: RunsById | None = None) -> None:
    """Note in the ledger how each run ended that made something on record, and delete what it
    has of others that have ended; on a new day, note the sizes of the stores. Does nothing where
    nothing is on record, or where the history cannot be read: `runs`, or else the file of the
    instance that `memory` creates."""
    live = components.catalog.products.runs()
    ledger = components.runs
    waiting = ledger.not_ended(run_id for _, run_id in live) if live else set()
    history: Mapping[str, RunTimes] | None
    if runs is None:
        history = runs_in_history(components.settings.dagster_dir, waiting)
    else:
        history = runs(waiting)
    if not live or history is None:
        return
    for run_id in sorted(waiting):
        job, status, *times = history.get(run_id, ("", UNKNOWN, "", ""))
        if status in (*ENDED, UNKNOWN):
            ledger.note_ended(EndedRun(run_id, job, status, *times))
    ledger.keep_only(live)
    day = datetime.fromtimestamp(components.clock(), UTC).date().isoformat()
    if day not in ledger.sizes():
        stages = components.catalog.products.totals()
        ledger.note_sizes(day, sizes_of(components.data_dir, stages))
