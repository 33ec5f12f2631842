"""session_summaries: one summary a session, without an LLM."""

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.tables.session_summaries import summarise_project
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES
from memory_assets.summaries import load_summarizer

_TEXT = ("text", "kind", "subtype")
_LINEAGE: dict[str, tuple[str, ...]] = {
    "id": ("session_id",),
    **dict.fromkeys(("title", "request", "learned", "completed", "next_steps", "notes"), _TEXT),
    "investigated": ("text", "tool_name", "paths", "command"),
    "files_read": ("paths", "tool_name", "is_error"),
    "files_modified": ("paths", "tool_name", "is_error"),
    "commands": ("command", "is_error"),
    "errors": ("text", "is_error", "command", "paths"),
    "commits": ("text", "command"),
    "started_at": ("timestamp",),
    "ended_at": ("timestamp",),
    "duration_seconds": ("timestamp",),
    "turns": ("kind",),
    "prompts": ("kind",),
    "tool_calls": ("kind",),
    "text": _TEXT,
    "content_hash": ("text",),
    "summarizer_id": (),
}


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    partitions_def=projects,
    group_name="sessions",
    kinds={"parquet"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    check_specs=specs_of("session_summaries"),
    code_version=load_summarizer().summarizer_id,
    metadata=definition_metadata(SESSION_SUMMARIES, REDACTED_RECORDS.name, _LINEAGE),
)
def session_summaries(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """What each session was asked, looked into, learned, completed and left open.

    With its title, files, commands, errors and how each ended, and commits. Extracted,
    deterministic, no model involved.
    """
    yield from stage_and_checks(context, memory, summarise_project, SESSION_SUMMARIES)
