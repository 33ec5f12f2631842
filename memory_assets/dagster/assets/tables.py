"""The tables, one asset each: at the start of the graph transcripts, documents of workspaces, and
what agents wrote themselves; then those made of these, and their vectors, an asset for each stage
of `pipeline/stages.py`, which says what it is and how it is made.

Vectors are assets of their own, not a part of the collections: embedding is most of the cost
of an ingest, so they are kept in the lake, where a damaged or moved Chroma is rebuilt
from them in minutes, and where their model is recorded row by row.
"""

from memory_assets.dagster.assets.step import step_asset, step_spec
from memory_assets.dagster.metadata import definition_metadata, plain_schema
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.stages import AGENTS, STAGES, WORKSPACES
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
    step_spec(
        RAW_SESSIONS,
        "Facts about each transcript of a project: size, lines, records, prompts, bad lines.\n\n"
        "The files stay where their agents wrote them, and their text is not stored. A file that "
        "its agent deleted is counted as gone; what was made of it stays.",
        group="transcripts",
        kinds={"json", "sqlite"},
        metadata={
            "dagster/column_schema": plain_schema(SOURCE_COLUMNS),
            "dagster/table_name": "catalog.sources.rows",
        },
    )
)


# A session's records and audit are written together: if a run selects one of the assets, both
# tables are brought up to date, and the selected one is reported.
redacted_records = step_asset(
    step_spec(
        REDACTED_RECORDS.name,
        "Every content block of every record of a project, redacted: the archive.\n\n"
        "Two passes: a secret that any record of a session reveals is removed from all. "
        "Records that a fork or a resume copied from another session are kept once, in the "
        "oldest. A session that cannot be redacted is quarantined: nothing of it is written.",
        group="transcripts",
        kinds={"parquet"},
        metadata=definition_metadata(REDACTED_RECORDS),
    ),
    step_spec(
        REDACTION_AUDIT.name,
        "Every redaction of every record: field, offsets, rule, tag and versions; never the "
        "secret.",
        group="transcripts",
        kinds={"parquet"},
        metadata=definition_metadata(REDACTION_AUDIT),
    ),
)
workspace_documents = step_asset(
    step_spec(
        WORKSPACE_DOCUMENTS.name,
        "Every text file of a workspace that Git does not ignore, redacted line by line.\n\n"
        "Files that exist to hold secrets are never read, binary and larger ones are counted. A "
        "file that did not change costs a stat.",
        group=WORKSPACES,
        kinds={"parquet", "git"},
        metadata=definition_metadata(WORKSPACE_DOCUMENTS),
    )
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
        step_spec(
            table.name,
            description,
            group=AGENTS,
            kinds={"parquet", "sqlite"},
            metadata=definition_metadata(table),
        )
    )
    for table, description in _WRITTEN_BY_AGENTS.items()
]
TABLES = [
    step_asset(
        step_spec(
            stage.table.name,
            stage.description,
            group=stage.group,
            kinds={"parquet", *stage.reads},
            metadata=definition_metadata(stage.table),
        ),
        searched=stage.searched,
    )
    for stage in STAGES
]
