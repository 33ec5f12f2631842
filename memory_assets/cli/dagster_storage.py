"""Dagster's SQLite databases: created by one process, and set aside when they are broken.

Dagster creates its databases when an instance is first opened, without a lock. Two
processes that do so at once can stamp them with two schema revisions (two Alembic heads),
after which no process can open them again.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from memory_assets.errors import StoreBusy

_LOCK = "instance.lock"
DATABASES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
"""Paths below DAGSTER_HOME, as dagster.yaml lays them out."""
_DIRECTORIES = ("history", "schedules")
_BROKEN = "broken-"
_INCOMPLETE = "partitions-missing"
"""Marker file that exists from setting databases aside until the new ones have their partitions."""
_LOG = logging.getLogger(__name__)


@contextmanager
def opening(home: Path, timeout: float) -> Iterator[bool]:
    """Hold DAGSTER_HOME against other processes that open its instance; yield whether its
    databases were broken and have been set aside, so that the new ones lack the partitions
    of the projects on record, until `note_complete` is called.

    Raises:
        StoreBusy: another process has held it for `timeout` seconds.
    """
    try:
        with FileLock(home / _LOCK, timeout=timeout):
            _set_aside_if_broken(home)
            yield (home / _INCOMPLETE).exists()
    except Timeout:
        raise StoreBusy(
            f"another process has been opening the Dagster instance in {home} for {timeout:.0f} "
            "s; wait for it, then try again"
        ) from None


def note_complete(home: Path) -> None:
    """Note that the new databases have the partitions of all projects on record."""
    (home / _INCOMPLETE).unlink(missing_ok=True)


def _set_aside_if_broken(home: Path) -> None:
    """Move run history, sensor cursors and schedules aside if a database cannot be opened,
    and log it. The UI loses its history; the data is in the lake."""
    reasons = ((name, _wrong_with(home / name)) for name in DATABASES)
    broken = next(((name, reason) for name, reason in reasons if reason), None)
    if broken is None:
        return
    (home / _INCOMPLETE).touch()
    aside = home / f"{_BROKEN}{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    aside.mkdir()
    for name in _DIRECTORIES:
        if (home / name).exists():
            (home / name).rename(aside / name)
    _LOG.warning(
        "Dagster's database %s was broken (%s). Its run history is now in %s, and a new one "
        "begins; nothing of the memory is lost. Delete that directory when you do not need it.",
        *broken,
        aside,
    )


def _wrong_with(database: Path) -> str | None:
    """Return why Dagster could not open a database; None if it could, or if there is no
    database."""
    if not database.exists() or not database.stat().st_size:
        return None
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            (tables,) = connection.execute(
                "SELECT COUNT(*) FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()
            if not tables:
                return None  # a creation that was interrupted, which Dagster takes up again
            (heads,) = connection.execute("SELECT COUNT(*) FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as error:
        busy = isinstance(error, sqlite3.OperationalError)
        return None if busy else f"it is not a database: {error}"
    return f"it has {heads} schema revisions" if heads > 1 else None
