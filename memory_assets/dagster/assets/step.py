"""The step that all partitioned assets have: bring the asset up to date, then run its
[asset checks](https://docs.dagster.io/guides/test/asset-checks)."""

from collections.abc import Iterator, Sequence

import dagster as dg

from memory_assets.dagster.checks.asset_checks import check_results
from memory_assets.dagster.metadata import materialized
from memory_assets.dagster.resources import MemoryResource
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.ingest.steps import STEPS

StepResults = Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]


def run_steps(
    context: dg.AssetExecutionContext, memory: MemoryResource, assets: Sequence[str] = ()
) -> StepResults:
    """Run the steps of `assets`, or of the context's one asset, for the partition's project, which
    is locked meanwhile; yield the materialization and check results of each selected asset.

    If a blocking check fails or a check raises an error, the step fails, and neither the
    step's later assets nor those downstream are made.
    """
    with no_text_in_errors():
        components, project = memory.components(), context.partition_key
        selected = {key.to_user_string() for key in context.selected_asset_keys}
        with components.project_lock(project):
            try:
                for asset in assets or [context.asset_key.to_user_string()]:
                    if selected:
                        report = STEPS[asset].run(components, project)
                    if asset in selected:
                        yield materialized(components, report, STEPS[asset].table)
                    checks = context.selected_asset_check_keys
                    if not (yield from check_results(components, project, asset, checks)):
                        break
            finally:
                components.rows_to_check.forget()
