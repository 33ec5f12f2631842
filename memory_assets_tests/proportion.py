"""Whether work grows with its input and not with the square of it, on a machine that others use."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST = 9.0
"""How many times as long four times the input may take; with the square of it, it takes 16."""
_WORTH_COMPARING = 0.5


def in_proportion(step: Callable[[int], object], size: int, tries: int = 3) -> bool:
    """Return whether `step(4 * size)` takes less than `MOST` times the CPU of `step(size)`.

    No bound in seconds, which a slow machine would miss: only what takes half a second or more
    is compared, both sides anew at every try, and one good try is enough.
    """
    for _ in range(tries):
        longer = _cpu_seconds(step, 4 * size)
        if longer < _WORTH_COMPARING or longer < MOST * _cpu_seconds(step, size):
            return True
    return False


def _cpu_seconds(step: Callable[[int], object], size: int) -> float:
    begin = time.thread_time()
    step(size)
    return time.thread_time() - begin
