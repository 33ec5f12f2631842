"""Runs of `memory ingest --watch`: Dagster's batch job in one process that stays loaded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from memory_assets.cli.dagster_home import fail_dead_runs, open_instance
from memory_assets.cli.ingest import BatchRuns, search_for_known_secrets
from memory_assets.dagster.partitions import add_keys, projects_of
from memory_assets.dagster.resources import MemoryResource
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.watching import Outcome

WATCH_TAG = "memory/watch"
"""Tells the watcher's runs from others on Dagster's page."""
_MOST_QUEUED_SECONDS = 60.0
"""A run that nothing has started after this long (no daemon is running) is ignored."""
_BEGUN = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)
_WAITING = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED)


class WatchRuns:
    """Runs projects in this process; the job, the model and the instance stay open."""

    def __init__(self, settings: Settings, instance: dg.DagsterInstance) -> None:
        self._settings = settings
        self._instance = instance
        self.components: Components = MemoryResource(settings).components()
        self._runs = BatchRuns(settings, instance, tags={WATCH_TAG: "true"})

    def run(self, project: str, reason: str) -> Outcome:
        """Bring a project up to date in a run of its own, unless another process is doing so."""
        if self._is_run_elsewhere(project):
            return Outcome(busy=True)
        started = time.perf_counter()
        add_keys(self._instance, [project])
        result = self._runs.run([ProjectPlan(project, reason, "")])
        failed = next(iter(result.failed.values()), "")
        if not failed and result.checks_failed:
            failed = f"check failed: {', '.join(result.checks_failed)}"
        return Outcome(failed=failed, seconds=time.perf_counter() - started)

    def search(self) -> str | None:
        """Search the sessions on record for secrets found since; return the reason if it failed."""
        return search_for_known_secrets(self._settings)

    def _is_run_elsewhere(self, project: str) -> bool:
        wanted = dg.RunsFilter(statuses=[*_BEGUN, *_WAITING])
        return any(
            project in projects_of(record.dagster_run)
            and (
                record.dagster_run.status in _BEGUN
                or time.time() - record.create_timestamp.timestamp() < _MOST_QUEUED_SECONDS
            )
            for record in self._instance.get_run_records(wanted)
        )


@contextmanager
def open_runs(settings: Settings) -> Iterator[WatchRuns]:
    """Yield an object that runs projects; its Dagster instance is open until the block ends."""
    with open_instance(settings) as instance:
        fail_dead_runs(instance)
        yield WatchRuns(settings, instance)
