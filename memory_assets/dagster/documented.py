"""What all assets have: owners and tags, and a link to where docs/ says more."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.settings import Settings
from memory_assets.stores.runs.names import AGENT_MEMORY_PARTITIONS, WORKSPACE_PARTITIONS

_OF_PARTITIONS = {WORKSPACE_PARTITIONS: "workspace", AGENT_MEMORY_PARTITIONS: "agent-memory"}
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
    **{
        name: _OF_PARTITIONS[step.partitions]
        for name, step in STEPS.items()
        if step.partitions in _OF_PARTITIONS
    },
}
"""The file of docs/ about each asset."""
_OTHERS = "contracts"
"""The file that has every table."""


def documented(
    assets: Iterable[dg.AssetsDefinition | dg.AssetSpec], settings: Settings
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return assets with the owners and tags of the settings, whose descriptions end with a link to
    docs/, which `memory dev` serves."""
    tags = dict(pair.split("=", 1) for pair in settings.asset_tags)

    def said(spec: dg.AssetSpec) -> dg.AssetSpec:
        page = _PAGES.get(spec.key.to_user_string(), _OTHERS)
        link = f"More: [docs/{page}.md](/docs/{page}.md)"
        return spec.replace_attributes(
            description=f"{spec.description}\n\n{link}",
            owners=list(settings.asset_owners),
            tags={**tags, **spec.tags},
        )

    return [
        said(asset) if isinstance(asset, dg.AssetSpec) else asset.map_asset_specs(said)
        for asset in assets
    ]
