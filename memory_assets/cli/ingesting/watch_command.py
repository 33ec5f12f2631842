"""`memory ingest --watch` and `memory index --watch`: build the watcher, run projects in this
process, handle signals, print messages."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from types import FrameType

from rich.console import Console

from memory_assets.cli import exit_codes
from memory_assets.cli.ingesting.ingest import (
    IngestResult,
    index_agent_memory,
    index_workspace,
    run_plans,
    search_for_known_secrets,
)
from memory_assets.cli.printing import rendering
from memory_assets.errors import MemoryAssetsError, StoreBusy, safe_reason
from memory_assets.paths import roots_in_words
from memory_assets.pipeline.checks.independent_scan import load_independent_scanner
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.scan.on_disk import NO_DIRECTORY, require_directories
from memory_assets.pipeline.stage.components import Components, components_of
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.project_names import with_spoken_projects
from memory_assets.settings import Settings
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.under_way import WatcherState, watching
from memory_assets.stores.workspaces import Workspaces, is_workspace
from memory_assets.watching.directories import Directories
from memory_assets.watching.followed import Documents, Followed, Journal, Transcripts
from memory_assets.watching.pending import Changes, Pace
from memory_assets.watching.watcher import Outcome, Watcher


class WatchRuns:
    """Runs projects in this process; the stores and the model stay open."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.components: Components = components_of(settings)
        self.seconds_of_calm: Callable[[], float] = lambda: math.inf

    def run(self, project: str, reason: str) -> Outcome:
        """Bring a project up to date in a run of its own, unless another process is doing so."""
        started = time.perf_counter()
        if project in self.components.runs.busy_partitions():
            return Outcome(busy=True)
        work = ProjectPlan(project, reason, "")
        if is_workspace(project):
            calm = self.seconds_of_calm
            indexed = index_workspace(self._settings, work, seconds_of_calm=calm)
            result: IngestResult = indexed
            if indexed.unfinished and not indexed.failed:
                return Outcome(unfinished=True)
        elif is_agent_memory(project):
            result = index_agent_memory(self._settings, work)
        else:
            result = run_plans(self._settings, [work])
        failed = next(iter(result.failed.values()), "")
        if not failed and result.checks_failed:
            failed = f"check failed: {', '.join(result.checks_failed)}"
        return Outcome(failed=failed, seconds=time.perf_counter() - started)

    def search(self) -> str | None:
        """Search the sessions on record for secrets found since; return the reason if it failed."""
        return search_for_known_secrets(self._settings)


def watch_directories(settings: Settings) -> int:
    """Ingest changes of transcripts and of the workspaces on record until SIGTERM or SIGINT, and
    return the exit code. If another process does so, say which, and return at once.

    The current run is finished first, of a workspace the part that is under way. A second signal
    ends the process at once; the next run completes the interrupted one.

    Raises:
        ConfigurationError: no directory can be read.
    """
    console = rendering.open_console()
    roots = require_directories(components_of(settings))
    with ExitStack() as presence:
        try:
            state = presence.enter_context(watching(settings.data_dir))
        except StoreBusy as error:
            console.print(rendering.escaped(f"{error}."))
            return exit_codes.FINE
        changes, runs = Changes(), WatchRuns(settings)
        report = _report(console, runs.components)
        directories = Directories(chain.from_iterable(roots.values()), changes)
        transcripts = Transcripts(runs.components, directories, report)
        documents = Documents(runs.components, changes, report)
        journal = Journal(runs.components, changes)
        followed: list[Followed] = [transcripts, documents, journal]
        watcher = _watcher(settings, runs, followed, changes, state, report)
        watcher.search = runs.search
        if settings.shard is not None:
            from memory_assets.cli.shard_commands import push_after  # its parser takes .1 s

            watcher.push = partial(push_after, settings)
        if not roots:
            console.print(NO_DIRECTORY)
        console.print(f"Watching {rendering.escaped(roots_in_words(roots))}; stop with Ctrl-C.")
        try:
            return _until_stopped(watcher, console)
        finally:
            transcripts.directories.stop()
            documents.stop()


def watch_workspaces(settings: Settings) -> int:
    """Index changes of the workspaces on record until SIGTERM or SIGINT, and return the exit code.
    If another process does so, say which, and return at once: it follows new workspaces, too."""
    console = rendering.open_console()
    changes, runs = Changes(), WatchRuns(settings)
    report = _report(console, runs.components)
    documents = Documents(runs.components, changes, report)
    try:
        state = documents.become_watcher()
    except StoreBusy as error:
        console.print(rendering.escaped(f"{error}. It follows this workspace, too."))
        return exit_codes.FINE
    try:
        watcher = _watcher(settings, runs, [documents], changes, state, report)
        names = ", ".join(str(workspace.root) for workspace in Workspaces(settings.data_dir).all())
        console.print(f"Watching {rendering.escaped(names)}; stop with Ctrl-C.")
        return _until_stopped(watcher, console)
    finally:
        documents.stop()


def _report(console: Console, components: Components) -> Callable[[str], None]:
    """Return what prints a line, in which projects have the names that readers are told."""

    def report(line: str) -> None:
        spoken = components.catalog.spoken_projects()
        console.print(rendering.escaped(with_spoken_projects(line, spoken)))

    return report


def _watcher(
    settings: Settings,
    runs: WatchRuns,
    followed: Sequence[Followed],
    changes: Changes,
    state: WatcherState,
    report: Callable[[str], None],
) -> Watcher:
    note_versions(runs.components)
    threading.Thread(target=load_engines, args=(runs.components,), daemon=True).start()
    watcher = Watcher(
        runs.components,
        followed,
        changes,
        run=runs.run,
        search=None,
        state=state,
        report=report,
        pace=Pace(),
        look_everywhere_seconds=settings.watch_sweep_seconds,
    )
    runs.seconds_of_calm = watcher.seconds_of_calm
    return watcher


def load_engines(components: Components) -> None:
    """Load redactor, scanner and model, which take a second, so that the first change is found as
    soon as later ones."""
    with suppress(MemoryAssetsError):  # raised again when they are needed
        components.redactor.redact("ready")
        load_independent_scanner()
        if components.embeds and components.embedder.in_process:
            components.embedder.embed(["ready"])


def _until_stopped(watcher: Watcher, console: Console) -> int:
    """Run the watcher in a thread, so that a signal does not interrupt its run; return the exit
    code."""
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
    is_stopping = False

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            os._exit(exit_codes.ERROR)
        is_stopping = True
        console.print("Stopping after the current run.")
        stop()

    before = {number: signal.signal(number, take) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
