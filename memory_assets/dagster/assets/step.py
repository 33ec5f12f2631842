"""The step that all partitioned assets have: bring the asset up to date, then run its
[asset checks](https://docs.dagster.io/guides/test/asset-checks)."""

# No `from __future__ import annotations` in asset modules: Dagster reads the annotation
# of `context` at run time (dagster#26837).

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from memory_assets.dagster.asset_checks import check_results, specs_of
from memory_assets.dagster.metadata import OWNERS, SEARCHED_FIRST, materialized
from memory_assets.dagster.partitions import partitions_of
from memory_assets.dagster.resources import MemoryParam, MemoryResource
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
                        yield materialized(components, report, STEPS[asset])
                    checks = context.selected_asset_check_keys
                    if not (yield from check_results(components, project, asset, checks)):
                        break
            finally:
                components.rows_to_check.forget()


def step_asset(
    name: str,
    description: str,
    *,
    group: str,
    kinds: set[str],
    searched: bool = False,
    metadata: Mapping[str, Any] | None = None,
    retry_policy: dg.RetryPolicy | None = None,
) -> dg.AssetsDefinition:
    """Return the asset of one step, partitioned as the step says; `searched`: a search needs it, so
    it runs before others."""
    step = STEPS[name]

    @dg.asset(
        name=name,
        description=description,
        deps=step.deps,
        partitions_def=partitions_of(name),
        group_name=group,
        kinds=kinds,
        owners=OWNERS,
        op_tags=SEARCHED_FIRST if searched else None,
        code_version=step.code_version,
        check_specs=specs_of(name),
        metadata=metadata,
        retry_policy=retry_policy,
    )
    def asset(context: dg.AssetExecutionContext, memory: MemoryParam) -> StepResults:
        yield from run_steps(context, memory)

    return asset
