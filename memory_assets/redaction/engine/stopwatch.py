"""The limit on how long a text may be looked at."""

from __future__ import annotations

from collections.abc import Callable

_BETWEEN_CHECKS = 16


class OutOfTime(Exception):
    """The limit has passed."""


class Watch:
    """Counts down from the first tick. Cheap: the clock is read every few ticks only."""

    __slots__ = ("_clock", "_end", "_limit", "_ticks")

    def __init__(self, clock: Callable[[], float], limit: float) -> None:
        self._clock = clock
        self._limit = limit
        self._end: float | None = None
        self._ticks = 0

    def tick(self) -> None:
        """Count one confirmation.

        Raises:
            OutOfTime: the limit has passed.
        """
        self._ticks += 1
        if self._ticks == 1:
            self._end = self._clock() + self._limit
        elif not self._ticks % _BETWEEN_CHECKS:
            self.check()

    def check(self) -> None:
        """Raise `OutOfTime` if the limit has passed."""
        if self._end is not None and self._clock() > self._end:
            raise OutOfTime
