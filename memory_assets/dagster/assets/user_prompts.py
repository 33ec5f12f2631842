"""user_prompts: what humans typed."""

import dagster as dg

from memory_assets.chunking import CHUNKER_VERSION
from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.tables.turn_chunks import extract_prompts
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, USER_PROMPTS

_LINEAGE = {
    "id": ("session_id", "kind"),
    "turn_id": ("session_id", "kind"),
    "part": ("text",),
    "turn_index": ("kind", "seq"),
    "content_hash": ("text",),
}


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    partitions_def=projects,
    group_name="turns",
    kinds={"parquet"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    check_specs=specs_of("user_prompts"),
    code_version=CHUNKER_VERSION,
    metadata=definition_metadata(USER_PROMPTS, REDACTED_RECORDS.name, _LINEAGE),
)
def user_prompts(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Every prompt that a human typed, redacted; long ones in passages.

    Prompts of subagents, injected text and compaction summaries are not among them.
    """
    yield from stage_and_checks(context, memory, extract_prompts, USER_PROMPTS)
