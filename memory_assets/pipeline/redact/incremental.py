"""Redacting only what was added to a session, with the result of redacting all of it.

Only new records go through both passes. The secrets of earlier records are found again by
reading the few records in which they were seen first. Where that is not enough (a file was
rewritten, or a new record reveals a value that occurs in earlier ones) the whole session is
redacted.
"""

from __future__ import annotations

from memory_assets.errors import ResumeFailed
from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.redact.addition import Addition
from memory_assets.pipeline.redact.session_redaction import SessionRedaction, WrittenSession
from memory_assets.pipeline.redact.state import SessionState
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import SessionRedactor
from memory_assets.stores.lake.batch import Batch
from memory_assets.stores.lake.lake import redacted_columns, redacted_values
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import reader_by_agent


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
    redactor = _primed_redactor(components, session, known, addition)
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
    addition: Addition,
) -> SessionRedactor | None:
    """Return a redactor that knows the secrets of the session's earlier records; None if
    they are not all found again.

    The session's own secrets are first left out of the `known` ones, so that the audit names
    the rule that finds them instead of `known-secret`, as `redact_whole` does.
    """
    before = addition.before
    own = before.own_values
    elsewhere = known - own
    for _ in range(2):
        redactor = components.redactor.session(session.session_id, elsewhere)
        try:
            _prime(redactor, session, addition)
        except ResumeFailed:
            return None
        missing = (own & known) - redactor.known_values.keys()
        if not missing:
            return redactor if redactor.values_shown >= before.values_shown else None
        elsewhere |= missing
    return None


def _prime(redactor: SessionRedactor, session: SessionFiles, addition: Addition) -> None:
    """Have a redactor read again the records in which earlier secrets were seen first."""
    for row in session.rows:
        places = addition.before.secret_sources.get(row.agent_id)
        if not places:
            continue
        source = addition.sources.get(row.agent_id)
        if source is None:
            raise ResumeFailed(f"{row.path} is gone")
        for record in reader_by_agent(row.agent).read_at(source, places):
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
