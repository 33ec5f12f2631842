"""session_summaries: one summary a session, without an LLM."""

import dagster as dg

from memory_assets.assets.redacted_records import redacted_records
from memory_assets.metadata import OWNERS, materialized, table_schema
from memory_assets.partitions import projects
from memory_assets.pipeline.summarise import summarise_project
from memory_assets.resources import MemoryResource
from memory_assets.stores.schemas import SESSION_SUMMARIES
from memory_assets.summaries import load_summarizer


@dg.asset(
    deps=[redacted_records],
    partitions_def=projects,
    group_name="sessions",
    kinds={"parquet"},
    owners=OWNERS,
    code_version=load_summarizer().summarizer_id,
    metadata={
        "dagster/column_schema": table_schema(SESSION_SUMMARIES),
        "dagster/table_name": SESSION_SUMMARIES.name,
    },
)
def session_summaries(
    context: dg.AssetExecutionContext, memory: MemoryResource
) -> dg.MaterializeResult[None]:
    """What each session was asked, looked into, learned, completed and left open.

    With its title, files, commands, errors and how each ended, and commits. Extracted,
    deterministic, no model involved.
    """
    components = memory.components()
    report = summarise_project(components, context.partition_key)
    return materialized(components, report, SESSION_SUMMARIES)
