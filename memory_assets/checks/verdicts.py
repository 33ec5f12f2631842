"""The one shape of our checks: a verdict on one project, taken while nobody writes it."""

from collections.abc import Callable

import dagster as dg

from memory_assets.errors import no_text_in_errors
from memory_assets.metadata import checked
from memory_assets.partitions import projects
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.proof.verify import Verdict
from memory_assets.resources import MemoryResource

Verify = Callable[[Components, str], Verdict]


def verdict_check(
    asset: dg.AssetsDefinition,
    name: str,
    verify_project: Verify,
    description: str,
    *,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetChecksDefinition:
    """Return a partitioned check that reports `verify_project(components, project)`."""

    @dg.asset_check(
        asset=asset,
        name=name,
        description=description,
        blocking=blocking,
        partitions_def=projects,
    )
    @no_text_in_errors()
    def check(
        context: dg.AssetCheckExecutionContext, memory: MemoryResource
    ) -> dg.AssetCheckResult:
        components, project = memory.components(), context.partition_key
        with components.project_lock(project):
            verdict = verify_project(components, project)
        return checked(verdict, severity)

    return check
