"""Which project is to be run next, and when: debounce, fairness and backing off."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Times in seconds. A project runs once it was `quiet` for so long, at the latest
    `at_most` after its first change; and not again before `rest` times as long as its last
    run took, so that a busy session leaves room for others. A project that failed waits
    `first_retry`, doubled each time up to `last_retry`."""

    quiet: float = 0.15
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
        """Note a change; `live`: just now, so that it goes before what was found behind."""
        now = self._clock()
        waiting = self._waiting.get(project)
        if waiting is None:
            self._waiting[project] = _Waiting(now, now, reason, live)
            return
        if live and not waiting.live:
            waiting.since, waiting.live, waiting.reason = now, True, reason
        waiting.last = now

    def take(self) -> tuple[str, str] | None:
        """Remove and return the next project that is due, with the reason; changes of just
        now first, and among equals who waits longest."""
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

    def seconds_to_next(self, otherwise: float) -> float:
        """Return how long until a project is due, at most `otherwise`."""
        now = self._clock()
        times = (self._due_at(project, waiting) for project, waiting in self._waiting.items())
        return max(0.0, min((at - now for at in times), default=otherwise))

    def succeeded(self, project: str, seconds: float) -> None:
        """Note that a run of so many seconds went well."""
        rest = min(self._pace.rest * seconds, self._pace.most_rest)
        self._past[project] = _Past(self._clock() + rest)

    def failed(self, project: str) -> float:
        """Note that a run failed, and return in how many seconds it may be tried again."""
        past = self._past.setdefault(project, _Past())
        past.failures += 1
        doubled = self._pace.first_retry * 2.0 ** (past.failures - 1)
        wait = min(doubled, self._pace.last_retry)
        past.not_before = self._clock() + wait
        return wait

    def busy(self, project: str, reason: str) -> None:
        """Put a project back that somebody else is running."""
        past = self._past.setdefault(project, _Past())
        past.not_before = self._clock() + self._pace.busy
        self.note(project, reason)

    def failing(self) -> list[str]:
        """Return the projects whose last run failed, sorted."""
        return sorted(project for project, past in self._past.items() if past.failures)

    def _due_at(self, project: str, waiting: _Waiting) -> float:
        quiet = waiting.last + self._pace.quiet if waiting.live else waiting.since
        at = min(quiet, waiting.since + self._pace.at_most)
        past = self._past.get(project)
        return max(at, past.not_before) if past is not None else at
