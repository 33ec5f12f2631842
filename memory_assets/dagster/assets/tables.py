"""The tables that are made of redacted_records, and their vectors: an asset for each stage of
`pipeline/stages.py`, which says what it is and how it is made.

Vectors are assets of their own, not a part of the collections: embedding is nine tenths of
the cost of an ingest, so they are kept in the lake, where a damaged or moved Chroma is rebuilt
from them in minutes, and where their model is recorded row by row.
"""

from memory_assets.dagster.assets.step import step_asset, step_spec
from memory_assets.dagster.metadata import definition_metadata
from memory_assets.pipeline.stages import STAGES

TABLES = [
    step_asset(
        step_spec(
            stage.table.name,
            stage.description,
            group=stage.group,
            kinds={"parquet", *stage.reads},
            metadata=definition_metadata(stage.table),
        ),
        searched=stage.searched,
    )
    for stage in STAGES
]
