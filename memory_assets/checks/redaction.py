"""no_secrets_remain, which blocks everything downstream when it fails."""

import dagster as dg

from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.session_summaries import session_summaries
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.assets.user_prompts import user_prompts
from memory_assets.metadata import checked
from memory_assets.partitions import projects
from memory_assets.pipeline.verify import no_secrets_remain
from memory_assets.resources import MemoryResource
from memory_assets.stores import schemas
from memory_assets.stores.schemas import Table

NAME = "no_secrets_remain"


def _check(asset: dg.AssetsDefinition, table: Table) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=asset,
        name=NAME,
        blocking=True,
        partitions_def=projects,
        description=(
            "The redactor finds nothing in any free text of the table as it lies on disk. "
            "Blocking: nothing is made, embedded or indexed from a table that fails."
        ),
    )
    def no_secrets(
        context: dg.AssetCheckExecutionContext, memory: MemoryResource
    ) -> dg.AssetCheckResult:
        components, project = memory.components(), context.partition_key
        with components.project_lock(project):
            return checked(no_secrets_remain(components, project, table))

    return no_secrets


CHECKS = [
    _check(redacted_records, schemas.REDACTED_RECORDS),
    _check(turn_chunks, schemas.TURN_CHUNKS),
    _check(user_prompts, schemas.USER_PROMPTS),
    _check(session_summaries, schemas.SESSION_SUMMARIES),
]
