"""The injector of faults fails the call that it is told to, and no other; and what fails when
SQLite commits did not happen."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
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

_COMMITS = """
import os, sys
from pathlib import Path
from memory_assets.errors import StoreError
from memory_assets.stores.files.sqlite import SqliteStore, connect
path = Path(sys.argv[1])
connection = connect(path)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("PRAGMA synchronous=FULL")
store = SqliteStore(path, connection, "")
told = []
for number in range(3):
    try:
        if number == 0:
            store.write("CREATE TABLE rows (number)")
        store.put("rows", number=number)
        told.append(number)
    except StoreError:
        pass
print(told)
sys.stdout.flush()
os._exit(0)  # as a process that is killed
"""


@pytest.fixture
def failing(tmp_path: Path) -> FailingCalls:
    """The injector, or a skipped test with the reason."""
    try:
        return FailingCalls(tmp_path)
    except NoCompiler as error:
        pytest.skip(str(error))


def _run(failing: FailingCalls, program: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, **failing.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def _failed(failing: FailingCalls, directory: Path) -> str:
    directory.mkdir(exist_ok=True)
    return _run(failing, _PROGRAM, directory)


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


def test_a_commit_that_fails_did_not_happen(failing: FailingCalls, tmp_path: Path) -> None:
    """Whoever opens a database next finds what was told as done and nothing else: also where the
    last fsync of a commit fails, when all of it is in the log."""
    failed = 0
    for nth, lasting in ((1, False), (2, False), (3, False), (4, False), (3, True)):
        data = tmp_path / f"data-{nth}-{lasting}"
        data.mkdir()
        failing.arm(data, Fault("fsync", "journal.db", nth, "ENOSPC", lasting))
        told = json.loads(_run(failing, _COMMITS, data / "journal.db"))
        failed += bool(failing.disarm())
        with closing(sqlite3.connect(data / "journal.db")) as connection:
            made = connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            rows = connection.execute("SELECT number FROM rows").fetchall() if made else []
        assert [number for (number,) in rows] == told, (nth, lasting)
    assert failed == 5
