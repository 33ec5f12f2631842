"""Long answers on a terminal, by the pager of the user."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress

from memory_assets.cli import rendering

_QUIET_LESS = "FRX"
"""Options of less, unless the user has others: no pager for what fits the screen, colours as they
are, and the text stays on the screen."""


def print_paged(lines: Iterable[str]) -> None:
    """Print lines on standard output, through the pager if that is a terminal: `$PAGER`, or less
    where it is installed. An empty `$PAGER` means none."""
    command = _pager() if sys.stdout.isatty() else None
    if command is None:
        rendering.print_lines(lines)
        return
    sys.stdout.flush()
    shown = rendering.shown_lines(lines, sys.stdout)
    environment = {"LESS": _QUIET_LESS, **os.environ}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as pager:
        # The user may leave before the end, or interrupt what is on the screen.
        with suppress(BrokenPipeError, KeyboardInterrupt):
            pager.communicate("".join(f"{line}\n" for line in shown).encode())
        _wait(pager)


def _wait(pager: subprocess.Popen[bytes]) -> None:
    while True:
        with suppress(KeyboardInterrupt):  # it is the pager's
            pager.wait()
            return


def _pager() -> list[str] | None:
    """Return the command of the pager, None if there is none."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    return command if command and shutil.which(command[0]) else None
