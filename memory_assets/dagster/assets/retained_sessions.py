"""The asset retained_sessions: old sessions, cut down to their prompts and summary."""

import dagster as dg

from memory_assets.dagster.metadata import OWNERS
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.removal.retention import retain, retention_metadata
from memory_assets.pipeline.stages import STAGES


@dg.asset(
    deps=[stage.table.name for stage in STAGES if stage.retained and not stage.embeds],
    group_name="maintenance",
    kinds={"parquet"},
    owners=OWNERS,
    retry_policy=dg.RetryPolicy(max_retries=2, delay=60),
)
@no_text_in_errors()
def retained_sessions(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """Sessions, and conversations of agents, older than MEMORY_RETENTION, cut down to prompts and
    summaries.

    One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills),
    because all projects share the Chroma collections, whose files are rewritten. The next run
    of each project brings its other assets up to date.
    """
    metadata = retention_metadata(retain(memory.components()))
    return dg.MaterializeResult(metadata=dict(metadata))
