"""The Dagster code location: `build_defs` assembles the graph, `defs` is what Dagster loads."""

from __future__ import annotations

import dagster as dg

from memory_assets.dagster.agent_memory_sensor import agent_memory_sensor
from memory_assets.dagster.assets.agent_memory import AGENT_TABLES
from memory_assets.dagster.assets.collections import (
    COLLECTIONS,
    agent_keyword_index,
    keyword_index,
    workspace_keyword_index,
)
from memory_assets.dagster.assets.gateway_costs import gateway_costs
from memory_assets.dagster.assets.kept_memories import kept_memories
from memory_assets.dagster.assets.known_secrets import known_secrets
from memory_assets.dagster.assets.memory_status import memory_status
from memory_assets.dagster.assets.raw_sessions import raw_sessions
from memory_assets.dagster.assets.redacted_records import redacted_records
from memory_assets.dagster.assets.retained_sessions import retained_sessions
from memory_assets.dagster.assets.tables import TABLES
from memory_assets.dagster.assets.workspace_documents import workspace_documents
from memory_assets.dagster.batch import batch_resources, ingest_batch
from memory_assets.dagster.documented import documented
from memory_assets.dagster.ingests import ingests_sensor, record_ingests
from memory_assets.dagster.jobs import (
    JOBS,
    costs_schedule,
    retention_schedule,
    status_schedule,
    upkeep_schedule,
)
from memory_assets.dagster.partitions import agent_memory, projects, workspaces
from memory_assets.dagster.sensors import projects_directory_sensor
from memory_assets.dagster.superseded_runs import prune_superseded_runs, superseded_runs_schedule
from memory_assets.dagster.workspace_sensor import workspaces_sensor
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.settings import Settings, load_settings

_PARTITIONED = (
    raw_sessions,
    redacted_records,
    workspace_documents,
    *TABLES,
    *COLLECTIONS,
    keyword_index,
    workspace_keyword_index,
    *AGENT_TABLES,
    agent_keyword_index,
)
WORKSPACE_ASSETS = tuple(asset for asset in _PARTITIONED if asset.partitions_def == workspaces)
"""The assets of one workspace."""
AGENT_ASSETS = tuple(asset for asset in _PARTITIONED if asset.partitions_def == agent_memory)
"""The assets of what agents wrote about one project."""
ASSETS = tuple(asset for asset in _PARTITIONED if asset.partitions_def == projects)
"""The assets of one project."""


def build_defs(settings: Settings | None = None) -> dg.Definitions:
    """Return the whole graph, on the memory of `settings` or, without, of the environment.

    No resource takes run configuration.
    """
    return dg.Definitions(
        assets=documented(
            [
                *_PARTITIONED,
                known_secrets,
                retained_sessions,
                kept_memories,
                memory_status,
                gateway_costs,
            ],
            settings or load_settings(),
        ),
        jobs=[ingest_batch, *JOBS, record_ingests, prune_superseded_runs],
        schedules=[
            retention_schedule,
            upkeep_schedule,
            status_schedule,
            costs_schedule,
            superseded_runs_schedule,
        ],
        sensors=[
            projects_directory_sensor,
            workspaces_sensor,
            agent_memory_sensor,
            ingests_sensor,
        ],
        resources=batch_resources(settings),
        executor=dg.in_process_executor,
    )


create_private_files()
keep_temporary_files(load_settings().data_dir)
defs = build_defs()
