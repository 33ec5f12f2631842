"""Dagster's databases: several first openings at once, and broken ones set aside."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from memory_assets.cli.dagster.home import open_instance, prepare
from memory_assets.dagster.partitions import add_keys, projects
from memory_assets.errors import StoreBusy
from memory_assets.settings import Settings
from memory_assets.stores.run_history.create import LOCK
from memory_assets_tests.conftest import REPOSITORY

MEMORY = Path(sys.executable).with_name("memory")
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
    """One creates the databases, the others wait for it."""
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
        for _ in range(3)
    ]
    for starter in starters:
        assert starter.stdout is not None and starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.flush()
    told = [starter.communicate() for starter in starters]
    assert [starter.returncode for starter in starters] == [0, 0, 0], told
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


@pytest.mark.long
def test_several_first_ingests_at_once_all_succeed(tmp_path: Path) -> None:
    """From the command line, over the same new data directory."""
    sample = (
        REPOSITORY / "data" / "sample" / "claude" / "projects" / "-Users-jonas-work-tidepool-web"
    )
    shutil.copytree(sample, tmp_path / "projects" / sample.name)
    environment = {
        **os.environ,
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_EMBEDDER": "none",
    }
    ingests = [
        subprocess.Popen([MEMORY, "ingest"], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    told = [ingest.communicate()[1] for ingest in ingests]
    assert [ingest.returncode for ingest in ingests] == [0] * 4, told
    assert revisions(tmp_path / "memory" / "dagster") == [1, 1, 1]


def _two_revisions(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO alembic_version VALUES ('567bc23fd1ac')")


def _not_a_database(database: Path) -> None:
    database.with_name(f"{database.name}-wal").unlink(missing_ok=True)
    database.write_bytes(b"what is this" * 1_000)


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("break_it", [_two_revisions, _not_a_database])
def test_a_broken_database_is_set_aside_and_made_anew(
    sample_settings: Settings,
    caplog: pytest.LogCaptureFixture,
    name: str,
    break_it: object,
) -> None:
    """With a message that says where it is; what is not broken goes with it, because runs,
    events and schedules name each other."""
    home = sample_settings.dagster_dir
    with open_instance(sample_settings) as instance:
        add_keys(instance, ["-home-ada"])
    assert callable(break_it)
    break_it(home / name)
    with caplog.at_level(logging.WARNING), open_instance(sample_settings) as instance:
        assert instance.get_dynamic_partitions(str(projects.name)) == []
    assert revisions(home) == [1, 1, 1]
    (aside,) = home.glob("broken-*")
    assert (aside / name).exists()
    assert name in caplog.text and str(aside) in caplog.text
    with open_instance(sample_settings):
        assert len(list(home.glob("broken-*"))) == 1


@pytest.mark.long
def test_a_memory_whose_history_was_broken_keeps_its_partitions(
    sample_settings: Settings, tmp_path: Path
) -> None:
    """The next `memory ingest` says what it did, exits 0, and each project on record is a
    partition again."""
    environment = {
        **os.environ,
        "MEMORY_DATA_DIR": str(sample_settings.data_dir),
        "MEMORY_PROJECTS_DIR": str(sample_settings.projects_dir),
        "MEMORY_EMBEDDER": "none",
    }
    subprocess.run([MEMORY, "ingest"], env=environment, capture_output=True, check=True)
    with open_instance(sample_settings) as instance:
        before = set(instance.get_dynamic_partitions(str(projects.name)))
    assert len(before) >= 2
    _two_revisions(sample_settings.dagster_dir / "history" / "runs.db")
    command = [str(MEMORY), "ingest", "--full", "--project", min(before)]
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "runs.db was broken" in again.stderr
    with open_instance(sample_settings) as instance:
        assert set(instance.get_dynamic_partitions(str(projects.name))) == before
