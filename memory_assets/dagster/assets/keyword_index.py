"""The asset keyword_index: all rows that a search can find, in one SQLite file.

It does not need Chroma, so that searches are answered while Chroma is down.
"""

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, run_steps
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.pipeline.indexes.keywords import STAGE
from memory_assets.pipeline.ingest.steps import STEPS

_STEP = STEPS[STAGE]


@dg.asset(
    deps=_STEP.deps,
    partitions_def=projects,
    group_name="collections",
    kinds={"sqlite"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    code_version=_STEP.code_version,
    check_specs=specs_of(STAGE),
)
def keyword_index(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Terms, texts and vectors of all rows that a search can find, in `keywords.db`."""
    yield from run_steps(context, memory)
