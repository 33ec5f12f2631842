"""The one shape of our assets' steps: a stage, then the checks of what it made."""

from collections.abc import Callable, Iterator, Mapping

import dagster as dg

from memory_assets.dagster.checks.asset_checks import check_results
from memory_assets.dagster.metadata import materialized
from memory_assets.dagster.resources import MemoryResource
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.indexes.collections import INDEXES
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.stores.lake.schemas import Table

_EMBEDDINGS = {index.embeddings.name for index in INDEXES}
Stage = Callable[[Components, str], StageReport]
StepResults = Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]


def stage_and_checks(
    context: dg.AssetExecutionContext,
    memory: MemoryResource,
    stage: Stage,
    table: Table | None = None,
) -> StepResults:
    """Yield what a stage made of the partition's project, then what each of the asset's
    checks finds in it."""
    asset = context.asset_key.to_user_string()
    yield from stages_and_checks(context, memory, {asset: (stage, table)})


def stages_and_checks(
    context: dg.AssetExecutionContext,
    memory: MemoryResource,
    stages: Mapping[str, tuple[Stage, Table | None]],
) -> StepResults:
    """Yield, for each selected asset of a step, what its stage made of the partition's project
    and what its checks find. Nobody else writes the project meanwhile.

    The step fails when a blocking check does, or when a check cannot be made: either way
    nothing downstream is made, of the step's own assets neither.
    """
    with no_text_in_errors():
        components, project = memory.components(), context.partition_key
        selected = {key.to_user_string() for key in context.selected_asset_keys}
        with components.project_lock(project):
            try:
                for asset, (stage, table) in stages.items():
                    if selected:
                        report = stage(components, project)
                    if asset in selected:
                        yield materialized(components, report, table)
                    checks = context.selected_asset_check_keys
                    if not (yield from check_results(components, project, asset, checks)):
                        break
            finally:
                components.rows_to_check.forget()


def if_embedding(name: str, stage: Stage) -> Stage:
    """Return a stage that does nothing, and says so, while no vectors are made."""

    def stage_or_nothing(components: Components, project: str) -> StageReport:
        if components.embeds:
            return stage(components, project)
        report = StageReport(name, project, details={"embedder": "none"})
        for entry in components.catalog.quarantine.entries(project):
            if entry.stage in _EMBEDDINGS:  # no session is held back for want of vectors
                components.catalog.quarantine.release(project, entry.session_id, entry.stage)
        report.add_products(list(components.catalog.products.of_project(name, project).values()))
        return report

    return stage_or_nothing
