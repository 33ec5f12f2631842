"""The injector of faults fails the call that it is told to, and no other; and what fails when
SQLite commits did not happen."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.failing_calls import CALLS, CHANGE, FailingCalls, Fault, NoCompiler
from memory_assets_tests.command_line import run_code

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
    except StoreError as error:
        if "not known" in str(error):
            told.append(-1)
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
    done = run_code(program, str(path), env={**os.environ, **failing.environment})
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
    for nth in (1, 2, 3, 4):
        data = tmp_path / f"data-{nth}"
        data.mkdir()
        failing.arm(data, Fault("fsync", "journal.db", nth, "ENOSPC"))
        told = json.loads(_run(failing, _COMMITS, data / "journal.db"))
        failed += bool(failing.disarm())
        assert _rows(data / "journal.db") == told, nth
    assert failed == 4


def test_a_commit_that_cannot_be_taken_back_says_so(failing: FailingCalls, tmp_path: Path) -> None:
    """Where nothing can be written any more from its last fsync on, nobody knows what is stored."""
    counted = tmp_path / "counted"
    counted.mkdir()
    failing.list_calls(counted)
    _run(failing, _COMMITS, counted / "journal.db")
    failing.disarm()
    changes = failing.listed()[CHANGE, ""]
    unknown = set[bool]()
    for nth in range(changes - 4, changes + 1):
        data = tmp_path / str(nth)
        data.mkdir()
        failing.arm(data, Fault(CHANGE, "journal.db", nth, "EROFS", lasting=True))
        told = json.loads(_run(failing, _COMMITS, data / "journal.db"))
        failing.disarm()
        unknown.add(-1 in told)
        if -1 not in told:
            assert _rows(data / "journal.db") == told, nth
    assert unknown == {False, True}


def _rows(path: Path) -> list[int]:
    """Return the numbers in a database, as whoever opens it next finds them."""
    with closing(sqlite3.connect(path)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            return []
        return [number for (number,) in connection.execute("SELECT number FROM rows")]
