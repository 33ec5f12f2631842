"""The asset raw_sessions: facts about the transcripts on disk."""

# No `from __future__ import annotations` in asset modules: Dagster reads the annotation
# of `context` at run time (dagster#26837).

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, run_steps
from memory_assets.dagster.backfill import run_waiting
from memory_assets.dagster.batch import WorkersParam
from memory_assets.dagster.metadata import OWNERS, plain_schema
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.scan.raw_sessions import STAGE
from memory_assets.stores.catalog.schema import SOURCE_COLUMNS


@dg.asset(
    partitions_def=projects,
    group_name="transcripts",
    kinds={"json", "sqlite"},
    owners=OWNERS,
    metadata={
        "dagster/column_schema": plain_schema(SOURCE_COLUMNS),
        "dagster/table_name": "catalog.sources.rows",
    },
    code_version=STEPS[STAGE].code_version,
)
def raw_sessions(
    context: dg.AssetExecutionContext, memory: MemoryParam, workers: WorkersParam
) -> StepResults:
    """Facts about each transcript of a project: size, lines, records, prompts, bad lines.

    The files stay where their agents wrote them, and their text is not stored. A file that its
    agent deleted is counted as gone; what was made of it stays.
    """
    run_waiting(context, memory, workers)
    yield from run_steps(context, memory)
