"""redacted_records: the archive."""

import dagster as dg

from memory_assets.dagster.assets.raw_sessions import raw_sessions
from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, lineage_of, table_schema
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam, present_ruleset_version
from memory_assets.pipeline.redact.redacted_records import redact_project
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

_LINEAGE = {
    "project": ("raw_sessions", "project"),
    "project_root": ("raw_sessions", "facts"),
    "agent": ("raw_sessions", "agent"),
    "session_id": ("raw_sessions", "session_id"),
    "agent_id": ("raw_sessions", "agent_id"),
    "byte_start": ("raw_sessions", "path"),
    "byte_end": ("raw_sessions", "path"),
    "text": ("raw_sessions", "path"),
}


@dg.asset(
    deps=[raw_sessions],
    partitions_def=projects,
    group_name="transcripts",
    kinds={"parquet"},
    owners=OWNERS,
    check_specs=specs_of("redacted_records"),
    code_version=present_ruleset_version(),
    metadata={
        "dagster/column_schema": table_schema(REDACTED_RECORDS),
        "dagster/column_lineage": lineage_of(_LINEAGE),
        "dagster/table_name": REDACTED_RECORDS.name,
    },
)
def redacted_records(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Every content block of every record of a project, redacted: the archive.

    Two passes: what any record of a session gives away is taken out of all of them.
    Records that a fork or a resume copied from another session are kept once, in the
    oldest. A session that cannot be redacted is quarantined: nothing of it is written.
    """
    yield from stage_and_checks(context, memory, redact_project, REDACTED_RECORDS)
