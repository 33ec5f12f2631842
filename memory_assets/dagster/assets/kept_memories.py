"""The asset kept_memories: what agents remember, without what has faded and is said twice. It is
[external](https://docs.dagster.io/guides/build/assets/external-assets), so that nobody archives
anything by "Materialize all": a job does."""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import dagster as dg

from memory_assets.dagster.metadata import REMOVES
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets.stores.lake.schemas import AGENT_MEMORY, REDACTED_RECORDS
from memory_assets.stores.runs.names import UPKEEP_JOB

_NAME = "kept_memories"
kept_memories = dg.AssetSpec(
    _NAME,
    deps=[AGENT_MEMORY.name, REDACTED_RECORDS.name],
    description="The upkeep of what agents remember, by the job `keep_memories`: archived is what "
    "was not said again for long (MEMORY_HALF_LIFE), merged is what says the same in other words. "
    "Nothing is deleted. With MEMORY_PROMOTE=on, what users said to be remembered is promoted to a "
    "memory, and what sessions show again and again.\n\n"
    "One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills):"
    " all projects take a moment. What it changes, the next run of each partition takes in.",
    group_name="maintenance",
    kinds={"sqlite"},
    tags=REMOVES,
)


@dg.op
@no_text_in_errors()
def archive_and_merge(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Archive memories that have faded, merge those that say the same, and promote."""
    report = keep_up(memory.components())
    changes = report.faded + report.merged + report.promoted + report.shown
    metadata = {
        "work": "done" if changes else "nothing to do",
        "memories": report.memories,
        "memories_archived": report.archived,
        "faded": report.faded,
        "merged": report.merged,
        "promoted": report.promoted,
        "promoted_from_sessions": report.shown,
    }
    context.log_event(dg.AssetMaterialization(_NAME, metadata=metadata))


@dg.job(
    name=UPKEEP_JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600", **REMOVES},
    description="Archives memories of agents that have faded, and merges those that say the same.",
)
def keep_memories() -> None:
    """Keep up what agents remember."""
    archive_and_merge()
