"""Faults from outside and calls that fail: each is told plainly, nothing is lost, the next run
completes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import memory_assets.embedding as embedding
from benchmarks.failing_calls import CHANGE, FailingCalls, Fault, NoCompiler
from benchmarks.fault_sweep import Sweep
from memory_assets.errors import StoreError
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.command_line import environment_of, run_code
from memory_assets_tests.conftest import forget_own_settings
from memory_assets_tests.reliability.conftest import Subject

MEMORY = Path(sys.executable).parent / "memory"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB (tmpfs); skips where mounting is not permitted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a tmpfs is not permitted here")
    yield disk
    chroma_server.stop(disk / "data")
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _remount(disk: Path, options: str) -> None:
    """Read-only it becomes once nobody has a file open, which a server that was stopped may
    have for another moment."""
    command = ["mount", "-o", f"remount,{options}", str(disk)]
    deadline = time.monotonic() + 120
    while subprocess.run(command, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, "somebody still has files open"
        time.sleep(0.1)


def _memory(subject: Subject, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    settings = replace(subject.components.settings, data_dir=subject.data_dir)
    environment = {**os.environ, **environment_of(settings), **given}
    return subprocess.run(
        [str(MEMORY), *arguments], env=environment, capture_output=True, text=True, check=False
    )


def _says(done: subprocess.CompletedProcess[str], *words: str) -> None:
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "Traceback" not in said
    for word in words:
        assert word in said


@pytest.mark.long
def test_a_full_disk_is_told_and_the_next_ingest_completes(
    subject: Subject, small_disk: Path
) -> None:
    """3 MB are not enough; with more, a plain re-run takes everything in. Then the disk is
    made read-only: an ingest is refused, nothing changes."""
    at = {"MEMORY_DATA_DIR": str(small_disk / "data")}
    _says(_memory(subject, "ingest", **at))
    _remount(small_disk, "size=300m")
    done = _memory(subject, "ingest", **at)
    assert done.returncode == 0, done.stdout + done.stderr
    chroma_server.stop(small_disk / "data")
    _remount(small_disk, "ro")
    _says(_memory(subject, "ingest", "--full", **at))
    _remount(small_disk, "rw")
    assert _memory(subject, "search", "ledger", **at).returncode == 0


def test_a_chroma_url_that_nobody_answers_is_told(subject: Subject) -> None:
    """The command names the URL and what to look at."""
    url = "http://127.0.0.1:9"
    done = _memory(subject, "cross-query", "ledger", "--collection", "docs", MEMORY_CHROMA_URL=url)
    _says(done, url)


@pytest.mark.parametrize(
    ("name", "value"),
    [("MEMORY_AGENTS", "nobody"), ("MEMORY_MAX_FILE_BYTES", "x"), ("MEMORY_CHROMA_URL", "x")],
)
def test_a_wrong_setting_is_named(subject: Subject, name: str, value: str) -> None:
    """With what would be right; no traceback."""
    done = _memory(subject, "cross-query", "ledger", "--collection", "docs", **{name: value})
    said = done.stdout + done.stderr
    assert done.returncode in (1, 2)
    assert name in said
    assert "Traceback" not in said


def test_a_call_whose_server_was_killed_is_made_again(subject: Subject) -> None:
    """The next call starts another server; so do upserts, deletions and searches."""
    collection = subject.components.vectors.get("claude-code-sessions")
    count = collection.count()
    row_id = sorted(collection.ids({"project": {"$ne": ""}}))[0]
    for call in (
        lambda: collection.nearest(np.eye(384, dtype=np.float32)[0], 1),
        lambda: collection.delete([row_id]),
        lambda: collection.count(),
    ):
        subject.kill_server()
        call()
    assert collection.count() == count - 1
    subject.index_all()
    assert collection.count() == count


def test_a_server_that_cannot_be_started_is_an_error_that_says_so(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how the process ended, does not hang, and its files stay."""
    monkeypatch.setattr(chroma_server, "START_SECONDS", 60.0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(StoreError, match=r"did not start \(it ended with code 1;.*disk full"):
        subject.components.vectors.names()
    assert (subject.chroma / "chroma.sqlite3").exists()


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


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled_rules: Path) -> Iterator[Sweep]:
    """Transcripts, and a process that does what a memory is for; skips without a compiler."""
    shutil.copytree(compiled_rules, tmp_path / "cache")  # where the sweep has its own
    forget_own_settings(monkeypatch, tmp_path / "home")
    for name in ("HOME", "XDG_CACHE_HOME"):  # the sweep sets them, and what embeds
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(embedding, "load_embedder", embedding.load_embedder)
    try:
        made = Sweep(tmp_path)
    except NoCompiler as error:
        pytest.skip(str(error))
    yield made
    made.close()


_FAULTS = (Fault("write", "catalog.db", 40, "EIO"),)
_MORE = (
    Fault("rename", "lake", 2, "EACCES"),
    Fault("fsync", "catalog.db", 1, "EIO"),
    Fault("write", "keywords.db", 20, "ENOSPC"),
)


@pytest.mark.parametrize("faults", [_FAULTS, pytest.param(_MORE, marks=pytest.mark.long)])
def test_one_clean_run_later_nothing_is_missing(sweep: Sweep, faults: tuple[Fault, ...]) -> None:
    """One more turn is taken in while a write, an fsync or a rename fails in one store after
    another: what the fault meets says so without a traceback, and the rows are the same after the
    next run."""
    sweep.calls("turn", "lake")
    for fault in faults:
        assert sweep.round("turn", fault).wrong == "", str(fault)
