"""The documents of workspaces: what all other tables of workspaces are made of."""

from memory_assets.dagster.assets.step import step_asset
from memory_assets.dagster.metadata import table_schema
from memory_assets.pipeline.stages import WORKSPACES
from memory_assets.stores.lake.schemas import WORKSPACE_DOCUMENTS

workspace_documents = step_asset(
    WORKSPACE_DOCUMENTS.name,
    "Every text file of a workspace that Git does not ignore, redacted line by line.\n\n"
    "Files that exist to hold secrets are never read, binary and larger ones are counted. A file "
    "that did not change costs a stat.",
    group=WORKSPACES,
    kinds={"parquet", "git"},
    metadata={
        "dagster/column_schema": table_schema(WORKSPACE_DOCUMENTS),
        "dagster/table_name": WORKSPACE_DOCUMENTS.name,
    },
)
