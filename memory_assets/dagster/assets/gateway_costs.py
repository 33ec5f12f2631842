"""The asset gateway_costs: what models at endpoints were asked in a week, and what it cost."""

import dagster as dg

from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.checks.figures import cost_figures

_DAYS = 7


@dg.asset(group_name="maintenance", kinds={"sqlite"})
@no_text_in_errors()
def gateway_costs(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """Requests, tokens, time and cost of the last seven days, by route and model.

    The figures of `memory costs --since 7d`. Materialized every Monday, if a model at an endpoint
    was asked at all, and on demand.
    """
    figures, table = cost_figures(memory.components(), _DAYS)
    return dg.MaterializeResult(
        metadata={**figures, "by_route_and_model": dg.MetadataValue.md(table)}
    )
