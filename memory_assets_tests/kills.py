"""Ending a process at any change of a file, in this process, or at a call, in a fork of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """What ends a process; no handler of ours catches it."""


@contextmanager
def killed_after(changes: int | None) -> Iterator[None]:
    """End the block after so many renames, removals and marks (None: never); nothing is cleaned
    up after that."""
    left = [changes]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **kwargs: Any) -> Any:
            if left[0] is not None:
                if left[0] <= 0:
                    raise Killed
                left[0] -= 1
            return real(*args, **kwargs)

        return change

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink", "touch"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        yield


def killed_at(owner: Any, step: str, after: int, run: Callable[[], object]) -> int:
    """Run something in a fork, which need not load the redactor, and which kills itself in a step
    of `owner` after so many calls; return its exit code. The caller has closed its stores."""
    process = os.fork()
    if not process:
        try:
            setattr(owner, step, _ending(getattr(owner, step), after))
            run()
        finally:  # whatever happens, no test goes on in here
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _ending(step: Any, after: int) -> Any:
    calls = iter(range(after))

    def ends(*given: Any, **named: Any) -> Any:
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*given, **named)

    return ends
