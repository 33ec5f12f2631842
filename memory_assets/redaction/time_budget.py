"""The CPU time that the redaction of one record may take.

Python code cannot be stopped from outside without a process or a signal, so the engine stops
itself: loops over the parts of a text check the time between their steps (`within_budget`,
`check_budget`). Each step is a single search, linear in the text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")
_EVERY = 64
"""Items between two checks of the time."""


class OutOfTime(Exception):
    """A time limit was exceeded."""


_FRESH = 0.05
"""Seconds for which a reading of a thread's CPU time is used again. Two limits are set for each
text, and reading it each time takes 2 % of redaction."""
_LONG = 1.0
"""Seconds of a limit from which such a reading is exact enough."""


class _LastRead(threading.local):
    """The last reading of a thread's CPU time: seconds `used` at the monotonic time `at`."""

    used = 0.0
    at = float("-inf")


_last_read = _LastRead()


def _cpu_time_estimate(monotonic: float) -> float:
    """Return the thread's CPU time at this monotonic time in seconds, too high by at most `_FRESH`:
    CPU time passes no faster than real time."""
    elapsed = monotonic - _last_read.at
    if elapsed > _FRESH:
        _last_read.used = time.thread_time()
        _last_read.at = monotonic
        elapsed = 0.0
    return _last_read.used + elapsed


class Deadline:
    """The end of a number of seconds by a clock. Reading a thread's CPU time needs a system call;
    as it passes no faster than real time, it is first read when that many real seconds are over."""

    __slots__ = ("_clock", "_end", "_not_before", "begin")

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        started = time.monotonic()
        cpu_time = clock is time.thread_time
        self.begin = _cpu_time_estimate(started) if cpu_time and seconds >= _LONG else clock()
        """The clock's reading at the start, in seconds."""
        self._not_before = started + seconds if cpu_time else float("-inf")
        self._end = self.begin + seconds

    def is_over(self) -> bool:
        """Whether the seconds have passed."""
        return time.monotonic() > self._not_before and self._clock() > self._end


class _Running(threading.local):
    """The limit that applies in this thread, if any."""

    limit: Deadline | None = None


_running = _Running()


class TimeBudget:
    """A context manager that limits its block to `seconds` by `clock`, the thread's CPU time.

    Raises:
        OutOfTime: the block took longer; raised by the next check in it.
    """

    __slots__ = ("_before", "_clock", "_seconds")

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._before: Deadline | None = None

    def __enter__(self) -> Deadline:
        self._before = _running.limit
        _running.limit = limit = Deadline(self._seconds, self._clock)
        return limit

    def __exit__(self, *_: object) -> None:
        _running.limit = self._before


def check_budget() -> None:
    """Raise `OutOfTime` if the time of the innermost `TimeBudget` is over."""
    limit = _running.limit
    if limit is not None and limit.is_over():
        raise OutOfTime


def within_budget(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items, and check the time before every 64th of them."""
    for number, item in enumerate(items):
        if not number % _EVERY:
            check_budget()
        yield item
