"""The time limit of scanning one text."""

from __future__ import annotations

from collections.abc import Callable

_BETWEEN_CHECKS = 16


class OutOfTime(Exception):
    """The time limit was exceeded."""


class Watch:
    """A time limit that starts with the first tick. Cheap: the clock is read only every few
    ticks."""

    __slots__ = ("_clock", "_end", "_limit", "_ticks")

    def __init__(self, clock: Callable[[], float], limit: float) -> None:
        self._clock = clock
        self._limit = limit
        self._end: float | None = None
        self._ticks = 0

    def tick(self) -> None:
        """Count one confirmation, and check the limit every few of them.

        Raises:
            OutOfTime: the limit has passed.
        """
        self._ticks += 1
        if self._ticks == 1:
            self._end = self._clock() + self._limit
        elif not self._ticks % _BETWEEN_CHECKS:
            self.check()

    def check(self) -> None:
        """Raise `OutOfTime` if the limit is exceeded."""
        if self._end is not None and self._clock() > self._end:
            raise OutOfTime
