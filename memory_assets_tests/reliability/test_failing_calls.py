"""The injector of faults fails the call that it is told to, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.failing_calls import CALLS, FailingCalls, Fault, NoCompiler

_PROGRAM = """
import os, sys
failed = []
for name in ("catalog.db", "keywords.db", "catalog.db"):
    path = sys.argv[1] + "/" + name
    for call in ("open", "write", "fsync", "rename"):
        try:
            if call == "open":
                file = os.open(path, os.O_RDWR | os.O_CREAT)
            elif call == "write":
                os.write(file, b"x")
            elif call == "fsync":
                os.fsync(file)
            else:
                os.rename(path, path + ".new")
        except OSError as error:
            failed.append(f"{name} {call} {error.errno}")
print(*failed, sep=",")
"""


@pytest.fixture
def failing(tmp_path: Path) -> FailingCalls:
    """The injector, or a skipped test with the reason."""
    try:
        return FailingCalls(tmp_path)
    except NoCompiler as error:
        pytest.skip(str(error))


def _failed(failing: FailingCalls, directory: Path) -> str:
    directory.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(directory)],
        env={**os.environ, **failing.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("call", CALLS)
def test_the_nth_call_of_a_store_fails_in_the_directory_alone(
    failing: FailingCalls, tmp_path: Path, call: str
) -> None:
    """With the error asked for, once; nothing fails elsewhere, nor after it is disarmed."""
    data = tmp_path / "data"
    data.mkdir()
    failing.arm(data, Fault(call, "catalog.db", 2, "EACCES"))
    assert _failed(failing, tmp_path / "other") == ""
    assert _failed(failing, data).startswith(f"catalog.db {call} 13")
    assert "catalog.db" in failing.disarm()
    assert _failed(failing, data) == ""


def test_a_lasting_fault_fails_all_later_calls(failing: FailingCalls, tmp_path: Path) -> None:
    """As a disk that is full does, in whatever store."""
    data = tmp_path / "data"
    data.mkdir()
    failing.arm(data, Fault("write", "", 2, "ENOSPC", lasting=True))
    assert _failed(failing, data) == "keywords.db write 28,catalog.db write 28"


def test_calls_are_counted_by_store(failing: FailingCalls, tmp_path: Path) -> None:
    """So that a sweep knows how many there are."""
    data = tmp_path / "data"
    data.mkdir()
    failing.list_calls(data)
    _failed(failing, data)
    failing.disarm()
    listed = failing.listed()
    assert listed["write", "catalog.db"] == 2 and listed["rename", "keywords.db"] == 1
