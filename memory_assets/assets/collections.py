"""The Chroma collections: disposable mirrors of the lake's tables.

They need no concurrency pool: Chroma's server takes several writers, and a project has one
at a time by its lock. (A pool would harm: a step that waits for a slot spins at full CPU,
and the slot of a killed process is freed only by the daemon. Measured at Dagster 1.13.27.)
"""

from functools import partial

import dagster as dg

from memory_assets.assets.observations import observations
from memory_assets.assets.session_summaries import session_summaries
from memory_assets.assets.step import StepResults, if_embedding, stage_and_checks
from memory_assets.assets.turn_embeddings import turn_embeddings
from memory_assets.assets.user_prompts import user_prompts
from memory_assets.checks.by_asset import specs_of
from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.metadata import OWNERS, SEARCHED_FIRST, lineage_of, plain_schema
from memory_assets.partitions import projects
from memory_assets.pipeline.collection_rows import CHUNK_COLUMNS
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.embed import embed_project
from memory_assets.pipeline.index import (
    OBSERVATIONS_INDEX,
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedTable,
    index_project,
)
from memory_assets.pipeline.report import StageReport
from memory_assets.resources import MemoryResource

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
def session_collection(context: dg.AssetExecutionContext, memory: MemoryResource) -> StepResults:
    """The chunks of each agent's sessions in Chroma, in `<agent>-sessions`."""
    stage = partial(index_project, index=SESSIONS_INDEX)
    yield from stage_and_checks(context, memory, if_embedding(SESSIONS_INDEX.stage, stage))


def _embed_and_index(components: Components, project: str, index: IndexedTable) -> StageReport:
    embedded = embed_project(components, project, source_table=index.table, table=index.embeddings)
    report = index_project(components, project, index)
    report.details.update(embedded.details)
    report.seconds += embedded.seconds
    return report


def _embedded_collection(
    table: dg.AssetsDefinition, index: IndexedTable, description: str
) -> dg.AssetsDefinition:
    @dg.asset(
        name=index.stage,
        deps=[table],
        partitions_def=projects,
        group_name="collections",
        kinds={"chroma", "onnx"},
        owners=OWNERS,
        code_version=DEFAULT_EMBEDDER,
        retry_policy=_RETRY,
        description=description,
        check_specs=specs_of(index.stage),
    )
    def collection(context: dg.AssetExecutionContext, memory: MemoryResource) -> StepResults:
        stage = partial(_embed_and_index, index=index)
        yield from stage_and_checks(context, memory, if_embedding(index.stage, stage))

    return collection


prompt_collection = _embedded_collection(
    user_prompts,
    PROMPTS_INDEX,
    "What humans typed in Chroma, in `user-prompts`. Embedded here; the vectors are kept.",
)
summary_collection = _embedded_collection(
    session_summaries,
    SUMMARIES_INDEX,
    "The session summaries in Chroma, in `session-summaries`. Embedded here; the vectors are kept.",
)
observation_collection = _embedded_collection(
    observations,
    OBSERVATIONS_INDEX,
    "The observations in Chroma, in `observations`. Embedded here; the vectors are kept.",
)
