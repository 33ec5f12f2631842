"""The Dagster instance of a data directory: its configuration, and opening it.

Dagster creates its SQLite databases when an instance is first opened, without a lock. Two
processes that do so at once can stamp them with two schema revisions (two Alembic heads), after
which no process can open them again. So one process at a time opens the instance."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
import yaml
from alembic.util.exc import CommandError
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError

from memory_assets.errors import ConfigurationError, StoreBusy, StoreError
from memory_assets.paths import SHIPPED
from memory_assets.settings import Settings
from memory_assets.stores.runs.names import PARTITIONS

LOCK = "instance.lock"
"""Held below DAGSTER_HOME by the process that opens the instance."""
_DATA_DIR_IN_TEMPLATE = "data/dagster"


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
            staging.unlink(missing_ok=True)  # it may be a link to another file
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

    One process at a time opens it, because the first one creates its databases.

    Raises:
        ConfigurationError: its directory cannot be written.
        StoreBusy: another process kept it for longer than the lock timeout.
        StoreError: its databases cannot be opened.
    """
    home = prepare(settings)
    try:
        with FileLock(home / LOCK, timeout=settings.lock_timeout_seconds):
            instance = dg.DagsterInstance.get()
            instance.get_dynamic_partitions(PARTITIONS)  # opens the last database
            return instance
    except Timeout:
        raise StoreBusy(
            f"another process has been opening the Dagster instance in {home} for "
            f"{settings.lock_timeout_seconds:.0f} s; wait for it, then try again"
        ) from None
    except (OSError, SQLAlchemyError, CommandError) as error:
        raise StoreError(
            f"the Dagster instance in {home} cannot be opened ({type(error).__name__}). Check "
            "that its disk has room and that you can write there. If its databases are broken, "
            "move that directory away: nothing of the memory is lost but the history of its runs."
        ) from error


def _rebased(value: object, home: Path) -> object:
    if isinstance(value, dict):
        return {key: _rebased(item, home) for key, item in value.items()}
    if isinstance(value, list):
        return [_rebased(item, home) for item in value]
    if isinstance(value, str) and value.startswith(_DATA_DIR_IN_TEMPLATE):
        return str(home) + value.removeprefix(_DATA_DIR_IN_TEMPLATE)
    return value
