"""The Dagster code location: `build_defs` assembles the graph, `defs` is what Dagster loads."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from memory_assets.dagster.assets.collections import (
    COLLECTIONS,
    agent_keyword_index,
    keyword_index,
    workspace_keyword_index,
)
from memory_assets.dagster.assets.maintenance import (
    gateway_costs,
    kept_memories,
    known_secrets,
    memory_status,
    published_lake,
    retained_sessions,
)
from memory_assets.dagster.assets.tables import (
    AGENT_TABLES,
    TABLES,
    raw_sessions,
    redacted_records,
    workspace_documents,
)
from memory_assets.dagster.batch import ingest_batch
from memory_assets.dagster.ingests import ingests_sensor, record_ingests
from memory_assets.dagster.jobs import (
    JOBS,
    costs_schedule,
    publish_lake,
    publish_schedule,
    retention_schedule,
    status_schedule,
    upkeep_schedule,
)
from memory_assets.dagster.partitions import agent_memory, projects, workspaces
from memory_assets.dagster.resources import resources
from memory_assets.dagster.sensors import (
    agent_memory_sensor,
    projects_directory_sensor,
    workspaces_sensor,
)
from memory_assets.dagster.superseded_runs import prune_superseded_runs, superseded_runs_schedule
from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.runs.names import AGENT_MEMORY_PARTITIONS, WORKSPACE_PARTITIONS

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


_PAGES_OF_PARTITIONS = {WORKSPACE_PARTITIONS: "workspace", AGENT_MEMORY_PARTITIONS: "agent-memory"}
_PAGES = {
    "raw_sessions": "completeness",
    "redacted_records": "redaction",
    "redaction_audit": "redaction",
    "known_secrets": "redaction",
    "turn_chunks": "chunking",
    "user_prompts": "chunking",
    "session_summaries": "summaries",
    "observations": "observations",
    "session_commits": "commits",
    "retrieved_documents": "mcp",
    "session_usage": "usage",
    **{index.embeddings.name: "retrieval" for index in INDEXES},
    **{index.stage: "chroma" for index in INDEXES},
    KEYWORD_INDEX: "retrieval",
    "retained_sessions": "retention",
    "memory_status": "completeness",
    "gateway_costs": "gateway",
    "kept_memories": "agent-memory",
    "published_lake": "scale",
    **{
        name: _PAGES_OF_PARTITIONS[step.partitions]
        for name, step in STEPS.items()
        if step.partitions in _PAGES_OF_PARTITIONS
    },
}
"""The file of docs/ about each asset."""
_DEFAULT_PAGE = "contracts"
"""The file that has every table."""


def build_defs(settings: Settings | None = None) -> dg.Definitions:
    """Return the whole graph, on the memory of `settings` or, without, of the environment.

    No resource takes run configuration. Nothing is published unless a place is set.
    """
    present = settings or load_settings()
    publishes = present.delta is not None
    return dg.Definitions(
        assets=_with_settings_and_links(
            [
                *_PARTITIONED,
                known_secrets,
                retained_sessions,
                kept_memories,
                memory_status,
                gateway_costs,
                *([published_lake] if publishes else ()),
            ],
            present,
        ),
        jobs=[
            *(ingest_batch, *JOBS, record_ingests, prune_superseded_runs),
            *([publish_lake] if publishes else ()),
        ],
        schedules=[
            retention_schedule,
            upkeep_schedule,
            status_schedule,
            costs_schedule,
            superseded_runs_schedule,
            *([publish_schedule] if publishes else ()),
        ],
        sensors=[
            projects_directory_sensor,
            workspaces_sensor,
            agent_memory_sensor,
            ingests_sensor,
        ],
        resources=resources(settings),
        executor=dg.in_process_executor,
    )


def _with_settings_and_links(
    assets: Iterable[dg.AssetsDefinition | dg.AssetSpec], settings: Settings
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return assets with the owners and tags of the settings, whose descriptions end with a link to
    docs/, which `memory dev` serves."""
    tags = dict(pair.split("=", 1) for pair in settings.asset_tags)

    def documented(spec: dg.AssetSpec) -> dg.AssetSpec:
        page = _PAGES.get(spec.key.to_user_string(), _DEFAULT_PAGE)
        link = f"More: [docs/{page}.md](/docs/{page}.md)"
        return spec.replace_attributes(
            description=f"{spec.description}\n\n{link}",
            owners=list(settings.asset_owners),
            tags={**tags, **spec.tags},
        )

    return [
        documented(asset) if isinstance(asset, dg.AssetSpec) else asset.map_asset_specs(documented)
        for asset in assets
    ]


create_private_files()
keep_temporary_files(load_settings().data_dir)
defs = build_defs()
