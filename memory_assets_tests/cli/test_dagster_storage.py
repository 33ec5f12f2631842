"""Dagster's databases: several first openings at once, and broken ones."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from memory_assets.cli.dagster.home import LOCK, open_instance, prepare
from memory_assets.cli.dagster.traces import mentions_of
from memory_assets.errors import StoreBusy, StoreError
from memory_assets.pipeline.removal.forget import Names
from memory_assets.settings import Settings

DATABASES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
_OPENS = """
import sys
from memory_assets.cli.dagster.home import open_instance
from memory_assets.settings import load_settings
settings = load_settings()
print("ready", flush=True)
sys.stdin.readline()
with open_instance(settings) as instance:
    print(len(instance.get_runs(limit=1)))
"""


def revisions(dagster_dir: Path) -> list[int]:
    """How many schema revisions each of Dagster's databases has."""
    counts = []
    for name in DATABASES:
        with closing(sqlite3.connect(dagster_dir / name)) as connection:
            counts += connection.execute("SELECT COUNT(*) FROM alembic_version").fetchone()
    return counts


def test_several_processes_may_open_a_new_instance_at_once(tmp_path: Path) -> None:
    """One creates the databases, the other waits for it."""
    environment = {**os.environ, "MEMORY_DATA_DIR": str(tmp_path / "memory")}
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENS],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for starter in starters:
        assert starter.stdout is not None and starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.flush()
    told = [starter.communicate() for starter in starters]
    assert [starter.returncode for starter in starters] == [0, 0], told
    assert revisions(tmp_path / "memory" / "dagster") == [1, 1, 1]


def test_nothing_is_created_while_another_process_opens_the_instance(
    sample_settings: Settings, tmp_path: Path
) -> None:
    """Who cannot have it in time says so, and leaves the databases to the other."""
    settings = replace(sample_settings, data_dir=tmp_path / "memory", lock_timeout_seconds=0.1)
    home = prepare(settings)
    with FileLock(home / LOCK), pytest.raises(StoreBusy):
        open_instance(settings)
    assert not any((home / name).exists() for name in DATABASES)


def _two_revisions(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO alembic_version VALUES ('567bc23fd1ac')")


def _not_a_database(database: Path) -> None:
    database.with_name(f"{database.name}-wal").unlink(missing_ok=True)
    database.write_bytes(b"what is this" * 1_000)


@pytest.mark.parametrize(
    ("name", "break_it"),
    [
        ("history/runs.db", _two_revisions),
        ("history/runs/index.db", _not_a_database),
        ("schedules/schedules.db", _two_revisions),
        pytest.param("history/runs.db", _not_a_database, marks=pytest.mark.long),
        pytest.param("history/runs/index.db", _two_revisions, marks=pytest.mark.long),
        pytest.param("schedules/schedules.db", _not_a_database, marks=pytest.mark.long),
    ],
)
def test_a_broken_database_is_left_as_it_is_and_said(
    sample_settings: Settings, name: str, break_it: Callable[[Path], None]
) -> None:
    """They are Dagster's: the error says what to do, which loses nothing of the memory."""
    home = sample_settings.dagster_dir
    open_instance(sample_settings).dispose()
    break_it(home / name)
    before = (home / name).read_bytes()
    with pytest.raises(StoreError, match="move that directory away"):
        open_instance(sample_settings)
    assert (home / name).read_bytes() == before
    home.rename(home.with_name("broken"))
    open_instance(sample_settings).dispose()
    assert revisions(home) == [1, 1, 1]


UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


def _mentions(sessions: set[str], projects: set[str]) -> Callable[[object], bool]:
    return mentions_of(Names(frozenset(sessions), frozenset(projects)))


def test_names_are_found_in_whatever_is_printed() -> None:
    """Sessions anywhere, in whatever case."""
    mentions = _mentions({UUID, "séance"}, {"-home-mära-code"})
    for value in (f"x{UUID.upper()}y", {"why": ("séance",)}, "project=-home-mära-code/x"):
        assert mentions(value), value
    assert not mentions(None)
    assert not mentions(3)
    assert not _mentions(set(), set())("anything")


def test_a_project_is_named_by_whole_words_only() -> None:
    """Another project may begin or end the same."""
    mentions = _mentions(set(), {"-home-mara"})
    assert mentions("/projects/-home-mara/x.jsonl")
    assert mentions("-home-mara:f:1")
    assert not mentions("-home-mara-code")
    assert not mentions("x-home-mara")
