"""Faults from outside: each is told plainly, nothing is lost, the next run completes."""

from __future__ import annotations

import os
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

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.command_line import environment_of
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
        [str(MEMORY), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
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


def test_a_catalogue_that_another_process_holds_is_told(subject: Subject) -> None:
    """After the wait, by name; nothing of it is changed, and it can be used again."""
    path = subject.components.catalog.path
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        mine = Catalog(path, busy_seconds=0.2)
        with pytest.raises(StoreBusy, match=r"catalog\.db is locked by another process"):
            mine.collections.put("local/x", "y")
        other.execute("ROLLBACK")
    mine.collections.put("local/x", "y")
    mine.close()


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
