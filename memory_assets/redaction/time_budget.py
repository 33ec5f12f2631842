"""The CPU time that the redaction of one record may take.

Python code cannot be stopped from outside without a process or a signal, so the engine stops
itself: loops over what stands in a text read the clock between their steps (`within_budget`,
`check_budget`). Steps themselves are single searches, linear in the text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")
_EVERY = 64


class OutOfTime(Exception):
    """A time limit was exceeded."""


_FRESH, _LONG = 0.05, 1.0
"""Seconds after which a thread's CPU time is read again for a limit of so many seconds: two limits
are set for each text, and the system calls would be a thirtieth of a first ingest."""


class _LastRead(threading.local):
    """What a thread's CPU time was, and when."""

    used = 0.0
    at = float("-inf")


_last_read = _LastRead()


def _used_at_most(now: float) -> float:
    """Return the thread's CPU time, or up to `_FRESH` more: it passes no faster than time."""
    since = now - _last_read.at
    if since > _FRESH:
        _last_read.used, _last_read.at, since = time.thread_time(), now, 0.0
    return _last_read.used + since


class Deadline:
    """The end of some seconds by a clock. A thread's CPU time, which only a system call tells,
    never gets ahead of the time of day: it is read after the seconds have passed by that."""

    __slots__ = ("_clock", "_end", "_not_before", "begin")

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        now = time.monotonic()
        cpu_time = clock is time.thread_time
        self.begin = _used_at_most(now) if cpu_time and seconds >= _LONG else clock()
        """What the clock showed at first."""
        self._not_before = now + seconds if cpu_time else float("-inf")
        self._end = self.begin + seconds

    def is_over(self) -> bool:
        """Whether the seconds have passed."""
        return time.monotonic() > self._not_before and self._clock() > self._end


class _Running(threading.local):
    """The limit that applies in this thread; None without one."""

    limit: Deadline | None = None


_running = _Running()


class TimeBudget:
    """Limits what runs in its block to `seconds` by `clock`, the thread's CPU time.

    Raises:
        OutOfTime: it took longer; raised by the next check.
    """

    __slots__ = ("_before", "_clock", "_seconds")

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds, self._clock = seconds, clock
        self._before: Deadline | None = None

    def __enter__(self) -> Deadline:
        self._before = _running.limit
        _running.limit = limit = Deadline(self._seconds, self._clock)
        return limit

    def __exit__(self, *_: object) -> None:
        _running.limit = self._before


def check_budget() -> None:
    """Raise `OutOfTime` if the time of the block that this runs in is over."""
    limit = _running.limit
    if limit is not None and limit.is_over():
        raise OutOfTime


def within_budget(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items, and check the time before every 64th of them."""
    for number, item in enumerate(items):
        if not number % _EVERY:
            check_budget()
        yield item
