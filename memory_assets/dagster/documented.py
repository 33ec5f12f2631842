"""Where docs/ says more about each asset, as a link in the asset's description."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ingest.steps import STEPS
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


def documented(assets: Iterable[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """Return assets whose descriptions end with a link to docs/, which `memory dev` serves."""
    return [asset.map_asset_specs(_with_link) for asset in assets]


def _with_link(spec: dg.AssetSpec) -> dg.AssetSpec:
    page = _PAGES.get(spec.key.to_user_string(), _OTHERS)
    link = f"More: [docs/{page}.md](/docs/{page}.md)"
    return spec.replace_attributes(description=f"{spec.description}\n\n{link}")
