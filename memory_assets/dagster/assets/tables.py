"""The tables that are made of redacted_records, and their vectors: an asset for each stage of
`pipeline/stages.py`, which says what it is and how it is made.

Vectors are assets of their own, not a part of the collections: embedding is nine tenths of
the cost of an ingest, so they are kept in the lake, where a damaged or moved Chroma is rebuilt
from them in minutes, and where their model is recorded row by row.
"""

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, run_steps
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, definition_metadata
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.stages import STAGES, Stage


def _table(stage: Stage) -> dg.AssetsDefinition:
    table = stage.table
    step = STEPS[table.name]

    @dg.asset(
        name=table.name,
        deps=step.deps,
        partitions_def=projects,
        group_name=stage.group,
        kinds={"parquet", *stage.reads},
        owners=OWNERS,
        op_tags=SEARCHED_FIRST if stage.searched else None,
        description=stage.description,
        check_specs=specs_of(table.name),
        code_version=step.code_version,
        metadata=definition_metadata(table, step.deps[0], stage.made_from),
    )
    def made(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
        yield from run_steps(context, memory)

    return made


TABLES = [_table(stage) for stage in STAGES]
