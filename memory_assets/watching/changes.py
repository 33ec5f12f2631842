"""The paths that changed since somebody looked: a bounded queue between two threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

MOST_PATHS = 4_096
"""Distinct paths kept; beyond them only the fact that there were more."""


@dataclass(frozen=True)
class Drained:
    """Changed paths in the order of their first change; `lost` is True if some were dropped."""

    paths: list[str] = field(default_factory=list)
    lost: bool = False


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

    def drain(self) -> Drained:
        """Return the changes since the last call, and clear them."""
        with self._changed:
            drained = Drained(list(self._paths), self._lost)
            self._paths, self._lost = {}, False
        return drained
