"""Dagster instances of the tests: what each of them would make anew is made once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from sqlalchemy import Engine, create_engine

from memory_assets.cli.dagster import home
from memory_assets.cli.dagster.home import open_instance, prepare
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.conftest import made_once


@pytest.fixture(scope="module", autouse=True)
def _databases(of_all_workers: Path) -> Iterator[None]:
    """A new instance begins with empty databases that were made before: to create them takes three
    times as long as to open them (cli/test_dagster_storage.py lets processes create them)."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "MEMORY_DATA_DIR"):
            patch.setenv(name, "to be put back")

        def make(root: Path) -> None:
            open_instance(load_settings(data_dir=root)).dispose()

        databases = made_once(of_all_workers, "dagster-databases", make) / "dagster"

        def with_databases(settings: Settings) -> Path:
            place = prepare(settings)
            for name in ("history", "schedules"):
                if not (place / name).exists():
                    shutil.copytree(databases / name, place / name)
            return place

        patch.setattr(home, "prepare", with_databases)
        yield


@pytest.fixture(scope="module", autouse=True)
def _made_once() -> Iterator[None]:
    """Dagster reads its migrations again for the database of each run, and compiles each statement
    again for each connection: a third of the CPU of a run of ours."""
    engines: dict[tuple[str, str], Engine] = {}
    scripts: dict[str | None, ScriptDirectory] = {}
    read = ScriptDirectory.from_config

    def engine_of(url: str, **given: Any) -> Engine:
        key = (url, repr(given))
        if key not in engines:
            engines[key] = create_engine(url, **given)
        return engines[key]

    def scripts_of(config: Config) -> ScriptDirectory:
        place = config.get_main_option("script_location")
        if place not in scripts:
            scripts[place] = read(config)
        return scripts[place]

    with pytest.MonkeyPatch.context() as patch:
        for module in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
            patch.setattr(module, "create_engine", engine_of)
        patch.setattr(ScriptDirectory, "from_config", scripts_of)
        yield


@pytest.fixture
def instance(sample_settings: Settings) -> Iterator[dg.DagsterInstance]:
    """An instance on disk, as the project's dagster.yaml lays it out."""
    with open_instance(sample_settings) as opened:
        yield opened
