"""An estimate of what a task costs, by session: whether it is worth sharing, and how evenly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from memory_assets.pipeline.indexes.keywords import (
    AGENT_KEYWORDS,
    WORKSPACE_KEYWORDS,
    rows_to_index,
)
from memory_assets.pipeline.indexes.keywords import STAGE as KEYWORD_INDEX
from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.pipeline.redact.due import DueSessions
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.scan.raw_sessions import out_of_date
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.tables.derive import expected_input
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    WORKSPACE_DOCUMENTS,
)
from memory_assets.transcripts import Source

_BYTES_A_SECOND = 4e6
"""Transcripts read, redacted, cut into turns and indexed by words."""
_ROWS_A_SECOND = 5e3
"""Records summarized, observed or cut into turns."""
_DOCUMENTS_A_SECOND = 100.0
"""Documents cut into chunks."""
_VECTORS_A_SECOND = 35.0
"""Passages embedded."""
_INDEXED_A_SECOND = 2.5e3
"""Rows split into words and indexed."""
_KEYWORDS = {KEYWORD_INDEX, WORKSPACE_KEYWORDS, AGENT_KEYWORDS}
_STAGES = {stage.table.name: stage for stage in STAGES}

Seconds = Mapping[str, float]
"""The CPU seconds that each session of a partition takes, about."""


def seconds_of(
    components: Components, project: str, assets: Sequence[str], walked: Sequence[Source] | None
) -> Seconds:
    """Return what it costs to bring these assets of a partition up to date: reading what is new in
    its transcripts (`walked`: all of them), and making tables of the rows that are stored now."""
    parts: list[Seconds] = []
    if RAW_SESSIONS in assets:
        parts.append(_unread(components, project, walked or ()))
    if REDACTED_RECORDS.name in assets and not any(parts):
        parts.append(_to_redact(components, project))
    parts += [_to_make(components, project, asset) for asset in assets if asset in _STAGES]
    if not _KEYWORDS.isdisjoint(assets):
        rows = rows_to_index(components, project)
        parts.append({name: number / _INDEXED_A_SECOND for name, number in rows.items()})
    seconds: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        for session_id, needed in part.items():
            seconds[session_id] += needed
    return seconds


def _unread(components: Components, project: str, walked: Sequence[Source]) -> Seconds:
    ledger = components.catalog.sources.rows(project)
    known = {(row.agent, row.session_id, row.agent_id): row.size for row in ledger}
    seconds: defaultdict[str, float] = defaultdict(float)
    for source in out_of_date(ledger, walked):
        before = known.get((source.agent, source.session_id, source.agent_id or ""), 0)
        added = source.size - before if source.size > before else source.size
        seconds[source.session_id] += added / _BYTES_A_SECOND
    return seconds


def _to_redact(components: Components, project: str) -> Seconds:
    hashes = components.catalog.products.hashes
    made, audited = (hashes(table.name, project) for table in (REDACTED_RECORDS, REDACTION_AUDIT))
    state = DueSessions.of_hashes(components, project, made, audited)
    version = components.ruleset_version
    seconds: dict[str, float] = {}
    for session in session_files(components, project):
        if state.is_due(session, session.input_hash(version)):
            size = sum(row.size for row in session.rows)
            seconds[session.session_id] = size / _BYTES_A_SECOND
    return seconds


def _to_make(components: Components, project: str, asset: str) -> Seconds:
    stage, catalog = _STAGES[asset], components.catalog
    if stage.embeds and not components.embeds:
        return {}
    version = stage.derived.version(components)
    made = catalog.products.hashes(asset, project)
    upstream = stage.derived.upstream
    speed = _DOCUMENTS_A_SECOND if upstream == WORKSPACE_DOCUMENTS else _ROWS_A_SECOND
    speed = _VECTORS_A_SECOND if stage.embeds else speed
    seconds: dict[str, float] = {}
    for session_id, product in catalog.products.of_project(upstream.name, project).items():
        expected = expected_input(product.output_hash, version)
        if session_id not in made or made[session_id][0] != expected:
            seconds[session_id] = product.rows / speed
    return seconds
