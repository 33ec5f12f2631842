"""What waits for a run: changed paths, in a bounded queue between two threads, and changed
projects, with debounce, fairness and back-off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

MOST_PATHS = 4_096
"""Distinct paths kept; beyond them only the fact that there were more."""
_MOST_DOUBLINGS = 16


class Changes:
    """Collects changed paths. A path that changes often takes one place, and too many paths
    are never waited for: they make the next `drain` say that a full look is due."""

    def __init__(self, most_paths: int = MOST_PATHS) -> None:
        self._most = most_paths
        self._paths: dict[str, None] = {}
        self._lost = False
        self._woken = False
        self._changed = threading.Condition()

    def add(self, path: str) -> None:
        """Note that a path changed; never blocks."""
        with self._changed:
            if path in self._paths:
                return
            if len(self._paths) < self._most:
                self._paths[path] = None
            else:
                self._lost = True
            self._changed.notify()

    def wait(self, seconds: float) -> None:
        """Return as soon as there is anything to drain, when woken, or after this long."""
        with self._changed:
            self._changed.wait_for(
                lambda: bool(self._paths) or self._lost or self._woken, timeout=seconds
            )
            self._woken = False

    def wake(self) -> None:
        """Make the present or next call of `wait` return."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def gather(self, quiet: float, at_most: float) -> None:
        """If a path waits, return once none was added for `quiet` seconds, at the latest after
        `at_most` seconds: the files of one switch of branch are then drained together."""
        ends = time.monotonic() + at_most
        with self._changed:
            while self._paths and not (self._lost or self._woken) and time.monotonic() < ends:
                if not self._changed.wait(quiet):
                    return

    def drain(self) -> tuple[list[str], bool]:
        """Return the paths that changed since the last call, in the order of their first change,
        and whether some were dropped; clear them."""
        with self._changed:
            paths, lost = list(self._paths), self._lost
            self._paths.clear()
            self._lost = False
        return paths, lost


@dataclass(frozen=True)
class Pace:
    """Times in seconds. Changes that follow each other within `gather` seconds are looked at
    together, the first of them after `gather_at_most` at the latest. A project runs after `quiet`
    seconds without a change, at the latest `at_most` after its first change. It runs again no
    sooner than `rest` times the duration of its last run, so that a busy session leaves room for
    others. A project that failed waits `first_retry`, doubled each time up to `last_retry`; so
    does one whose run succeeded but left sessions held back, unless it has live changes."""

    gather: float = 0.03
    gather_at_most: float = 0.3
    quiet: float = 0.12
    at_most: float = 1.0
    rest: float = 0.5
    most_rest: float = 5.0
    first_retry: float = 5.0
    last_retry: float = 600.0
    busy: float = 1.0


@dataclass
class _Waiting:
    since: float
    last: float
    reason: str
    live: bool


@dataclass
class _Past:
    not_before: float = 0.0
    failures: int = 0
    again_at: float = 0.0
    repeats: int = 0


class Pending:
    """The projects that wait for a run. Used by one thread; `clock` counts seconds."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = pace
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}
        self._past: dict[str, _Past] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, project: object) -> bool:
        return project in self._waiting

    def note(self, project: str, reason: str, *, live: bool = True) -> None:
        """Note a change of a project. `live` changes, seen as they happen, run before others."""
        now = self._clock()
        waiting = self._waiting.get(project)
        if waiting is None:
            self._waiting[project] = _Waiting(now, now, reason, live)
            return
        if live and not waiting.live:
            waiting.since = now
            waiting.live = True
            waiting.reason = reason
        waiting.last = now

    def take(self) -> tuple[str, str] | None:
        """Remove and return the next project that is due, with the reason: live changes first,
        then the project that has waited longest."""
        now = self._clock()
        due = [
            (not waiting.live, waiting.since, project)
            for project, waiting in self._waiting.items()
            if self._due_at(project, waiting) <= now
        ]
        if not due:
            return None
        project = min(due)[2]
        return project, self._waiting.pop(project).reason

    def has_live(self) -> bool:
        """Return True if a live change waits."""
        return any(waiting.live for waiting in self._waiting.values())

    def is_quiet(self) -> bool:
        """Return True if no project is due or about to be due; projects in back-off do not
        count."""
        now = self._clock()
        return not any(
            waiting.live or self._due_at(project, waiting) <= now
            for project, waiting in self._waiting.items()
        )

    def seconds_to_next(self, otherwise: float) -> float:
        """Return how long until a project is due, at most `otherwise`."""
        now = self._clock()
        times = (self._due_at(project, waiting) for project, waiting in self._waiting.items())
        return max(0.0, min([otherwise, *(due_at - now for due_at in times)]))

    def succeeded(self, project: str, seconds: float) -> None:
        """Note that a run succeeded; `seconds` is how long it kept other projects waiting."""
        rest = min(self._pace.rest * seconds, self._pace.most_rest)
        past = self._past.setdefault(project, _Past())
        past.not_before = self._clock() + rest
        past.failures = 0

    def failed(self, project: str) -> float:
        """Note that a run failed, and return in how many seconds it may be tried again."""
        past = self._past.setdefault(project, _Past())
        past.failures += 1
        wait = self._backed_off(past.failures)
        past.not_before = self._clock() + wait
        return wait

    def undone(self, project: str) -> None:
        """Note that a run succeeded but left its work undone, so that the work waits; live changes
        of the project do not."""
        past = self._past.setdefault(project, _Past())
        past.repeats += 1
        past.again_at = self._clock() + self._backed_off(past.repeats)

    def done(self, project: str) -> None:
        """Note that nothing of a project is undone."""
        if past := self._past.get(project):
            past.again_at = 0.0
            past.repeats = 0

    def busy(self, project: str, reason: str) -> None:
        """Put a project back that somebody else is running."""
        past = self._past.setdefault(project, _Past())
        past.not_before = self._clock() + self._pace.busy
        self.note(project, reason)

    def _due_at(self, project: str, waiting: _Waiting) -> float:
        quiet = waiting.last + self._pace.quiet if waiting.live else waiting.since
        due_at = min(quiet, waiting.since + self._pace.at_most)
        past = self._past.get(project)
        if past is None:
            return due_at
        return max(due_at, past.not_before, 0.0 if waiting.live else past.again_at)

    def _backed_off(self, times: int) -> float:
        doubled = self._pace.first_retry * 2.0 ** min(times - 1, _MOST_DOUBLINGS)
        return min(doubled, self._pace.last_retry)
