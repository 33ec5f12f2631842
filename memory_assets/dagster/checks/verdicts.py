"""The one shape of our checks: a verdict on one project, reported by the step of the asset
that is checked.

A check is not a step of its own: 26 of those made most of a run's events, and each of
them cost as much as the check. What a blocking one finds fails the step, so that nothing
downstream runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import dagster as dg

from memory_assets.dagster.metadata import checked
from memory_assets.dagster.partitions import projects
from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.stage.components import Components

Verify = Callable[[Components, str], Verdict]


@dataclass(frozen=True)
class Check:
    """What must hold of one asset of each project, and what follows when it does not."""

    asset: str
    name: str
    verify: Verify
    description: str
    blocking: bool = False
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR

    @property
    def spec(self) -> dg.AssetCheckSpec:
        """The check as Dagster knows it: partitioned, like its asset."""
        return dg.AssetCheckSpec(
            self.name,
            asset=self.asset,
            description=self.description,
            blocking=self.blocking,
            partitions_def=projects,
        )


def results(
    components: Components, project: str, checks: Iterable[Check]
) -> Iterator[dg.AssetCheckResult]:
    """Yield what each check finds in a project. The caller holds the project's lock."""
    for check in checks:
        yield checked(check.asset, check.name, check.verify(components, project), check.severity)
