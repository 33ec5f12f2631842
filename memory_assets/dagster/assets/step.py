"""The step of every partitioned asset: bring the asset up to date, then run its
[asset checks](https://docs.dagster.io/guides/test/asset-checks).

The checks run in the step of their asset, because a step for each check made most of a run's
events, and cost as much as the checks. A blocking check that fails makes the step fail, so
that nothing downstream runs. Results have counts, never text.
"""

# No `from __future__ import annotations` in asset modules: Dagster reads the annotation
# of `context` at run time (dagster#26837).

import warnings
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from memory_assets.dagster.metadata import SEARCHED_FIRST, check_result, materialization
from memory_assets.dagster.op_events import OpEvents
from memory_assets.dagster.partitions import agent_memory, partitions_of, projects, workspaces
from memory_assets.dagster.resources import (
    MemoryParam,
    MemoryResource,
    WorkersParam,
    present_ruleset_version,
)
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.checks.checks import Verified, checks_of
from memory_assets.pipeline.ingest.batch_run import BatchRun, evaluation
from memory_assets.pipeline.ingest.passes import SUMMARIES, VECTORS, Pass, failed_asset
from memory_assets.pipeline.ingest.steps import STEPS, Materialized, run_step
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.plan.plan import partitions_with_agent_memory
from memory_assets.pipeline.scan.on_disk import walk_once
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.workspaces import Workspaces

# Partitioned checks are new in 1.13 and marked as preview; without them a check of a
# partitioned asset would have to read every partition.
warnings.filterwarnings(
    "ignore",
    message="Specifying a partitions_def on an AssetCheckSpec",
    category=dg.PreviewWarning,
)
_NO_SUCH_PARTITION = (
    "nothing of a project or workspace is on disk or on record: is the partition misspelt? The "
    "sensors add a partition for each that there is."
)
StepResults = Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]


def run_steps(
    context: dg.AssetExecutionContext,
    memory: MemoryResource,
    workers: Workers,
    assets: Sequence[str],
) -> StepResults:
    """Run the steps of `assets` for the partition's project, which is locked meanwhile; yield the
    materialization and check results of each selected asset.

    If a blocking check fails or a check raises an error, the step fails, and neither the
    step's later assets nor those downstream are made. In a run for several partitions see
    `_run_many`.
    """
    with no_text_in_errors():
        components = memory.components()
    if context.has_partition_key or context.has_partition_key_range:
        partitions = context.partition_keys
    else:
        partitions = []
    if len(partitions) != 1:
        _run_many(context, components, workers, assets, partitions)
        return
    if not _existing_partitions(components, partitions, partitions_of(assets[0])):
        raise dg.Failure(_NO_SUCH_PARTITION, allow_retries=False)
    (project,) = partitions
    with no_text_in_errors(), components.project_lock(project):
        for asset in assets:
            for outcome in _outcomes(context, components, project, asset):
                if isinstance(outcome, Verified):
                    yield check_result(asset, outcome.name, outcome.verdict)
                elif dg.AssetKey(asset) in context.selected_asset_keys:
                    yield materialization(components, outcome.report)
                if failed_asset(outcome):
                    return


def _outcomes(
    context: dg.AssetExecutionContext, components: Components, project: str, asset: str
) -> Iterator[Materialized | Verified]:
    """Make an asset, unless the run has only checks, and run its selected checks."""
    keys = context.selected_asset_check_keys
    checks = {key.name for key in keys if key.asset_key == dg.AssetKey(asset)}
    makes = bool(context.selected_asset_keys)
    return run_step(components, project, STEPS[asset], checks, makes=makes)


def _run_many(
    context: dg.AssetExecutionContext,
    components: Components,
    workers: Workers,
    assets: Sequence[str],
    partitions: Sequence[str],
) -> None:
    """Make `assets`, and the selected assets downstream of them, for many partitions, with the
    passes and events of ingest_batch. Nothing is yielded, so that Dagster skips the steps
    downstream: for a yielded result it would store the same metadata for each partition
    (dagster#21072). A run of checks alone that names no partition, as the page's "Execute all"
    starts it, checks every partition."""
    if not context.selected_asset_keys:
        with no_text_in_errors():
            failure = _check_many(context, components, assets, partitions)
        if failure:
            raise dg.Failure(failure, allow_retries=False)
        return
    if not partitions:
        raise dg.Failure("choose partitions", allow_retries=False)
    existing = _existing_partitions(components, partitions, partitions_of(assets[0]))
    chosen = _downstream(assets, context.run.asset_selection)
    log = OpEvents(context.op_execution_context)
    batch = BatchRun(components, workers)
    with no_text_in_errors():
        if chosen >= _PROJECT_ASSETS:
            batch.index_words(log, existing)
            passes: Sequence[Pass] = (SUMMARIES, VECTORS)
        else:
            batch.take(existing)
            passes = [Pass("chosen assets", tuple(asset for asset in STEPS if asset in chosen))]
        for ingest_pass in passes:
            batch.run_pass(log, ingest_pass)
    if failure := batch.failure() or (
        _NO_SUCH_PARTITION if len(existing) < len(partitions) else ""
    ):
        raise dg.Failure(failure, allow_retries=False)


def _check_many(
    context: dg.AssetExecutionContext,
    components: Components,
    assets: Sequence[str],
    partitions: Sequence[str],
) -> str:
    """Log the results of the selected checks of `assets` for partitions, [] for all; return for
    how many of them a blocking one failed, "" for none."""
    definition = str(partitions_of(assets[0]).name)
    chosen = partitions or context.instance.get_dynamic_partitions(definition)
    evaluations, failed = [], set()
    for partition in chosen:
        for asset in assets:
            for outcome in _outcomes(context, components, partition, asset):
                if isinstance(outcome, Verified):
                    evaluations.append(evaluation(outcome))
                if failed_asset(outcome):
                    failed.add(partition)
    OpEvents(context.op_execution_context).store(evaluations)
    if not failed:
        return ""
    return (
        f"A blocking check failed for {len(failed)} of {len(chosen)} partitions. The log says for "
        "which and why."
    )


def _downstream(assets: Sequence[str], selection: Collection[dg.AssetKey] | None) -> set[str]:
    """Return `assets`, and the selected assets (None: all) downstream of them."""
    names = None if not selection else {key.to_user_string() for key in selection}
    downstream = set(assets)
    for asset, step in STEPS.items():
        if downstream.intersection(step.deps) and (names is None or asset in names):
            downstream.add(asset)
    return downstream


def _existing_partitions(
    components: Components, partitions: Sequence[str], definition: dg.DynamicPartitionsDefinition
) -> list[str]:
    """Return the partitions of which anything is on disk or on record."""
    with no_text_in_errors():
        if definition == agent_memory:
            existing: Container[str] = partitions_with_agent_memory(components)
        elif definition == workspaces:
            indexed = {workspace.partition for workspace in Workspaces(components.data_dir).all()}
            existing = indexed | components.catalog.projects()
        elif all(map(components.catalog.sources.rows, partitions)):
            existing = partitions
        else:
            existing = components.catalog.projects() | walk_once(components).keys()
    return [name for name in partitions if name in existing]


_PROJECT_ASSETS = {name for name, step in STEPS.items() if step.partitions == projects.name}


def step_spec(
    name: str,
    description: str,
    *,
    group: str,
    kinds: set[str],
    metadata: Mapping[str, Any] | None = None,
    freshness_policy: dg.FreshnessPolicy | None = None,
) -> dg.AssetSpec:
    """Return the specification of the asset of one step."""
    step = STEPS[name]
    return dg.AssetSpec(
        name,
        description=description,
        deps=step.deps,
        group_name=group,
        kinds=kinds,
        code_version=step.code_version or present_ruleset_version(),
        metadata=metadata or {},
        freshness_policy=freshness_policy,
        skippable=True,
    )


def step_asset(
    *specs: dg.AssetSpec, searched: bool = False, retry_policy: dg.RetryPolicy | None = None
) -> dg.AssetsDefinition:
    """Return the asset of one step, or of several that are made together, partitioned as the steps
    say; a backfill makes those of projects in one run. `searched`: a search needs it, so it runs
    before others. Its checks, which are partitioned as it is, can be run without it."""
    names = tuple(spec.key.to_user_string() for spec in specs)
    partitions = partitions_of(names[0])

    @dg.multi_asset(
        name=names[0],
        specs=specs,
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run() if partitions == projects else None,
        op_tags=SEARCHED_FIRST if searched else None,
        check_specs=[
            dg.AssetCheckSpec(
                check.name,
                asset=name,
                description=check.description,
                blocking=check.blocking,
                partitions_def=partitions,
            )
            for name in names
            for check in checks_of(name)
        ],
        can_subset=True,
        retry_policy=retry_policy,
    )
    def asset(
        context: dg.AssetExecutionContext, memory: MemoryParam, workers: WorkersParam
    ) -> StepResults:
        yield from run_steps(context, memory, workers, names)

    return asset
