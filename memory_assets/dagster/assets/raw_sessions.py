"""The asset raw_sessions: facts about the transcripts on disk."""

from memory_assets.dagster.assets.step import step_asset
from memory_assets.dagster.metadata import plain_schema
from memory_assets.pipeline.scan.raw_sessions import STAGE
from memory_assets.stores.catalog.schema import SOURCE_COLUMNS

raw_sessions = step_asset(
    STAGE,
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
