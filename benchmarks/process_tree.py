"""CPU seconds of the processes that a benchmark starts and of all that these start.

Read from /proc, so Linux only. A process that outlives its parent is adopted by this one, so
that a server which detaches itself is counted, too.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
Key = tuple[int, int]
"""Process id and start time, because process ids are reused."""


@dataclass(frozen=True)
class Snapshot:
    """CPU seconds so far. `own`: of each process that is alive; `ended`: of the processes
    that have ended, as their parents know it."""

    own: Mapping[Key, float]
    ended: float

    @property
    def total(self) -> float:
        """Of all processes, those that have ended included."""
        return sum(self.own.values()) + self.ended

    def spent_by_old(self, before: Snapshot) -> float:
        """Return what the processes spent since that were there before and still are; the rest
        of the difference in `total` was spent by new ones."""
        return sum(self.own[key] - before.own[key] for key in self.own.keys() & before.own.keys())


def adopt_orphans() -> None:
    """Become the parent of each descendant whose parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def snapshot() -> Snapshot:
    """Return the CPU seconds of all descendants of this process, not of itself."""
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    own, ended = {}, reaped.ru_utime + reaped.ru_stime
    for pid in family(os.getpid())[1:]:
        with suppress(OSError):
            # proc_pid_stat(5) from field 3 on: 14 utime, 15 stime, 16 cutime, 17 cstime, 22 start
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            own[pid, int(fields[19])] = sum(map(int, fields[11:13])) / _TICKS_PER_SECOND
            ended += sum(map(int, fields[13:15])) / _TICKS_PER_SECOND
    return Snapshot(own, ended)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants, children of its threads included."""
    return [pid, *(each for child in _children(pid) for each in family(child))]


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            with suppress(OSError):
                yield from map(int, (thread / "children").read_text().split())
