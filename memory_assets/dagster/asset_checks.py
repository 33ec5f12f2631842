"""The checks of `pipeline/checks/checks.py` as Dagster's
[asset checks](https://docs.dagster.io/guides/test/asset-checks).

Each check runs in the step of its asset, because 26 steps for checks alone made most of a run's
events, and cost as much as the checks. A blocking check that fails makes the step fail, so
that nothing downstream runs. Results have counts, never text.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Generator

import dagster as dg

from memory_assets.dagster.metadata import checked
from memory_assets.dagster.partitions import partitions_of
from memory_assets.pipeline.checks.checks import checks_of, note_run
from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.pipeline.stage.components import Components

# Partitioned checks are new in 1.13 and marked as preview; without them a check of a
# partitioned asset would have to read every partition.
warnings.filterwarnings(
    "ignore",
    message="Specifying a partitions_def on an AssetCheckSpec",
    category=dg.PreviewWarning,
)


def specs_of(asset: str) -> list[dg.AssetCheckSpec]:
    """Return the checks of an asset for its definition: partitioned, as the asset is."""
    return [
        dg.AssetCheckSpec(
            check.name,
            asset=asset,
            description=check.description,
            blocking=check.blocking,
            partitions_def=partitions_of(asset),
        )
        for check in checks_of(asset)
    ]


def check_results(
    components: Components, project: str, asset: str, selected: Collection[dg.AssetCheckKey]
) -> Generator[dg.AssetCheckResult, None, bool]:
    """Yield the results of the selected checks of an asset in a project; return whether all
    blocking ones passed. The caller holds the project's lock.

    Checks that can be incremental read only rows that changed since they passed.
    """
    passed, verdicts = True, dict[str, Verdict]()
    for check in checks_of(asset):
        if dg.AssetCheckKey(dg.AssetKey(asset), check.name) not in selected:
            continue
        verdict = verdicts[check.name] = check.enforced(components, project)
        passed = passed and (verdict.passed or verdict.warning or not check.blocking)
        yield checked(asset, check.name, verdict)
    version = STEPS[asset].code_version or components.ruleset_version
    note_run(components, project, asset, version, verdicts)
    return passed
