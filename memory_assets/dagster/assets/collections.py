"""The Chroma collections: disposable mirrors of the lake's tables.

They need no concurrency pool: Chroma's server takes several writers, and a project has one
at a time by its lock. (A pool would harm: a step that waits for a slot spins at full CPU,
and the slot of a killed process is freed only by the daemon. Measured at Dagster 1.13.27.)
"""

from functools import partial

import dagster as dg

from memory_assets.dagster.assets.embeddings import (
    observation_embeddings,
    prompt_embeddings,
    summary_embeddings,
    turn_embeddings,
)
from memory_assets.dagster.assets.step import StepResults, if_embedding, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, lineage_of, plain_schema
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.pipeline.indexes.collection_rows import CHUNK_COLUMNS
from memory_assets.pipeline.indexes.collections import (
    OBSERVATIONS_INDEX,
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedTable,
    index_project,
)

_LINEAGE = {
    name: ("turn_embeddings" if name == "embedding" else "turn_chunks", column)
    for name, column in CHUNK_COLUMNS.items()
}
_RETRY = dg.RetryPolicy(max_retries=2, delay=2, backoff=dg.Backoff.EXPONENTIAL)


@dg.asset(
    deps=[turn_embeddings],
    partitions_def=projects,
    group_name="collections",
    kinds={"chroma"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    code_version=DEFAULT_EMBEDDER,
    retry_policy=_RETRY,
    check_specs=specs_of(SESSIONS_INDEX.stage),
    metadata={
        "dagster/column_schema": plain_schema(
            {name: f"From `{column}`." for name, column in CHUNK_COLUMNS.items()}
        ),
        "dagster/column_lineage": lineage_of(_LINEAGE),
    },
)
def session_collection(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """The chunks of each agent's sessions in Chroma, in `<agent>-sessions`."""
    stage = partial(index_project, index=SESSIONS_INDEX)
    yield from stage_and_checks(context, memory, if_embedding(SESSIONS_INDEX.stage, stage))


def _collection(
    embeddings: dg.AssetsDefinition, index: IndexedTable, description: str
) -> dg.AssetsDefinition:
    """Return the asset that mirrors the rows of `index` in Chroma."""

    @dg.asset(
        name=index.stage,
        deps=[embeddings],
        partitions_def=projects,
        group_name="collections",
        kinds={"chroma"},
        owners=OWNERS,
        code_version=DEFAULT_EMBEDDER,
        retry_policy=_RETRY,
        description=description,
        check_specs=specs_of(index.stage),
    )
    def collection(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
        stage = partial(index_project, index=index)
        yield from stage_and_checks(context, memory, if_embedding(index.stage, stage))

    return collection


prompt_collection = _collection(
    prompt_embeddings, PROMPTS_INDEX, "What humans typed in Chroma, in `user-prompts`."
)
summary_collection = _collection(
    summary_embeddings,
    SUMMARIES_INDEX,
    "The session summaries in Chroma, in `session-summaries`.",
)
observation_collection = _collection(
    observation_embeddings, OBSERVATIONS_INDEX, "The observations in Chroma, in `observations`."
)
