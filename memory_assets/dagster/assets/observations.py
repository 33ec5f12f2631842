"""observations: what is worth remembering of a session by itself, without an LLM."""

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.observations import OBSERVER_ID
from memory_assets.pipeline.tables.observations import observe_project
from memory_assets.stores.lake.schemas import OBSERVATIONS, REDACTED_RECORDS

_TOLD = ("text", "kind", "command", "is_error", "paths")
_LINEAGE: dict[str, tuple[str, ...]] = {
    "id": ("session_id", "agent_id", "seq"),
    "anchor_seq": ("seq",),
    **dict.fromkeys(("turn_id", "turn_index", "turn_ids", "prompt_ids"), ("session_id", "kind")),
    **dict.fromkeys(("type", "title", "narrative", "facts", "concepts", "text"), _TOLD),
    "files_read": ("paths", "tool_name", "is_error"),
    "files_modified": ("paths", "tool_name", "is_error"),
    "ended_at": ("timestamp",),
    "content_hash": ("text",),
    "observer_id": (),
}


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    partitions_def=projects,
    group_name="sessions",
    kinds={"parquet"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    check_specs=specs_of("observations"),
    code_version=OBSERVER_ID,
    metadata=definition_metadata(OBSERVATIONS, REDACTED_RECORDS.name, _LINEAGE),
)
def observations(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Errors met and what ended them, commits, changes and why, decisions, discoveries.

    Typed as bugfix, feature, refactor, change, decision or discovery, each with the turns it
    comes from. Extracted, deterministic, no model involved.
    """
    yield from stage_and_checks(context, memory, observe_project, OBSERVATIONS)
