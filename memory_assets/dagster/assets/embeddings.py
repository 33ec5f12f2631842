"""The embeddings: one asset for each table of vectors.

Assets of their own, not a part of the collections: embedding is nine tenths of the cost of
an ingest, so its vectors are kept in the lake, where a damaged or moved Chroma is rebuilt
from them in minutes, and where their model is recorded row by row.
"""

from functools import partial

import dagster as dg

from memory_assets.dagster.assets.observations import observations
from memory_assets.dagster.assets.session_summaries import session_summaries
from memory_assets.dagster.assets.step import StepResults, if_embedding, stage_and_checks
from memory_assets.dagster.assets.turn_chunks import turn_chunks
from memory_assets.dagster.assets.user_prompts import user_prompts
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.pipeline.indexes.indexed_tables import (
    OBSERVATIONS_INDEX,
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedTable,
)
from memory_assets.pipeline.tables.embeddings import embed_project


def _embeddings(
    source: dg.AssetsDefinition, index: IndexedTable, group: str, description: str
) -> dg.AssetsDefinition:
    """Return the asset that embeds the texts of `source`."""
    table = index.embeddings

    @dg.asset(
        name=table.name,
        deps=[source],
        partitions_def=projects,
        group_name=group,
        kinds={"parquet", "onnx"},
        owners=OWNERS,
        op_tags=SEARCHED_FIRST,
        description=description,
        check_specs=specs_of(table.name),
        code_version=DEFAULT_EMBEDDER,
        metadata=definition_metadata(
            table, index.table.name, {"embedder_id": (), "vector": ("text",)}
        ),
    )
    def embeddings(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
        stage = partial(embed_project, source_table=index.table, table=table)
        yield from stage_and_checks(context, memory, if_embedding(table.name, stage), table)

    return embeddings


turn_embeddings = _embeddings(
    turn_chunks,
    SESSIONS_INDEX,
    "turns",
    "One vector of 384 float32 for each passage; equal text is embedded once.",
)
prompt_embeddings = _embeddings(
    user_prompts,
    PROMPTS_INDEX,
    "turns",
    "One vector of 384 float32 for each prompt; equal text is embedded once.",
)
summary_embeddings = _embeddings(
    session_summaries,
    SUMMARIES_INDEX,
    "sessions",
    "One vector of 384 float32 for each session summary; equal text is embedded once.",
)
observation_embeddings = _embeddings(
    observations,
    OBSERVATIONS_INDEX,
    "sessions",
    "One vector of 384 float32 for each observation; equal text is embedded once.",
)
