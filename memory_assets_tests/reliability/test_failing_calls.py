"""What fails when SQLite commits did not happen."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.failing_calls import CHANGE, FailingCalls, Fault, NoCompiler
from memory_assets_tests.command_line import run_code

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
