"""The asset known_secrets: redacted sessions, searched for secrets that were found later."""

import dagster as dg

from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.ingest.secret_search import search_for_known_secrets
from memory_assets.redaction import ENGINE_VERSION
from memory_assets.stores.lake.schemas import REDACTED_RECORDS


@dg.asset(
    deps=[REDACTED_RECORDS.name],
    group_name="maintenance",
    kinds={"sqlite"},
    code_version=ENGINE_VERSION,
)
@no_text_in_errors()
def known_secrets(memory: MemoryParam) -> dg.MaterializeResult[None]:
    """The secrets found in any session, as keyed hashes, searched for in all sessions that were
    redacted before.

    One asset without [partitions](https://docs.dagster.io/guides/build/partitions-and-backfills),
    because a secret that one project reveals may occur in others. Affected sessions are marked,
    and the next run of their project redacts them again.
    """
    return dg.MaterializeResult(metadata=search_for_known_secrets(memory.components()))
