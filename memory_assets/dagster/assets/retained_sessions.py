"""The asset retained_sessions: old sessions, cut down to their prompts and summary. It is
[external](https://docs.dagster.io/guides/build/assets/external-assets), so that nobody removes
anything by "Materialize all": a job does."""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import dagster as dg

from memory_assets.dagster.metadata import REMOVES
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.removal.retention import RETAINED_SESSIONS, retain, retention_metadata
from memory_assets.pipeline.stages import STAGES
from memory_assets.stores.runs.names import RETENTION_JOB

retained_sessions = dg.AssetSpec(
    RETAINED_SESSIONS,
    deps=[stage.table.name for stage in STAGES if stage.retained and not stage.embeds],
    description="Sessions, and conversations of agents, older than MEMORY_RETENTION, cut down to "
    "prompts and summaries by the job `apply_retention`.\n\n"
    "One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills),"
    " because all projects share the Chroma collections, whose files are rewritten. The next run "
    "of each project brings its other assets up to date.",
    group_name="maintenance",
    kinds={"parquet"},
    tags=REMOVES,
)


@dg.op(retry_policy=dg.RetryPolicy(max_retries=2, delay=60))
@no_text_in_errors()
def cut_old_sessions(context: dg.OpExecutionContext, memory: MemoryParam) -> None:
    """Cut old sessions down to their prompts and summary."""
    metadata = retention_metadata(retain(memory.components()))
    context.log_event(dg.AssetMaterialization(RETAINED_SESSIONS, metadata=dict(metadata)))


@dg.job(
    name=RETENTION_JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "3600", **REMOVES},
    description="Cuts sessions older than MEMORY_RETENTION down to their prompts and summary.",
)
def apply_retention() -> None:
    """Apply the policy."""
    cut_old_sessions()
