"""Commands run on a terminal of a given size."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from memory_assets_tests.cli.test_cli import Cli
from memory_assets_tests.command_line import run_here

MEMORY = Path(sys.executable).with_name("memory")
STYLE = re.compile("\x1b\\[[0-9;]*m")
_CONTROL = re.compile("\x1b\\[[0-9;?]*[a-zA-Z]")
_SIZE = ("COLUMNS", "LINES")
_SECONDS = 120


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


class Terminal:
    """A command in a process of its own, on a terminal that it leads: Ctrl-C, and that the terminal
    is closed, reach it. What it shows is without styles."""

    def __init__(
        self, environment: Mapping[str, str], *arguments: str, columns: int = 80, lines: int = 24
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        own = {name: value for name, value in environment.items() if name not in _SIZE}
        self.process = subprocess.Popen(
            [MEMORY, *arguments],
            env={"TERM": "xterm", **own},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._shown = ""

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._ours, keys.encode())

    def until(self, wanted: str) -> str:
        """Return what was shown up to a text."""
        while wanted not in self._shown:
            self._shown += self._read()
        found, _, self._shown = self._shown.partition(wanted)
        return found + wanted

    def since(self) -> str:
        """Return what was shown after that by now."""
        while select.select([self._ours], [], [], 0)[0]:
            self._shown += self._read()
        return self._shown

    def close(self) -> None:
        """Close the terminal."""
        os.close(self._ours)

    def end(self) -> tuple[int, str]:
        """Return the exit code, and what was shown last."""
        while piece := self._read():
            self._shown += piece
        self.close()
        return self.process.wait(_SECONDS), self._shown

    def _read(self) -> str:
        assert select.select([self._ours], [], [], _SECONDS)[0], f"silent after {self._shown!r}"
        try:
            return _CONTROL.sub("", os.read(self._ours, 65_536).decode("utf-8", "replace"))
        except OSError as error:  # Linux reports the end of a terminal so
            assert error.errno == errno.EIO
            return ""
