"""keyword_index: the words of everything that can be found, in one SQLite file.

It needs no Chroma, so that a search has something to answer from while Chroma is away.
Vectors that prompts, summaries and observations still lack are made here.
"""

import dagster as dg

from memory_assets.assets.observations import observations
from memory_assets.assets.session_summaries import session_summaries
from memory_assets.assets.step import StepResults, stage_and_checks
from memory_assets.assets.turn_embeddings import turn_embeddings
from memory_assets.assets.user_prompts import user_prompts
from memory_assets.checks.by_asset import specs_of
from memory_assets.keywords import TERMS_VERSION
from memory_assets.metadata import OWNERS, SEARCHED_FIRST
from memory_assets.partitions import projects
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.embed import embed_project
from memory_assets.pipeline.keywords import KINDS, STAGE, index_keywords
from memory_assets.pipeline.report import StageReport
from memory_assets.resources import MemoryResource


@dg.asset(
    deps=[turn_embeddings, user_prompts, session_summaries, observations],
    partitions_def=projects,
    group_name="collections",
    kinds={"sqlite"},
    owners=OWNERS,
    op_tags=SEARCHED_FIRST,
    code_version=TERMS_VERSION,
    check_specs=specs_of(STAGE),
)
def keyword_index(context: dg.AssetExecutionContext, memory: MemoryResource) -> StepResults:
    """Terms, texts and vectors of all that can be found, whatever its kind, in `keywords.db`."""
    yield from stage_and_checks(context, memory, _embed_and_index)


def _embed_and_index(components: Components, project: str) -> StageReport:
    if components.embeds:
        for index in KINDS.values():
            embed_project(components, project, source_table=index.table, table=index.embeddings)
    return index_keywords(components, project)
