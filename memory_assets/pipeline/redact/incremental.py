"""What was added to a session, redacted as if the session had been redacted whole.

Only new records go through both passes. What the session's earlier records showed is learnt
again from the few that showed it first. Where that is not enough (a file was rewritten, a
new record gives away a value that earlier ones hold) the session is redacted whole.
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
from memory_assets.stores.lake.lake import redacted_columns, redacted_values
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import Resume, mark, reader_by_agent


@dataclass(frozen=True)
class Addition:
    """What is to be read of a session: files, each from where it was left. `before` is how
    far the session was redacted."""

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
    """Return what was added to a session since it was redacted `before`; None if anything
    else has changed, or if it is too much to be held in memory.

    Raises:
        TranscriptError: a file cannot be read.
    """
    if not _holds(components, session, before, records, audit):
        return None
    parts: list[tuple[SourceRow, Resume]] = []
    size = 0
    for row in session.rows:
        entry = before.files.get(row.agent_id)
        if row.gone_at is not None:
            if entry is None or entry.provisional:
                return None
            continue
        if entry is not None and entry.is_of(row) and not entry.provisional:
            continue
        resume = _resume(components, row, entry)
        if resume is None:
            return None
        parts.append((row, resume))
        size += row.size - (resume.start.offset if resume.start else 0)
    if size > HELD_BYTES:
        return None
    return Addition(before, records.facts.get("lineage") or "", tuple(parts))


def _holds(
    components: Components,
    session: SessionFiles,
    before: SessionState,
    records: Product,
    audit: Product,
) -> bool:
    """Whether the state is of these products, and of the files in the lake, and all that
    concerns every record of the session is as it was."""
    lake, key = components.lake, (records.project, records.session_id)
    same = (
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
            same
            and lake.read_footer(REDACTED_RECORDS, *key)[0].output_hash == before.records_hash
            and (
                not audit.rows
                or lake.read_footer(REDACTION_AUDIT, *key)[0].output_hash == before.audit_hash
            )
        )
    except (NotFound, DamagedFile):
        return False


def _resume(components: Components, row: SourceRow, entry: FileEntry | None) -> Resume | None:
    """Return what to read of a file; None if what was redacted of it is not its beginning."""
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
    project: str,
    session: SessionFiles,
    wanted: str,
    known: frozenset[bytes],
    addition: Addition,
) -> WrittenSession | None:
    """Redact what was added to a session and write it behind what the session has; None if
    it must be redacted whole after all: nothing was written then.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: nothing was written.
    """
    before, name = addition.before, session.session_id
    redactor = _primed(components, project, session, known, before)
    if redactor is None:
        return None
    redaction = SessionRedaction(components, project, session, redactor, before)
    learnt = redactor.values_shown
    try:
        firm = [made for row, resume in addition.parts for made in redaction.read(row, resume)]
    except ResumeFailed:
        return None
    if _stands_in_earlier_records(components, project, name, before, redactor, learnt):
        return None
    return redaction.write(firm, wanted, addition.lineage)


def _primed(
    components: Components,
    project: str,
    session: SessionFiles,
    known: frozenset[bytes],
    before: SessionState,
) -> SessionRedactor | None:
    """Return a redactor that has learnt what the session showed so far; None if that cannot
    be learnt again.

    Values that the session itself gave away are not among those known from elsewhere, so
    that they go under the rule that found them, as when all records are redacted at once.
    """
    own = before.own_values
    elsewhere = known - own
    for _ in range(2):
        redactor = components.redactor.session(session.session_id, elsewhere)
        try:
            _prime(redactor, project, session, before)
        except ResumeFailed:
            return None
        missing = (own & known) - redactor.known_values.keys()
        if not missing:
            return redactor if redactor.values_shown >= before.values_shown else None
        elsewhere |= missing
    return None


def _prime(
    redactor: SessionRedactor, project: str, session: SessionFiles, before: SessionState
) -> None:
    for row in session.rows:
        places = before.teachers.get(row.agent_id)
        if not places:
            continue
        if row.gone_at is not None:
            raise ResumeFailed(f"{row.path} is gone")
        for record in reader_by_agent(row.agent).read_at(source_of(row), places):
            redactor.redact_record(record, project=project, project_root=session.project_root)


def _stands_in_earlier_records(
    components: Components,
    project: str,
    session_id: str,
    before: SessionState,
    redactor: SessionRedactor,
    learnt: int,
) -> bool:
    """Whether a value that the new records showed first stands in those before them."""
    if redactor.values_shown == learnt:
        return False
    new = redactor.shown_since(learnt)
    if not new.are_sought():
        return False
    columns = list(redacted_columns(REDACTED_RECORDS.model))
    with components.lake.opened(REDACTED_RECORDS, project, session_id) as rows:
        return any(
            new.edits(text)
            for part in rows.parts(0, before.kept, columns)
            for text in redacted_values(REDACTED_RECORDS, part)
        )
