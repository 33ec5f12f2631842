"""What was added to a session since it was redacted, if nothing else about it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.ownership.session_files import SessionFiles, source_of
from memory_assets.pipeline.redact.session_redaction import HELD_BYTES
from memory_assets.pipeline.redact.state import FileEntry, SessionState
from memory_assets.pipeline.scan.reading import FileState, resume_at
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.catalog.sources import source_key
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import Resume, Source, mark


@dataclass(frozen=True)
class Addition:
    """The parts of a session's files that were added since the state `before`. `lineage` is
    that of the records on disk, `sources` are the files that are still there, by agent id."""

    before: SessionState
    lineage: str
    parts: tuple[tuple[SourceRow, Resume], ...]
    sources: Mapping[str, Source]


def addition_to(
    components: Components,
    session: SessionFiles,
    before: SessionState,
    records: Product,
    audit: Product,
) -> Addition | None:
    """Return what was added to a session since the state `before`; None if anything else
    has changed, or if the addition does not fit in memory.

    Raises:
        TranscriptError: a file cannot be read.
    """
    if not _is_current(components, session, before, records, audit):
        return None
    parts: list[tuple[SourceRow, Resume]] = []
    sources = {row.agent_id: source_of(row) for row in session.rows if row.gone_at is None}
    size = 0
    for row in session.rows:
        entry = before.files.get(row.agent_id)
        if row.gone_at is not None:
            if entry is None or entry.tentative:
                return None
            continue
        if entry is not None and entry.is_of(row) and not entry.tentative:
            continue
        resume = _resume(components, row, sources[row.agent_id], entry)
        if resume is None:
            return None
        parts.append((row, resume))
        size += row.size - (resume.start.offset if resume.start else 0)
    if size > HELD_BYTES:
        return None
    return Addition(before, records.facts.get("lineage") or "", tuple(parts), sources)


def _is_current(
    components: Components,
    session: SessionFiles,
    before: SessionState,
    records: Product,
    audit: Product,
) -> bool:
    """Whether the state belongs to these products and to the files in the lake, and rules,
    project root and copied records, which concern every record, are unchanged."""
    lake, key = components.lake, (records.project, records.session_id)
    unchanged = (
        before.wanted == records.input_hash == audit.input_hash
        and (before.records_hash, before.audit_hash) == (records.output_hash, audit.output_hash)
        and before.kept > 0
        and before.ruleset_version == components.ruleset_version
        and before.root == mark(session.project_root)
        and before.copied == session.copied_hash
        and before.files.keys() <= {row.agent_id for row in session.rows}
    )
    try:
        return (
            unchanged
            and lake.read_footer(REDACTED_RECORDS, *key)[0].output_hash == before.records_hash
            and (
                not audit.rows
                or lake.read_footer(REDACTION_AUDIT, *key)[0].output_hash == before.audit_hash
            )
        )
    except (NotFound, DamagedFile):
        return False


def _resume(
    components: Components, row: SourceRow, source: Source, entry: FileEntry | None
) -> Resume | None:
    """Return which part of a file to read; None if its redacted beginning has changed."""
    key = source_key(row)
    if entry is None:
        return Resume(end=row.size)
    now = components.catalog.sources.reading_state(key)
    install_key = components.install_key
    state, read = (FileState.unsealed(each, install_key) for each in (entry.state, now))
    if state is None or read is None:
        return None
    if read.series != state.series or not read.fingerprint.extends(state.fingerprint):
        return None
    if not state.still_holds(source, install_key):
        return None

    def ids_before() -> bytes:
        return components.catalog.sources.records(key, state.ids)

    return resume_at(source, state, ids_before, components.identity)
