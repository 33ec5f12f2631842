"""What blocks everything downstream: a secret that our redactor, or somebody else's
scanner, still finds in what was written."""

from functools import partial

import dagster as dg

from memory_assets.assets import collections
from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.redaction_audit import redaction_audit
from memory_assets.assets.session_summaries import session_summaries
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.assets.turn_embeddings import turn_embeddings
from memory_assets.assets.user_prompts import user_prompts
from memory_assets.checks.verdicts import verdict_check
from memory_assets.pipeline.proof.independent_scan import independent_scanner_finds_nothing
from memory_assets.pipeline.proof.verify import no_secrets_remain
from memory_assets.stores import schemas
from memory_assets.stores.lake import redacted_columns
from memory_assets.stores.schemas import Table

ASSET_OF = {
    "redacted_records": redacted_records,
    "redaction_audit": redaction_audit,
    "turn_chunks": turn_chunks,
    "turn_embeddings": turn_embeddings,
    "user_prompts": user_prompts,
    "prompt_embeddings": collections.prompt_collection,
    "session_summaries": session_summaries,
    "summary_embeddings": collections.summary_collection,
}
"""The asset that writes each table of the lake."""


def _own_check(table: Table) -> dg.AssetChecksDefinition:
    return verdict_check(
        ASSET_OF[table.name],
        "no_secrets_remain",
        partial(no_secrets_remain, table=table),
        "The redactor finds nothing in any free text of the table as it lies on disk. "
        "Blocking: nothing is made, embedded or indexed from a table that fails.",
        blocking=True,
    )


def _independent_check(table: Table) -> dg.AssetChecksDefinition:
    return verdict_check(
        ASSET_OF[table.name],
        "independent_scanner_finds_nothing",
        partial(independent_scanner_finds_nothing, table=table),
        "A scanner that shares nothing with the redactor (Kingfisher) finds nothing in any "
        f"string of {table.name}, ids and lists included. Blocking; a warning on platforms that "
        "have no such scanner.",
        blocking=True,
    )


CHECKS = [
    *(_own_check(table) for table in schemas.TABLES.values() if redacted_columns(table.model)),
    *(_independent_check(table) for table in schemas.TABLES.values()),
]
