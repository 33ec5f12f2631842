"""The assets of the Chroma collections, one for each kind of rows that is searched
(`search_kinds.py`). They are copies of the lake's tables and can be deleted.

They need no [concurrency pool](https://docs.dagster.io/guides/operate/managing-concurrency):
Chroma's server accepts several writers, and a project has one at a time by its lock. A pool
has costs: a step that waits for a slot uses a whole CPU, and the slot of a killed process is
freed by the daemon only (seen with Dagster 1.13.27).
"""

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, run_steps
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, lineage_of, plain_schema
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.indexes.collection_rows import columns_of
from memory_assets.pipeline.indexes.collections import (
    INDEXES,
    SESSIONS_INDEX,
    IndexedTable,
)
from memory_assets.pipeline.ingest.steps import STEPS

_RETRY = dg.RetryPolicy(max_retries=2, delay=2, backoff=dg.Backoff.EXPONENTIAL)


def _collection(index: IndexedTable) -> dg.AssetsDefinition:
    """Return the asset that mirrors the rows of `index` in Chroma."""
    step = STEPS[index.stage]
    name, columns = index.collection("<agent>"), columns_of(index.kind)
    sources = {
        each: (index.embeddings.name if each == "embedding" else index.table.name, column)
        for each, column in columns.items()
    }

    @dg.asset(
        name=index.stage,
        deps=step.deps,
        partitions_def=projects,
        group_name="collections",
        kinds={"chroma"},
        owners=OWNERS,
        op_tags=SEARCHED_FIRST if index == SESSIONS_INDEX else None,
        code_version=step.code_version,
        retry_policy=_RETRY,
        description=f"The rows of {index.table.name} in Chroma, in `{name}`.",
        check_specs=specs_of(index.stage),
        metadata={
            "dagster/column_schema": plain_schema(
                {each: f"From `{column}`." for each, column in columns.items()}
            ),
            "dagster/column_lineage": lineage_of(sources),
        },
    )
    def collection(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
        yield from run_steps(context, memory)

    return collection


COLLECTIONS = [_collection(index) for index in INDEXES]
