"""Ending a process at any change of a file, in this process."""

from __future__ import annotations

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
