"""Commands run on a terminal of a given size."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from memory_assets_tests.cli.test_cli import Cli

MEMORY = Path(sys.executable).with_name("memory")
STYLE = re.compile("\x1b\\[[0-9;]*m")
_TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "TERM")


def on_terminal(
    cli: Cli,
    *arguments: str,
    columns: int,
    lines: int = 24,
    codes: tuple[int, ...] = (0,),
    **own: str,
) -> list[str]:
    """Return the lines that a terminal of this size gets, which shows all of standard output; the
    exit code is one of `codes`, and `own` are environment variables."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    outside = {name: value for name, value in cli.environment.items() if name not in _TERMINAL}
    environment = {**outside, "TERM": "xterm", "PAGER": "", **own}
    process = subprocess.Popen([MEMORY, *arguments], env=environment, stdout=theirs)
    os.close(theirs)
    out = b""
    try:
        while piece := os.read(ours, 65_536):
            out += piece
    except OSError as error:  # Linux reports the end of a terminal so
        assert error.errno == errno.EIO
    os.close(ours)
    assert process.wait() in codes, out.decode()
    return out.decode().splitlines()
