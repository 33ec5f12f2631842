"""Nothing lost, nothing twice, nothing left over; and nobody quietly held back."""

from collections.abc import Callable

import dagster as dg

from memory_assets.assets import collections
from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.assets.turn_embeddings import turn_embeddings
from memory_assets.metadata import checked
from memory_assets.partitions import projects
from memory_assets.pipeline import verify
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.index import (
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedTable,
)
from memory_assets.resources import MemoryResource

Verify = Callable[[Components, str], verify.Verdict]


def _check(
    asset: dg.AssetsDefinition,
    name: str,
    verify_project: Verify,
    description: str,
    *,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, description=description, partitions_def=projects)
    def check(
        context: dg.AssetCheckExecutionContext, memory: MemoryResource
    ) -> dg.AssetCheckResult:
        components, project = memory.components(), context.partition_key
        with components.project_lock(project):
            verdict = verify_project(components, project)
        return checked(verdict, severity)

    return check


def _of(
    verify_index: Callable[[Components, str, IndexedTable], verify.Verdict], index: IndexedTable
) -> Verify:
    return lambda components, project: verify_index(components, project, index)


CHECKS = [
    _check(
        redacted_records,
        "rows_conserved",
        verify.rows_conserved,
        "Every record read is kept, dropped for a stated reason, or a bad line; every block "
        "kept is a row, or a copy of one that an older session has.",
    ),
    _check(
        redacted_records,
        "no_sessions_quarantined",
        verify.nothing_quarantined,
        "No session is held back. A warning: the other sessions go on.",
        severity=dg.AssetCheckSeverity.WARN,
    ),
    _check(
        turn_chunks,
        "prompts_in_one_chunk",
        verify.prompts_in_one_chunk,
        "Each human prompt begins in exactly one chunk.",
    ),
    _check(
        turn_embeddings,
        "vectors_complete",
        verify.vectors_complete,
        "There is exactly one vector for each chunk.",
    ),
    *(
        _check(
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
    _check(
        collections.session_collection,
        "embedder_consistent",
        _of(verify.embedder_consistent, SESSIONS_INDEX),
        "All vectors, in the lake and in Chroma, were made by the embedder of the settings.",
    ),
]
