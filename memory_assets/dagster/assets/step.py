"""The step that all partitioned assets have: run a stage, then the
[asset checks](https://docs.dagster.io/guides/test/asset-checks) of its tables."""

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
    """Run a stage for the partition's project; yield the materialization of the asset, then
    the results of its checks."""
    asset = context.asset_key.to_user_string()
    yield from stages_and_checks(context, memory, {asset: (stage, table)})


def stages_and_checks(
    context: dg.AssetExecutionContext,
    memory: MemoryResource,
    stages: Mapping[str, tuple[Stage, Table | None]],
) -> StepResults:
    """Run the stages of a step for the partition's project, which is locked meanwhile; yield
    the materialization and check results of each selected asset.

    If a blocking check fails or a check raises an error, the step fails, and neither the
    step's later assets nor those downstream are made.
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
    """Return a stage that reports that nothing was done while `MEMORY_EMBEDDER` is none."""

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
