"""`memory ingest --watch`: build the watcher, run projects by Dagster's batch job in this
process, handle signals, print messages."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import dagster as dg
from rich.console import Console

from memory_assets.cli import exit_codes, rendering
from memory_assets.cli.dagster_home import fail_dead_runs, open_instance
from memory_assets.cli.ingest import BatchRuns, search_for_known_secrets
from memory_assets.dagster.partitions import add_keys, projects_of
from memory_assets.dagster.resources import MemoryResource
from memory_assets.errors import safe_reason
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.settings import Settings
from memory_assets.stores import watcher_presence
from memory_assets.watching import Changes, Directories, Outcome, Pace, Watcher

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


def watch_directories(settings: Settings) -> int:
    """Ingest changes until SIGTERM or SIGINT, and return the exit code.

    The current run is finished first. A second signal ends the process at once; the next run
    completes the interrupted one.

    Raises:
        StoreBusy: another process watches for this data directory.
        ConfigurationError: no directory can be read.
    """
    console = rendering.open_console()
    roots = settings.transcript_roots()
    with watcher_presence.watching(settings.data_dir) as state:
        from memory_assets.cli.watch_command import open_runs

        with open_runs(settings) as runs:
            note_versions(runs.components)
            changes = Changes()
            directories = Directories(roots, changes)
            watcher = Watcher(
                runs.components,
                directories,
                changes,
                run=runs.run,
                search=runs.search,
                state=state,
                report=lambda line: console.print(rendering.escaped(line)),
                pace=Pace(),
                look_everywhere_seconds=settings.watch_sweep_seconds,
            )
            reading = ", ".join(f"{agent}: {path}" for agent, path in roots.items())
            console.print(f"Watching {rendering.escaped(reading)}; stop with Ctrl-C.")
            try:
                return _until_stopped(watcher, console)
            finally:
                directories.stop()


def _until_stopped(watcher: Watcher, console: Console) -> int:
    """Run the watcher in a thread, because in the main thread Dagster would end its run on a
    signal; return the exit code."""
    failure: list[Exception] = []

    def watch() -> None:
        try:
            watcher.watch()
        except Exception as error:  # noqa: BLE001 - printed below, with the exit code
            failure.append(error)

    thread = threading.Thread(target=watch, name="watcher")
    with _on_signals(watcher.stop, console):
        thread.start()
        while thread.is_alive():
            thread.join(timeout=0.5)
    if failure:
        console.print(f"[red]error[/red] {rendering.escaped(safe_reason(failure[0]))}")
        return exit_codes.ERROR
    console.print("Stopped.")
    return exit_codes.FINE


@contextmanager
def _on_signals(stop: Callable[[], None], console: Console) -> Iterator[None]:
    asked = False

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(exit_codes.ERROR)
        asked = True
        console.print("Stopping after the current run.")
        stop()

    before = {number: signal.signal(number, take) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
