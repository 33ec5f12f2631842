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
import time
from pathlib import Path

import pytest

from memory_assets_tests.cli.test_cli import Cli
from memory_assets_tests.command_line import run_here

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
    """Return the lines that a command in the tests' own process writes to a terminal of this size;
    the exit code is one of `codes`, and `own` are environment variables."""
    size = {"COLUMNS": str(columns), "LINES": str(lines)}
    environment = {**cli.own, "TERM": "xterm", "PAGER": "", **size, **own}
    with pytest.MonkeyPatch.context() as patch:
        for name in {"NO_COLOR", "TZ"} - own.keys():
            patch.delenv(name, raising=False)
        if "TZ" in own:
            patch.setenv("TZ", own["TZ"])
        time.tzset()
        done = run_here(environment, *arguments, terminal=True)
    time.tzset()
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout.splitlines()


def on_real_terminal(cli: Cli, *arguments: str, columns: int, lines: int = 24) -> list[str]:
    """Return the same of a process of its own, which asks a real terminal for its size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    outside = {name: value for name, value in cli.environment.items() if name not in _TERMINAL}
    environment = {**outside, "TERM": "xterm", "PAGER": ""}
    process = subprocess.Popen([MEMORY, *arguments], env=environment, stdout=theirs)
    os.close(theirs)
    out = b""
    try:
        while piece := os.read(ours, 65_536):
            out += piece
    except OSError as error:  # Linux reports the end of a terminal so
        assert error.errno == errno.EIO
    os.close(ours)
    assert process.wait() == 0, out.decode()
    return out.decode().splitlines()
