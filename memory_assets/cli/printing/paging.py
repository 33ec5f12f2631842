"""Long answers on a terminal, by the pager of the user."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress

import click

_QUIET_LESS = "FRX"
"""Options of less, unless the user has others: no pager for what fits the screen, colours as they
are, and the text stays on the screen."""


def page(shown: Iterable[str]) -> bool:
    """Show lines on standard output through the pager: `$PAGER`, or less where it is installed.
    Returns False, and shows none, if standard output is no terminal or there is no pager; an empty
    `$PAGER` means none."""
    command = shlex.split(os.environ.setdefault("PAGER", "less"))
    if not sys.stdout.isatty() or not command or shutil.which(command[0]) is None:
        return False
    os.environ.setdefault("LESS", _QUIET_LESS)
    with suppress(KeyboardInterrupt):  # of what is on the screen
        click.echo_via_pager("\n".join(shown), color=True)
    return True
