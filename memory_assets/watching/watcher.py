"""The loop of a watcher: events and full looks in, runs of projects out, one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from memory_assets.errors import MemoryAssetsError
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.connection import now
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.under_way import WatcherState, publish_watcher
from memory_assets.watching.followed import Followed, Report
from memory_assets.watching.pending import Changes, Pace, Pending

_LOOK_SECONDS = 1.0
"""Seconds between checks of the directories (a stat a root), and between state reports."""
_QUIET_BEFORE_SEARCH = 5.0
_SECONDS_BETWEEN_PUSHES = 60.0
_KEEP_WARM_SECONDS = 3_600.0
"""The local Chroma server is kept from stopping for so long after the last change."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: why it failed, or that another process runs the project, or that it
    left work for a change that waited."""

    failed: str = ""
    busy: bool = False
    unfinished: bool = False
    seconds: float = 0.0


Run = Callable[[str, str], Outcome]
"""Brings one project up to date, for a reason."""
Search = Callable[[], str | None]
"""Searches the sessions on record for secrets found since; returns why it failed."""


@dataclass
class Watcher:
    """Takes changes in until it is stopped. `watch` belongs to one thread, `stop` to any."""

    components: Components
    followed: Sequence[Followed]
    changes: Changes
    run: Run
    search: Search | None
    state: WatcherState
    report: Report = lambda line: None
    pace: Pace = field(default_factory=Pace)
    push: Callable[[], None] | None = None
    """Brings to its shard what was taken in."""
    look_everywhere_seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._pending = Pending(self.pace, self.clock)
        self._found: dict[str, str] = {}
        self._done: dict[str, str] = {}
        self._next_full_look = 0.0
        self._last_change = self._looked = self.clock()
        self._next_search = 0.0
        self._pushed_runs = 0
        self._next_push = 0.0

    def stop(self) -> None:
        """Let `watch` return once the run in hand has ended."""
        self._stopped.set()
        self.changes.wake()

    def seconds_of_calm(self) -> float:
        """Return the seconds since the last change, 0 if one waits for a run or the watcher is to
        stop. A long run asks this now and then, in the thread of `watch`."""
        self._take_changes()
        self._looked = self.clock()
        makes_way = self._stopped.is_set() or self._pending.has_live()
        return 0.0 if makes_way else self._looked - self._last_change

    def watch(self) -> None:
        """Compare all files, then ingest changes until `stop` is called."""
        full_look: Iterator[None] | None = None
        next_care = 0.0
        while not self._stopped.is_set():
            if self.clock() >= next_care:
                self._take_care()
                next_care = self.clock() + _LOOK_SECONDS
            self._take_changes()
            taken = self._pending.take()
            if taken is not None:
                self._run(*taken)
            if full_look is None and self.clock() >= self._next_full_look:
                full_look = self._look_everywhere()
            if full_look is not None:
                full_look = self._step(full_look)
            elif taken is None and not self._search_if_idle():
                self._push_if_idle()
                self.changes.wait(self._pending.seconds_to_next(max(0.0, next_care - self.clock())))

    def _take_care(self) -> None:
        for source in self.followed:
            if source.refresh():
                self._next_full_look = 0.0
        state = self.state
        watched = [source.directories for source in self.followed]
        state.mode = "polling" if any(tree.mode == "polling" for tree in watched) else "events"
        state.notes = {root: note for tree in watched for root, note in tree.notes.items()}
        state.waiting = len(self._pending)
        publish_watcher(self.components.data_dir, state)
        warm = self.clock() - self._last_change < _KEEP_WARM_SECONDS
        settings = self.components.settings
        has_server = settings.keeps_collections and settings.vectors_url is None
        if warm and has_server and state.runs:
            chroma_server.touch(self.components.data_dir)

    def _take_changes(self) -> None:
        self.changes.gather(self.pace.gather, self.pace.gather_at_most)
        paths, lost = self.changes.drain()
        if lost:
            self.report("too many changes at once: looking everywhere")
            self._next_full_look = 0.0
        if not paths:
            return
        self._last_change = self.clock()
        try:
            for source in self.followed:
                for project in source.projects_of(paths):
                    self._pending.note(project, "changed files")
        except MemoryAssetsError as error:
            self.report(f"{error}; looking everywhere")
            self._next_full_look = 0.0

    def _look_everywhere(self) -> Iterator[None]:
        """Compare every project with its files, one at a step."""
        self._next_full_look = self.clock() + self.look_everywhere_seconds
        for source in self.followed:
            for project, work in source.plans():
                if work is None:
                    self._done.pop(project, None)
                    self._pending.done(project)
                else:
                    self._note_behind(work)
                yield

    def _step(self, full_look: Iterator[None]) -> Iterator[None] | None:
        try:
            next(full_look)
        except StopIteration:
            return None
        except MemoryAssetsError as error:
            self.report(str(error))
            self._next_full_look = self.clock() + self.look_everywhere_seconds
            return None
        return full_look

    def _note_behind(self, work: plan.ProjectPlan) -> None:
        project = work.project
        if project not in self._pending and self._done.get(project) == work.fingerprint:
            # a run went well and left the same work: again, but not at once
            self._pending.undone(project)
        self._found[project] = work.fingerprint
        self._pending.note(project, work.reason, live=False)

    def _run(self, project: str, reason: str) -> None:
        fingerprint = self._found.pop(project, None)
        if fingerprint is None and not any(
            source.still_differ(project) for source in self.followed
        ):
            return  # somebody else took it in meanwhile
        self._looked = self.clock()
        outcome = self.run(project, reason)
        if outcome.busy:  # its changed files are looked at again then
            self._pending.busy(project, reason)
            return
        if outcome.unfinished:  # what is left goes on after the changes that it made way for
            self._pending.note(project, reason, live=False)
            self._found[project] = fingerprint or ""
            return
        for source in self.followed:
            source.taken_in(project)
        state = self.state
        state.runs += 1
        state.last_run_at = now()
        if outcome.failed:
            wait = self._pending.failed(project)
            self._pending.note(project, reason, live=False)
            self._found[project] = fingerprint or ""
            state.failing[project] = outcome.failed
            self.report(f"{project}: {outcome.failed} (again in {wait:.0f} s)")
            return
        state.failing.pop(project, None)
        self._pending.succeeded(project, self.clock() - self._looked)
        if fingerprint is not None:
            self._done[project] = fingerprint
        self.report(f"{project}: {reason}, {outcome.seconds:.2f} s")

    def _search_if_idle(self) -> bool:
        """Search for secrets found since, once it is quiet; whether that was done."""
        earliest = max(self._next_search, self._last_change + _QUIET_BEFORE_SEARCH)
        if self.search is None:
            return False
        if not self._pending.is_quiet() or self.clock() < earliest:
            return False
        self._next_search = self.clock() + _QUIET_BEFORE_SEARCH
        try:
            if not recheck.is_due(self.components):
                return False
            failed = self.search()
            if failed is not None:
                self.report(f"search for known secrets: {failed}")
                self._next_search = self.clock() + self.look_everywhere_seconds
            for work in plan.plan_affected(self.components):
                self._note_behind(work)
        except MemoryAssetsError as error:
            self.report(str(error))
            return False
        return True

    def _push_if_idle(self) -> None:
        """Push what was taken in since, at most once a minute."""
        if self.push is None or self.state.runs == self._pushed_runs:
            return
        if self._pending.is_quiet() and self.clock() >= self._next_push:
            self._pushed_runs = self.state.runs
            self._next_push = self.clock() + _SECONDS_BETWEEN_PUSHES
            self.push()
