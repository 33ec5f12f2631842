"""The CPU time that the redaction of one record may take.

Python code cannot be stopped from outside without a process or a signal, so the engine stops
itself: loops over what stands in a text read the clock between their steps (`within_budget`,
`check_budget`). Steps themselves are single searches, linear in the text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_Item = TypeVar("_Item")
_EVERY = 64


class OutOfTime(Exception):
    """A time limit was exceeded."""


class _Running(threading.local):
    """The limit that applies in this thread: when it ends by the clock, None without one."""

    end: float | None = None
    clock: Callable[[], float] = time.thread_time


_running = _Running()


@contextmanager
def time_budget(seconds: float, clock: Callable[[], float] = time.thread_time) -> Iterator[None]:
    """Limit what runs in this block to `seconds` by `clock`, the thread's CPU time.

    Raises:
        OutOfTime: it took longer; raised by the next check.
    """
    before = _running.end, _running.clock
    _running.end, _running.clock = clock() + seconds, clock
    try:
        yield
    finally:
        _running.end, _running.clock = before


def check_budget() -> None:
    """Raise `OutOfTime` if the time of the block that this runs in is over."""
    if _running.end is not None and _running.clock() > _running.end:
        raise OutOfTime


def within_budget(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items, and check the time before every 64th of them."""
    for number, item in enumerate(items):
        if not number % _EVERY:
            check_budget()
        yield item
