"""The assets at the start of the graph: transcripts, documents of workspaces, and the tables of
what agents wrote themselves."""

import dagster as dg

from memory_assets.dagster.assets.step import (
    StepResults,
    backfill_policy,
    check_specs_of,
    run_steps,
    step_asset,
)
from memory_assets.dagster.metadata import definition_metadata, plain_schema
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam, WorkersParam, present_ruleset_version
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.stages import AGENTS, WORKSPACES
from memory_assets.stores.catalog.schema import SOURCE_COLUMNS
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    MEMORY_TRAIL,
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    WORKSPACE_DOCUMENTS,
)

raw_sessions = step_asset(
    RAW_SESSIONS,
    "Facts about each transcript of a project: size, lines, records, prompts, bad lines.\n\n"
    "The files stay where their agents wrote them, and their text is not stored. A file that its "
    "agent deleted is counted as gone; what was made of it stays.",
    group="transcripts",
    kinds={"json", "sqlite"},
    metadata={
        "dagster/column_schema": plain_schema(SOURCE_COLUMNS),
        "dagster/table_name": "catalog.sources.rows",
    },
)


def _spec(
    name: str,
    upstream: str,
    description: str,
    code_version: str | None,
    metadata: dict[str, object],
) -> dg.AssetSpec:
    return dg.AssetSpec(
        name,
        deps=[upstream],
        description=description,
        group_name="transcripts",
        kinds={"parquet"},
        code_version=code_version,
        metadata=metadata,
        skippable=True,
    )


@dg.multi_asset(
    name=REDACTED_RECORDS.name,
    specs=[
        _spec(
            REDACTED_RECORDS.name,
            RAW_SESSIONS,
            "Every content block of every record of a project, redacted: the archive.\n\n"
            "Two passes: a secret that any record of a session reveals is removed from all. "
            "Records that a fork or a resume copied from another session are kept once, in the "
            "oldest. A session that cannot be redacted is quarantined: nothing of it is written.",
            present_ruleset_version(),
            definition_metadata(REDACTED_RECORDS),
        ),
        _spec(
            REDACTION_AUDIT.name,
            REDACTED_RECORDS.name,
            "Every redaction of every record: field, offsets, rule, tag and versions; never the "
            "secret.",
            STEPS[REDACTION_AUDIT.name].code_version,
            definition_metadata(REDACTION_AUDIT),
        ),
    ],
    partitions_def=projects,
    backfill_policy=backfill_policy(REDACTED_RECORDS.name),
    check_specs=[*check_specs_of(REDACTED_RECORDS.name), *check_specs_of(REDACTION_AUDIT.name)],
    can_subset=True,
)
def redacted_records(
    context: dg.AssetExecutionContext, memory: MemoryParam, workers: WorkersParam
) -> StepResults:
    """Redact a project, then yield the materializations and check results of both tables.

    A session's records and audit are always written together. If a run selects only one of
    the assets, both tables are brought up to date and the selected one is reported.
    """
    yield from run_steps(context, memory, workers, (REDACTED_RECORDS.name, REDACTION_AUDIT.name))


workspace_documents = step_asset(
    WORKSPACE_DOCUMENTS.name,
    "Every text file of a workspace that Git does not ignore, redacted line by line.\n\n"
    "Files that exist to hold secrets are never read, binary and larger ones are counted. A file "
    "that did not change costs a stat.",
    group=WORKSPACES,
    kinds={"parquet", "git"},
    metadata=definition_metadata(WORKSPACE_DOCUMENTS),
)
_WRITTEN_BY_AGENTS = {
    AGENT_HISTORY: "The turns of conversations, as agents appended them, redacted.\n\n"
    "An export of the journal, a conversation at a time.",
    AGENT_MEMORY: "What agents found worth keeping: preferences, facts, decisions.\n\nGated by "
    "confidence and number, and merged where they say the same.",
    MEMORY_TRAIL: "What happened to each memory: when, what, by whom, from what, and why.\n\n"
    "Without their texts.",
}
AGENT_TABLES = [
    step_asset(
        table.name,
        description,
        group=AGENTS,
        kinds={"parquet", "sqlite"},
        metadata=definition_metadata(table),
    )
    for table, description in _WRITTEN_BY_AGENTS.items()
]
