"""Child processes that end with their parent.

Each child leads a process group, which is ended as a whole, so that processes started by
the child, such as Dagster's run workers, end too.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType

_POLL_SECONDS = 0.2
_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when the thread that started it ends."""


@dataclass
class ChildProcesses:
    """A context that ends its processes on exit: by SIGTERM, and by SIGKILL after
    `grace_seconds`."""

    grace_seconds: float
    ended: str = ""
    """Name of a process that ended by itself, once `watch` has seen it."""
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> ChildProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all processes and whatever they started."""
        self._closing.set()
        for process in self._running.values():
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + self.grace_seconds
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0.0))
        for process in self._running.values():
            _signal_group(process, signal.SIGKILL)
            process.wait()

    def start(self, name: str, module_and_arguments: Sequence[str], directory: Path) -> None:
        """Start `python -m MODULE ARGUMENTS...` in a directory, under a name for messages."""
        # No signal may end this process between the start and the note of it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
        try:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", *module_and_arguments],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=partial(_begin, before),
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; return False when a process has ended before, or when
        the time is over."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._first_ended() or time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def watch(self, then: Callable[[], None]) -> None:
        """Call `then`, in another thread, when a process ends by itself."""

        def look() -> None:
            while not self._closing.wait(_POLL_SECONDS):
                self.ended = self._first_ended()
                if self.ended:
                    then()
                    return

        threading.Thread(target=look, daemon=True).start()

    def _first_ended(self) -> str:
        names = (name for name, process in self._running.items() if process.poll() is not None)
        return next(names, "")


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a process and its group, whose members may outlive it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _begin(mask: Iterable[int]) -> None:
    """In a new process: take signals as the parent did, and on Linux ask for SIGTERM when the
    parent is gone, even by SIGKILL."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
