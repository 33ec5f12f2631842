"""What blocks everything downstream: a secret that our redactor, or somebody else's
scanner, still finds in what was written."""

from functools import partial

from memory_assets.dagster.checks.verdicts import Check
from memory_assets.pipeline.checks.independent_scan import independent_scanner_finds_nothing
from memory_assets.pipeline.checks.verify import no_secrets_remain
from memory_assets.stores.lake import schemas
from memory_assets.stores.lake.lake import redacted_columns
from memory_assets.stores.lake.schemas import Table


def _own_check(table: Table) -> Check:
    return Check(
        table.name,
        "no_secrets_remain",
        partial(no_secrets_remain, table=table),
        "The redactor finds nothing in any free text of the table as it lies on disk. "
        "Blocking: nothing is made, embedded or indexed from a table that fails.",
        blocking=True,
    )


def _independent_check(table: Table) -> Check:
    return Check(
        table.name,
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
