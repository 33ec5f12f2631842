"""`memory ingest --watch`: build the watcher, handle signals, print messages."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console

from memory_assets.cli import exit_codes, rendering
from memory_assets.errors import safe_reason
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.settings import Settings
from memory_assets.stores import watcher_presence
from memory_assets.watching import Changes, Directories, Pace, Watcher


def watch_directories(settings: Settings, *, polling: bool = False) -> int:
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
        from memory_assets.cli.watch_runs import open_runs

        with open_runs(settings) as runs:
            note_versions(runs.components)
            changes = Changes()
            directories = Directories(roots, changes, polling=polling)
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
