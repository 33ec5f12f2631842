"""Long answers on a terminal, by the pager of the user."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress

_QUIET_LESS = "FRX"
"""Options of less, unless the user has others: no pager for what fits the screen, colours as they
are, and the text stays on the screen."""


def page(shown: Iterable[str]) -> bool:
    """Show lines on standard output through the pager: `$PAGER`, or less where it is installed.
    Returns False, and shows none, if standard output is no terminal or there is no pager; an empty
    `$PAGER` means none."""
    command = _pager() if sys.stdout.isatty() else None
    if command is None:
        return False
    sys.stdout.flush()
    environment = {"LESS": _QUIET_LESS, **os.environ}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as pager:
        # The user may leave before the end, or interrupt what is on the screen.
        with suppress(BrokenPipeError, KeyboardInterrupt):
            pager.communicate("".join(f"{line}\n" for line in shown).encode())
        _wait(pager)
    return True


def _wait(pager: subprocess.Popen[bytes]) -> None:
    while True:
        with suppress(KeyboardInterrupt):  # it is the pager's
            pager.wait()
            return


def _pager() -> list[str] | None:
    """Return the command of the pager, None if there is none."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    return command if command and shutil.which(command[0]) else None
