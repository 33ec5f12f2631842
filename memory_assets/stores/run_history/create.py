"""Creating the files of a run history, as Dagster does, without importing Dagster."""

from __future__ import annotations

from contextlib import closing
from importlib.resources import files
from pathlib import Path

from filelock import FileLock, Timeout

from memory_assets.errors import StoreBusy
from memory_assets.stores.files.sqlite import connect, sqlite_errors

LOCK = "instance.lock"
"""Held below DAGSTER_HOME by the one process that creates or opens its databases: two that
create them at once can stamp them with two schema revisions."""
_FILES = {"history/runs.db": "runs.sql", "history/runs/index.db": "index.sql"}


def create_files(home: Path, timeout: float) -> None:
    """Create the files below DAGSTER_HOME, unless one of them is there.

    Raises:
        StoreBusy: another process has been creating or opening them for `timeout` seconds.
        StoreError: they cannot be written.
    """
    home.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(home / LOCK, timeout=timeout):
            if not any((home / name).exists() for name in _FILES):
                for name, sql in _FILES.items():
                    _create(home / name, (files(__package__) / sql).read_text("utf-8"))
    except Timeout:
        raise StoreBusy(
            f"another process has been opening the Dagster instance in {home} for {timeout:.0f} "
            "s; wait for it, then try again"
        ) from None


def _create(path: Path, sql: str) -> None:
    """Create a database whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_suffix(".staging")
    staging.unlink(missing_ok=True)
    remedy = "Check that its disk has room and that you can write there."
    with sqlite_errors(path, remedy), closing(connect(staging)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(f"BEGIN; {sql} COMMIT;")
    staging.replace(path)
