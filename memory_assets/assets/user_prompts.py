"""user_prompts: what humans typed."""

import dagster as dg

from memory_assets.assets.redacted_records import redacted_records
from memory_assets.chunking import CHUNKER_VERSION
from memory_assets.errors import no_text_in_errors
from memory_assets.metadata import OWNERS, definition_metadata, materialized
from memory_assets.partitions import projects
from memory_assets.pipeline.chunk import extract_prompts
from memory_assets.resources import MemoryResource
from memory_assets.stores.schemas import REDACTED_RECORDS, USER_PROMPTS

_LINEAGE = {
    "id": ("session_id", "kind"),
    "turn_id": ("session_id", "kind"),
    "part": ("text",),
    "turn_index": ("kind", "seq"),
    "content_hash": ("text",),
}


@dg.asset(
    deps=[redacted_records],
    partitions_def=projects,
    group_name="turns",
    kinds={"parquet"},
    owners=OWNERS,
    code_version=CHUNKER_VERSION,
    metadata=definition_metadata(USER_PROMPTS, REDACTED_RECORDS.name, _LINEAGE),
)
@no_text_in_errors()
def user_prompts(
    context: dg.AssetExecutionContext, memory: MemoryResource
) -> dg.MaterializeResult[None]:
    """Every prompt that a human typed, redacted; long ones in passages.

    Prompts of subagents, injected text and compaction summaries are not among them.
    """
    components = memory.components()
    report = extract_prompts(components, context.partition_key)
    return materialized(components, report, USER_PROMPTS)
