"""The asset kept_memories: what agents remember, without what has faded and what is said twice."""

import dagster as dg

from memory_assets.dagster.metadata import OWNERS
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets.stores.lake.schemas import AGENT_MEMORY, REDACTED_RECORDS


@dg.asset(
    deps=[AGENT_MEMORY.name, REDACTED_RECORDS.name],
    group_name="maintenance",
    kinds={"sqlite"},
    owners=OWNERS,
)
@no_text_in_errors()
def kept_memories(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """The upkeep of what agents remember: archived is what was not said again for long
    (MEMORY_HALF_LIFE), merged is what says the same in other words. Nothing is deleted. With
    MEMORY_PROMOTE=on, what users said to be remembered is promoted to a memory, and what sessions
    show again and again.

    One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills):
    all projects take a moment. What it changes, the next run of each partition takes in.
    """
    report = keep_up(memory.components())
    changes = report.faded + report.merged + report.promoted + report.shown
    return dg.MaterializeResult(
        metadata={
            "work": "done" if changes else "nothing to do",
            "memories": report.memories,
            "memories_archived": report.archived,
            "faded": report.faded,
            "merged": report.merged,
            "promoted": report.promoted,
            "promoted_from_sessions": report.shown,
        }
    )
