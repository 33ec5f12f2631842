"""What agents wrote themselves: the turns of conversations, memories, and the trail of these."""

from memory_assets.dagster.assets.step import step_asset
from memory_assets.dagster.metadata import table_schema
from memory_assets.pipeline.stages import AGENTS
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY, MEMORY_TRAIL

_DESCRIPTIONS = {
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
        metadata={
            "dagster/column_schema": table_schema(table),
            "dagster/table_name": table.name,
        },
    )
    for table, description in _DESCRIPTIONS.items()
]
