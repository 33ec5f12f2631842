"""The Dagster instance of a data directory: its configuration, and opening it.

Dagster creates its SQLite databases when an instance is first opened, without a lock. Two
processes that do so at once can stamp them with two schema revisions (two Alembic heads), after
which no process can open them again. So one process creates them, and broken ones are set aside."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import yaml
from alembic.util.exc import CommandError
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError

from memory_assets.dagster.partitions import add_keys
from memory_assets.errors import ConfigurationError, StoreBusy, StoreError
from memory_assets.paths import SHIPPED
from memory_assets.settings import Settings
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.run_history.create import LOCK
from memory_assets.stores.run_history.history import RunHistory

_DATA_DIR_IN_TEMPLATE = "data/dagster"
DATABASES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
"""Paths below DAGSTER_HOME, as dagster.yaml lays them out."""
_DIRECTORIES = ("history", "schedules")
_BROKEN = "broken-"
_INCOMPLETE = "partitions-missing"
"""Marker file that exists from setting databases aside until the new ones have their partitions."""
_LOG = logging.getLogger(__name__)


def prepare(settings: Settings) -> Path:
    """Write the instance's dagster.yaml for this data directory, set DAGSTER_HOME to it,
    and return its directory.

    The configuration is the project's own dagster.yaml with its paths made absolute.
    """
    home = settings.dagster_dir
    try:
        template = yaml.safe_load((SHIPPED / "dagster.yaml").read_text())
        home.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(_rebased(template, home), sort_keys=False)
        config = home / "dagster.yaml"
        if not config.exists() or config.read_text() != text:
            staging = config.with_suffix(f".{os.getpid()}.staging")
            staging.write_text(text)
            staging.replace(config)
    except OSError as error:
        raise ConfigurationError(
            f"cannot prepare the Dagster instance in {home}: {error.strerror}. Set "
            "MEMORY_DATA_DIR to a directory that you can write."
        ) from error
    os.environ["DAGSTER_HOME"] = str(home)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    os.environ["MEMORY_DATA_DIR"] = str(settings.data_dir)
    return home


def open_instance(settings: Settings) -> dg.DagsterInstance:
    """Return the Dagster instance of this data directory, with all storage that it needs.

    One process at a time opens it, because the first one creates its databases; broken ones
    are set aside, and the new ones get a partition for each project on record.

    Raises:
        ConfigurationError: its directory cannot be written.
        StoreBusy: another process kept it for longer than the lock timeout.
        StoreError: its databases cannot be opened.
    """
    home = prepare(settings)
    with opening(home, settings.lock_timeout_seconds) as began_anew:
        try:
            instance = dg.DagsterInstance.get()
        except (OSError, SQLAlchemyError, CommandError) as error:
            raise StoreError(
                f"the Dagster instance in {home} cannot be opened ({type(error).__name__}). Check "
                "that its disk has room and that you can write there. Its run history can be "
                "moved away without loss to the memory."
            ) from error
        if began_anew:
            catalog = settings.data_dir / "catalog.db"
            if catalog.exists():
                with closing(Catalog(catalog)) as known:
                    add_keys(instance, list(known.sources.counts_by("project")))
            note_complete(home)
    return instance


def fail_dead_runs(settings: Settings) -> int:
    """Mark as failed the command line's runs whose process is gone, and return how many."""
    with closing(RunHistory(settings.dagster_dir)) as history:
        return history.fail_dead_runs()


def _rebased(value: object, home: Path) -> object:
    if isinstance(value, dict):
        return {key: _rebased(item, home) for key, item in value.items()}
    if isinstance(value, list):
        return [_rebased(item, home) for item in value]
    if isinstance(value, str) and value.startswith(_DATA_DIR_IN_TEMPLATE):
        return str(home) + value.removeprefix(_DATA_DIR_IN_TEMPLATE)
    return value


@contextmanager
def opening(home: Path, timeout: float) -> Iterator[bool]:
    """Hold DAGSTER_HOME against other processes that open its instance; yield whether its
    databases were broken and have been set aside, so that the new ones lack the partitions
    of the projects on record, until `note_complete` is called.

    Raises:
        StoreBusy: another process has held it for `timeout` seconds.
    """
    try:
        with FileLock(home / LOCK, timeout=timeout):
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
