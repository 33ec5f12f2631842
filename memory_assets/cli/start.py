"""The entry point of the console script: Ctrl-C before and after a command, and standard streams
that are closed at the start."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

from memory_assets.cli import INTERRUPTED


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line and the exit code 130: during the imports
    at once, because nothing was begun; during a command when what it holds is released
    (`run_reporting_errors`); before and after one here. At the end it is ignored: it would print a
    traceback while the interpreter stops."""
    _open_closed_streams()
    signal.signal(signal.SIGINT, _end_at_once)
    gc.disable()  # imported modules are never garbage
    from memory_assets.cli.cli import main as run

    gc.freeze()
    gc.enable()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        os.write(2, b"Stopped.\n")
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _open_closed_streams() -> None:
    """Let a standard stream that is closed (`<&-`) be the null device. Python has None for it, on
    which every read and write would fail, and the next file that is opened would get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Stopped before anything was begun.\n")
    os._exit(INTERRUPTED)
