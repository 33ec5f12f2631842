"""The asset keyword_index: all rows that a search can find, in one SQLite file.

It does not need Chroma, so that searches are answered while Chroma is down.
"""

import dagster as dg

from memory_assets.dagster.assets.step import StepResults, stage_and_checks
from memory_assets.dagster.checks.asset_checks import specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST
from memory_assets.dagster.partitions import projects
from memory_assets.dagster.resources import MemoryParam
from memory_assets.keywords import TERMS_VERSION
from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.indexes.keywords import STAGE, index_keywords


@dg.asset(
    deps=[index.embeddings.name for index in INDEXES],
    partitions_def=projects,
    group_name="collections",
    kinds={"sqlite"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    code_version=TERMS_VERSION,
    check_specs=specs_of(STAGE),
)
def keyword_index(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
    """Terms, texts and vectors of all rows that a search can find, in `keywords.db`."""
    yield from stage_and_checks(context, memory, index_keywords)
