"""The sensor alone, without the watcher and without the command line, makes the same memory."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.ingesting.ingest_command import ingest_once
from memory_assets.dagster import sensors
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryResource
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, session_rows
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import TABLES

HARBOR = "-home-mara-code-harbor-api"
"""Left out, as are Codex and Pi: one project shows it as well as three."""
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def _by_sensor(settings: Settings) -> list[str]:
    """Tick until nothing is asked for, doing what is asked; return the jobs in order."""
    defs = build_defs(settings)
    jobs: list[str] = []
    cursor = None
    with open_instance(settings) as instance:
        for _ in range(6):
            context = dg.build_sensor_context(instance=instance, cursor=cursor)
            asked = sensors.projects_directory_sensor(context, memory=MemoryResource(settings))
            assert isinstance(asked, dg.SensorResult)
            if asked.skip_reason:
                return jobs
            cursor = asked.cursor
            for added in asked.dynamic_partitions_requests or []:
                instance.add_dynamic_partitions(str(projects.name), list(added.partition_keys))
            for request in asked.run_requests or []:
                job = defs.resolve_job_def(str(request.job_name))
                run = job.execute_in_process(
                    instance=instance, run_config={**request.run_config, **QUIET}
                )
                assert run.success
                jobs.append(str(request.job_name))
    pytest.fail("the sensor does not come to rest")


def _memory(settings: Settings) -> dict[str, Any]:
    """Every row of every table and collection, but for when it was written."""
    components = Components(settings)
    lake = components.lake
    state: dict[str, Any] = {}
    for name, table in TABLES.items():
        columns = [column for column in table.schema.names if column not in table.written_columns]
        for project in lake.projects(table):
            rows = lake.read_partition(table, project, columns).to_pylist()
            state[f"{name}/{project}"] = rows
    for index in INDEXES:
        for (project, session_id), made in components.catalog.products.of_stage(
            index.stage
        ).items():
            collection = components.vectors.get(str(made.facts["collection"]))
            for row in session_rows(components, project, index, session_id):
                (found,) = collection.documents([row.id])
                similarity = float(found.vector @ row.vector)
                kept = {key: value for key, value in found.metadata.items() if key not in AGES}
                state[f"{index.stage}/{row.id}"] = (round(similarity, 5), found.text, kept)
    components.catalog.close()
    return state


AGES = ("ingested_at", "row_hash")
"""When a chunk was first written, and a hash that it goes into."""


@pytest.mark.timeout(300)
def test_the_sensor_makes_what_ingest_makes(
    sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """Every row of every table, and every id, text, vector and metadata of every collection."""
    shutil.rmtree(sample_roots["claude"] / HARBOR)
    for agent in ("codex", "pi"):
        shutil.rmtree(sample_roots[agent])
        sample_roots[agent].mkdir()
    directory = sample_settings.data_dir.with_name("by-sensor")
    by_sensor = replace(sample_settings, data_dir=directory)
    try:
        jobs = _by_sensor(by_sensor)
        made = _memory(by_sensor)
    finally:
        chroma_server.stop(directory)
    code = ingest_once(sample_settings, limit=None, projects=[], full=False, as_json=True)
    assert code == 0
    assert sorted(set(jobs)) in (["ingest_batch"], ["ingest_batch", "recheck_known_secrets"])
    assert made == _memory(sample_settings)
    assert len(made) > 30
