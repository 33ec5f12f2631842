"""Nothing lost, nothing twice, nothing left over; and nobody quietly held back."""

from collections.abc import Callable

import dagster as dg

from memory_assets.dagster.checks.verdicts import Check, Verify
from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.checks.keywords_match import keywords_match
from memory_assets.pipeline.indexes.collections import (
    INDEXES,
    SESSIONS_INDEX,
    IndexedTable,
)
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.stage.components import Components


def _of(
    verify_index: Callable[[Components, str, IndexedTable], verify.Verdict], index: IndexedTable
) -> Verify:
    return lambda components, project: verify_index(components, project, index)


CHECKS = [
    Check(
        "redacted_records",
        "rows_conserved",
        verify.rows_conserved,
        "Every record read is kept, dropped for a stated reason, or a bad line; every block "
        "kept is a row, or a copy of one that an older session has.",
    ),
    Check(
        "redacted_records",
        "no_sessions_quarantined",
        verify.nothing_quarantined,
        "No session is held back. A warning: the other sessions go on.",
        severity=dg.AssetCheckSeverity.WARN,
    ),
    Check(
        "redaction_audit",
        "audit_matches_records",
        verify.audit_matches_records,
        "There is an entry for each redaction that redacted_records counts, record by record.",
    ),
    Check(
        "turn_chunks",
        "prompts_in_one_chunk",
        verify.prompts_in_one_chunk,
        "Each human prompt begins in exactly one chunk.",
    ),
    Check(
        "turn_embeddings",
        "vectors_complete",
        verify.vectors_complete,
        "There is exactly one vector for each chunk.",
    ),
    *(
        Check(
            index.stage,
            "ids_match_table",
            _of(verify.collection_matches, index),
            f"The ids in Chroma are exactly those of {index.table.name}.",
        )
        for index in INDEXES
    ),
    Check(
        KEYWORD_INDEX,
        "ids_match_tables",
        keywords_match,
        "The ids in the keyword index are exactly those of the lake's tables.",
    ),
    Check(
        SESSIONS_INDEX.stage,
        "embedder_consistent",
        _of(verify.embedder_consistent, SESSIONS_INDEX),
        "All vectors, in the lake and in Chroma, were made by the embedder of the settings.",
    ),
]
