"""Runs during a forgetting: refuse while one is under way, and erase names from those of Dagster.
Dagster, whose import takes 2 s, is imported only if it ever ran here."""

from __future__ import annotations

import os
from collections.abc import Set
from contextlib import closing
from typing import TYPE_CHECKING

from memory_assets.errors import StoreBusy
from memory_assets.settings import Settings
from memory_assets.stores.runs.ledger import ledger_of

if TYPE_CHECKING:
    from memory_assets.pipeline.removal.forget import Names


def erase_traces(settings: Settings, names: Names) -> int:
    """Remove names from the runs of Dagster, if it has ever run here; return how many runs."""
    if not _has_instance(settings):
        return 0
    from memory_assets.cli.dagster import traces

    return traces.erase_traces(settings, names)


def require_idle(settings: Settings, projects: Set[str]) -> None:
    """Raise `StoreBusy` if a run of one of these projects is waiting or under way."""
    with closing(ledger_of(settings.data_dir)) as ledger:
        for run in ledger.begun():
            if run.is_under_way and not projects.isdisjoint(run.partitions):
                partitions = " and ".join(run.partitions)
                raise StoreBusy(
                    f"run {run.run_id[:8]} of {partitions} is under way; wait until it has ended"
                )
    if _has_instance(settings):
        from memory_assets.cli.dagster import traces

        traces.require_idle(settings, projects)


def _has_instance(settings: Settings) -> bool:
    """Whether Dagster has ever run here, or an instance is named."""
    return settings.dagster_dir.is_dir() or bool(os.environ.get("DAGSTER_HOME"))
