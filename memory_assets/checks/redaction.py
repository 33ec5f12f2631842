"""no_secrets_remain, which blocks everything downstream when it fails."""

from functools import partial

import dagster as dg

from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.session_summaries import session_summaries
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.assets.user_prompts import user_prompts
from memory_assets.checks.verdicts import verdict_check
from memory_assets.pipeline.verify import no_secrets_remain
from memory_assets.stores import schemas
from memory_assets.stores.schemas import Table


def _check(asset: dg.AssetsDefinition, table: Table) -> dg.AssetChecksDefinition:
    return verdict_check(
        asset,
        "no_secrets_remain",
        partial(no_secrets_remain, table=table),
        "The redactor finds nothing in any free text of the table as it lies on disk. "
        "Blocking: nothing is made, embedded or indexed from a table that fails.",
        blocking=True,
    )


CHECKS = [
    _check(redacted_records, schemas.REDACTED_RECORDS),
    _check(turn_chunks, schemas.TURN_CHUNKS),
    _check(user_prompts, schemas.USER_PROMPTS),
    _check(session_summaries, schemas.SESSION_SUMMARIES),
]
