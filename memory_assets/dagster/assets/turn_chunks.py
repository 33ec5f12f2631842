"""turn_chunks: what is embedded and found."""

import dagster as dg

from memory_assets.chunking import CHUNKER_VERSION
from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.tables.turn_chunks import chunk_project
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS

_LINEAGE = {
    "id": ("session_id", "kind"),
    "turn_id": ("session_id", "kind"),
    "part": ("text",),
    "turn_index": ("kind", "seq"),
    "role": ("kind",),
    "ended_at": ("timestamp",),
    "text": ("text", "kind", "tool_name", "command", "paths", "is_error", "message_id"),
    "tools_used": ("tool_name",),
    "files": ("paths",),
    "commands": ("command",),
    "errors": ("text", "is_error"),
    "prompt_uuid": ("record_uuid", "kind"),
    "first_seq": ("seq",),
    "last_seq": ("seq",),
    "content_hash": ("text",),
    "chunker_version": (),
    "ingested_at": (),
}


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    partitions_def=projects,
    group_name="turns",
    kinds={"parquet"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    check_specs=specs_of("turn_chunks"),
    code_version=CHUNKER_VERSION,
    metadata=definition_metadata(TURN_CHUNKS, REDACTED_RECORDS.name, _LINEAGE),
)
def turn_chunks(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Passages of each turn: the prompt, the assistant's prose, a digest of tool calls.

    No passage is longer than the embedding model reads, and no human or assistant word
    is lost. Raw tool output is not in here.
    """
    yield from stage_and_checks(context, memory, chunk_project, TURN_CHUNKS)
