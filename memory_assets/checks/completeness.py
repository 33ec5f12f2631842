"""Nothing lost, nothing twice, nothing left over; and nobody quietly held back."""

from collections.abc import Callable

import dagster as dg

from memory_assets.assets import collections
from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.redaction_audit import redaction_audit
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.assets.turn_embeddings import turn_embeddings
from memory_assets.checks.verdicts import Verify, verdict_check
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.index import (
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedTable,
)
from memory_assets.pipeline.proof import verify


def _of(
    verify_index: Callable[[Components, str, IndexedTable], verify.Verdict], index: IndexedTable
) -> Verify:
    return lambda components, project: verify_index(components, project, index)


CHECKS = [
    verdict_check(
        redacted_records,
        "rows_conserved",
        verify.rows_conserved,
        "Every record read is kept, dropped for a stated reason, or a bad line; every block "
        "kept is a row, or a copy of one that an older session has.",
    ),
    verdict_check(
        redacted_records,
        "no_sessions_quarantined",
        verify.nothing_quarantined,
        "No session is held back. A warning: the other sessions go on.",
        severity=dg.AssetCheckSeverity.WARN,
    ),
    verdict_check(
        redaction_audit,
        "audit_matches_records",
        verify.audit_matches_records,
        "There is an entry for each redaction that redacted_records counts, record by record.",
    ),
    verdict_check(
        turn_chunks,
        "prompts_in_one_chunk",
        verify.prompts_in_one_chunk,
        "Each human prompt begins in exactly one chunk.",
    ),
    verdict_check(
        turn_embeddings,
        "vectors_complete",
        verify.vectors_complete,
        "There is exactly one vector for each chunk.",
    ),
    *(
        verdict_check(
            asset,
            "ids_match_table",
            _of(verify.collection_matches, index),
            f"The ids in Chroma are exactly those of {index.table.name}.",
        )
        for asset, index in (
            (collections.session_collection, SESSIONS_INDEX),
            (collections.prompt_collection, PROMPTS_INDEX),
            (collections.summary_collection, SUMMARIES_INDEX),
        )
    ),
    verdict_check(
        collections.session_collection,
        "embedder_consistent",
        _of(verify.embedder_consistent, SESSIONS_INDEX),
        "All vectors, in the lake and in Chroma, were made by the embedder of the settings.",
    ),
]
