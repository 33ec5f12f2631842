"""Programs that tests run. `memory` in the tests' own process: where what a command does is the
matter and not how its process starts, this saves the imports, 6 s of CPU for an ingest."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli import start
from memory_assets.settings import Settings

_SET_BY_INGEST = ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY")


def run_here(
    environment: Mapping[str, str], *arguments: str, umask: int = 0o022, terminal: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command under these variables, beside those of the tests; the environment and the
    umask, which it sets, are put back. What it prints must be UTF-8. To the command, standard
    output is a `terminal` if that is said, of the size in COLUMNS and LINES."""
    out = (_Terminal if terminal else io.TextIOWrapper)(io.BytesIO(), "utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    code = 0
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in _SET_BY_INGEST:
            patch.setenv(name, "to be put back")
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["memory", *arguments])
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        stack.callback(os.umask, os.umask(umask))
        stack.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        try:
            start.main()
        except SystemExit as ended:
            code = int(str(ended.code or 0))
    printed = (_text(each) for each in (out, err))
    return subprocess.CompletedProcess(arguments, code, *printed)


def run_program(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program that must succeed, in a process of its own; what it prints is kept as text."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def run_code(code: str, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python code that must succeed, in a process of its own."""
    return run_program([sys.executable, "-c", code, *arguments], **options)


def run_at_once(count: int, code: str, argument: str | Path) -> list[str]:
    """Run Python code in so many processes, which go on together where it reads standard input to
    its end, and return what each prints; none may print an error."""
    command, pipe = [sys.executable, "-c", code, argument], subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for _ in range(count)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    printed = [process.communicate() for process in processes]
    assert [error for _, error in printed if error] == []
    return [output.strip() for output, _ in printed]


class _Terminal(io.TextIOWrapper):
    """What is written to it is kept; whoever asks is told that somebody looks at it."""

    def isatty(self) -> bool:
        """Return True, as a terminal does."""
        return True


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the variables that say where a memory and its transcripts are."""
    roots = {"PROJECTS": settings.projects_dir, "CODEX": settings.codex_dir, "PI": settings.pi_dir}
    named = {
        f"MEMORY_{name}_DIR": os.pathsep.join(map(str, paths))
        for name, paths in roots.items()
        if paths
    }
    return {"MEMORY_DATA_DIR": str(settings.data_dir), **named}


def _text(stream: io.TextIOWrapper) -> str:
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode()
