"""The entry point of the console script: what Ctrl-C does before and after a command."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from memory_assets.cli import INTERRUPTED


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line and the exit code 130: at once while it is
    being imported, when nothing was begun; else as the command unwinds, or here, before one begins
    and while what stopped one is said. When that has ended, only the interpreter's own end is left,
    which an interrupt would fill with a traceback."""
    signal.signal(signal.SIGINT, _end_at_once)
    from memory_assets.cli.plain_commands import run

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        os.write(2, b"Stopped.\n")
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Stopped before anything was begun.\n")
    os._exit(INTERRUPTED)
