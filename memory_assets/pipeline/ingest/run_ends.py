"""Notes for the ledger after runs: how those of Dagster ended, before they are deleted from its
history, and once a day the sizes of the stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from memory_assets.pipeline.stage.components import Components
from memory_assets.status import sizes_of
from memory_assets.stores.runs.ledger import ENDED, PRUNED, EndedRun

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
        stages = components.catalog.products.totals()
        ledger.note_sizes(day, sizes_of(components.data_dir, stages))
