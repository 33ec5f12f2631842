"""no_secrets_remain, which blocks everything downstream when it fails."""

import dagster as dg

from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.metadata import checked
from memory_assets.partitions import projects
from memory_assets.pipeline.verify import no_secrets_remain
from memory_assets.resources import MemoryResource
from memory_assets.stores.schemas import REDACTED_RECORDS, TURN_CHUNKS

NAME = "no_secrets_remain"


@dg.asset_check(asset=redacted_records, name=NAME, blocking=True, partitions_def=projects)
def redacted_records_hold_no_secrets(
    context: dg.AssetCheckExecutionContext, memory: MemoryResource
) -> dg.AssetCheckResult:
    """The redactor finds nothing in any free text of the table as it lies on disk.

    Blocking: nothing is chunked, embedded or indexed from a table that fails.
    """
    return checked(no_secrets_remain(memory.components(), context.partition_key, REDACTED_RECORDS))


@dg.asset_check(asset=turn_chunks, name=NAME, blocking=True, partitions_def=projects)
def turn_chunks_hold_no_secrets(
    context: dg.AssetCheckExecutionContext, memory: MemoryResource
) -> dg.AssetCheckResult:
    """The redactor finds nothing in any passage: putting texts together made no secret.

    Blocking: nothing is embedded or indexed from a table that fails.
    """
    return checked(no_secrets_remain(memory.components(), context.partition_key, TURN_CHUNKS))


CHECKS = [redacted_records_hold_no_secrets, turn_chunks_hold_no_secrets]
