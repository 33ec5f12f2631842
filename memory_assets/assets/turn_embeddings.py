"""turn_embeddings: the costliest step, kept apart.

An asset of its own, not a part of the collection: embedding is nine tenths of the cost
of an ingest, so its vectors are kept in the lake, where a damaged or moved Chroma is
rebuilt from them in minutes, and where their model is recorded row by row.
"""

from functools import partial

import dagster as dg

from memory_assets.assets.step import StepResults, if_embedding, stage_and_checks
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.checks.by_asset import specs_of
from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.partitions import projects
from memory_assets.pipeline.embed import embed_project
from memory_assets.resources import MemoryResource
from memory_assets.stores.schemas import TURN_CHUNKS, TURN_EMBEDDINGS


@dg.asset(
    deps=[turn_chunks],
    partitions_def=projects,
    group_name="turns",
    kinds={"parquet", "onnx"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    check_specs=specs_of("turn_embeddings"),
    code_version=DEFAULT_EMBEDDER,
    metadata=definition_metadata(
        TURN_EMBEDDINGS, TURN_CHUNKS.name, {"embedder_id": (), "vector": ("text",)}
    ),
)
def turn_embeddings(context: dg.AssetExecutionContext, memory: MemoryResource) -> StepResults:
    """One vector of 384 float32 for each passage; equal text is embedded once."""
    stage = partial(embed_project, source_table=TURN_CHUNKS, table=TURN_EMBEDDINGS)
    stage_or_nothing = if_embedding(TURN_EMBEDDINGS.name, stage)
    yield from stage_and_checks(context, memory, stage_or_nothing, TURN_EMBEDDINGS)
