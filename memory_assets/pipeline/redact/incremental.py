"""Redacting only what was added to a session, with the result of redacting all of it.

Only new records go through both passes. The secrets of earlier records are found again by
reading the few records in which they were seen first. Where that is not enough (a file was
rewritten, or a new record reveals a value that occurs in earlier ones) the whole session is
redacted.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory_assets.errors import DamagedFile, NotFound, ResumeFailed
from memory_assets.pipeline.ownership.session_files import SessionFiles, source_of
from memory_assets.pipeline.redact.session_redaction import (
    HELD_BYTES,
    SessionRedaction,
    WrittenSession,
)
from memory_assets.pipeline.redact.state import FileEntry, SessionState
from memory_assets.pipeline.scan.reading import FileState, resume_at
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import SessionRedactor
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.catalog.sources import source_key
from memory_assets.stores.lake.batch import Batch
from memory_assets.stores.lake.lake import redacted_columns, redacted_values
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import Resume, mark, reader_by_agent


@dataclass(frozen=True)
class Addition:
    """The parts of a session's files that were added since the state `before`. `lineage` is
    that of the records on disk."""

    before: SessionState
    lineage: str
    parts: tuple[tuple[SourceRow, Resume], ...]


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
    size = 0
    for row in session.rows:
        entry = before.files.get(row.agent_id)
        if row.gone_at is not None:
            if entry is None or entry.tentative:
                return None
            continue
        if entry is not None and entry.is_of(row) and not entry.tentative:
            continue
        resume = _resume(components, row, entry)
        if resume is None:
            return None
        parts.append((row, resume))
        size += row.size - (resume.start.offset if resume.start else 0)
    if size > HELD_BYTES:
        return None
    return Addition(before, records.facts.get("lineage") or "", tuple(parts))


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


def _resume(components: Components, row: SourceRow, entry: FileEntry | None) -> Resume | None:
    """Return which part of a file to read; None if its redacted beginning has changed."""
    source, key = source_of(row), source_key(row)
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


def redact_added(
    components: Components,
    batch: Batch,
    session: SessionFiles,
    expected_hash: str,
    known: frozenset[bytes],
    addition: Addition,
) -> WrittenSession | None:
    """Redact what was added to a session, append it, and return the session; None, with
    nothing written, if the whole session must be redacted.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: nothing was written.
    """
    before = addition.before
    redactor = _primed_redactor(components, session, known, before)
    if redactor is None:
        return None
    redaction = SessionRedaction(components, session, redactor, before)
    secrets_before = redactor.values_shown
    try:
        final = [part for row, resume in addition.parts for part in redaction.read(row, resume)]
    except ResumeFailed:
        return None
    if _occurs_in_earlier_records(redaction, before, secrets_before):
        return None
    return redaction.write(batch, final, expected_hash, addition.lineage)


def _primed_redactor(
    components: Components,
    session: SessionFiles,
    known: frozenset[bytes],
    before: SessionState,
) -> SessionRedactor | None:
    """Return a redactor that knows the secrets of the session's earlier records; None if
    they are not all found again.

    The session's own secrets are first left out of the `known` ones, so that the audit names
    the rule that finds them instead of `known-secret`, as `redact_whole` does.
    """
    own = before.own_values
    elsewhere = known - own
    for _ in range(2):
        redactor = components.redactor.session(session.session_id, elsewhere)
        try:
            _prime(redactor, session, before)
        except ResumeFailed:
            return None
        missing = (own & known) - redactor.known_values.keys()
        if not missing:
            return redactor if redactor.values_shown >= before.values_shown else None
        elsewhere |= missing
    return None


def _prime(redactor: SessionRedactor, session: SessionFiles, before: SessionState) -> None:
    for row in session.rows:
        places = before.secret_sources.get(row.agent_id)
        if not places:
            continue
        if row.gone_at is not None:
            raise ResumeFailed(f"{row.path} is gone")
        for record in reader_by_agent(row.agent).read_at(source_of(row), places):
            redactor.redact_record(
                record, project=session.project, project_root=session.project_root
            )


def _occurs_in_earlier_records(
    redaction: SessionRedaction, before: SessionState, secrets_before: int
) -> bool:
    """Whether a secret that only the new records reveal occurs in the earlier ones."""
    if redaction.redactor.values_shown == secrets_before:
        return False
    new = redaction.redactor.shown_since(secrets_before)
    if not new.are_sought():
        return False
    columns = list(redacted_columns(REDACTED_RECORDS.model))
    lake = redaction.components.lake
    with lake.opened(REDACTED_RECORDS, *redaction.session.key) as rows:
        return any(
            new.edits(text)
            for part in rows.parts(0, before.kept, columns)
            for text in redacted_values(REDACTED_RECORDS, part)
        )
