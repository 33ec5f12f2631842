"""turn_embeddings: the costliest step, kept apart.

An asset of its own, not a part of the collection: embedding is nine tenths of the cost
of an ingest, so its vectors are kept in the lake, where a damaged or moved Chroma is
rebuilt from them in minutes, and where their model is recorded row by row.
"""

import dagster as dg

from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.embedding import DEFAULT_EMBEDDER
from memory_assets.errors import no_text_in_errors
from memory_assets.metadata import OWNERS, definition_metadata, materialized
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
    code_version=DEFAULT_EMBEDDER,
    metadata=definition_metadata(
        TURN_EMBEDDINGS, TURN_CHUNKS.name, {"embedder_id": (), "vector": ("text",)}
    ),
)
@no_text_in_errors()
def turn_embeddings(
    context: dg.AssetExecutionContext, memory: MemoryResource
) -> dg.MaterializeResult[None]:
    """One vector of 384 float32 for each passage; equal text is embedded once."""
    components = memory.components()
    report = embed_project(
        components, context.partition_key, source_table=TURN_CHUNKS, table=TURN_EMBEDDINGS
    )
    return materialized(components, report, TURN_EMBEDDINGS)
