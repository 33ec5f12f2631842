"""The checks of `pipeline/checks/checks.py` as Dagster's asset checks.

A check is not a step of its own: 26 of those made most of a run's events, and each of
them cost as much as the check. It runs in the step of the asset that it is about; what a
blocking one finds fails that step, so that nothing downstream runs.
"""

from __future__ import annotations

from collections.abc import Collection, Generator

import dagster as dg

from memory_assets.dagster.metadata import checked
from memory_assets.dagster.partitions import projects
from memory_assets.pipeline.checks.checks import checks_of
from memory_assets.pipeline.stage.components import Components


def specs_of(asset: str) -> list[dg.AssetCheckSpec]:
    """Return the checks of an asset for its definition: partitioned, as the asset is."""
    return [
        dg.AssetCheckSpec(
            check.name,
            asset=asset,
            description=check.description,
            blocking=check.blocking,
            partitions_def=projects,
        )
        for check in checks_of(asset)
    ]


def check_results(
    components: Components, project: str, asset: str, selected: Collection[dg.AssetCheckKey]
) -> Generator[dg.AssetCheckResult, None, bool]:
    """Yield what each selected check of an asset finds in a project, and return whether all
    the blocking ones passed. The caller holds the project's lock.

    Those that can look at what is new since they passed, do.
    """
    passed = True
    for check in checks_of(asset):
        if dg.AssetCheckKey(dg.AssetKey(asset), check.name) not in selected:
            continue
        verdict = check.verdict(components, project, new=True)
        passed = passed and (verdict.passed or verdict.warning or not check.blocking)
        yield checked(asset, check.name, verdict)
    return passed
