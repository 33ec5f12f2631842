"""Redacting a whole session, in two passes.

The first pass redacts each record and collects the secrets of the session; the second
removes these from all records, so that a key which only the last record reveals is removed
from the first one too. Nothing is written before the second pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from memory_assets.errors import NotFound
from memory_assets.models import AppliedRedaction, RedactedRecord
from memory_assets.pipeline.ownership.session_files import Counts, SessionFiles
from memory_assets.pipeline.redact.session_redaction import (
    HELD_BYTES,
    FirstPass,
    SessionRedaction,
    WrittenSession,
)
from memory_assets.pipeline.redact.state import SessionState
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import as_read, traces_of_tags
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import Resume


def redact_whole(
    components: Components,
    project: str,
    session: SessionFiles,
    expected_hash: str,
    known: frozenset[bytes] = frozenset(),
    before: SessionState | None = None,
) -> WrittenSession:
    """Redact a session, replace its two files (records and audit), and return it.

    Secrets that a rule found in this session when it was redacted `before` are first left
    out of the `known` ones, so that the audit names that rule instead of `known-secret`.
    If the rules do not find one again, the session is redacted with all known secrets.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: nothing of the session's
            records was written.
    """
    own = before.own_values if before else frozenset()
    redaction, final = _first_pass(components, project, session, known - own, before)
    if (known & own) - redaction.redactor.known_values.keys():
        redaction, final = _first_pass(components, project, session, known, before)
    return redaction.write(final, expected_hash)


def _first_pass(
    components: Components,
    project: str,
    session: SessionFiles,
    known: frozenset[bytes],
    before: SessionState | None,
) -> tuple[SessionRedaction, Iterator[FirstPass]]:
    redactor = components.redactor.session(session.session_id, known)
    shown = before.values if before and session.retained is not None else {}
    redaction = SessionRedaction(components, project, session, redactor, values=shown)
    return redaction, _WholeSession(redaction).first_pass()


class _WholeSession:
    """The first pass over all records of a session."""

    def __init__(self, redaction: SessionRedaction) -> None:
        self._redaction = redaction
        self._components = redaction.components
        self._project = redaction.project
        self._session = redaction.session

    def first_pass(self) -> Iterator[FirstPass]:
        """Return the final records, once the secrets of all records are collected."""
        if sum(row.size for row in self._session.to_read) <= HELD_BYTES:
            return iter(list(self._once()))
        for _ in self._once():
            pass
        self._redaction.rewind()
        return self._once()

    def _once(self) -> Iterator[FirstPass]:
        to_read = self._session.to_read
        for row in self._session.rows:
            if row in to_read:
                yield from self._redaction.read(row, Resume(end=row.size))
            else:
                yield from self._on_record(row)

    def _on_record(self, row: SourceRow) -> Iterator[FirstPass]:
        """Yield the records that the lake has of a deleted file, redacted under the present
        rules; only the prompts, if the session is retained."""
        lake, name = self._components.lake, self._session.session_id
        copied, retained = self._redaction.copied, self._session.retained is not None
        identity = self._components.identity
        try:
            old: list[RedactedRecord] = lake.read_rows(REDACTED_RECORDS, self._project, name)
        except NotFound:
            if self._session.gone and row.facts["blocks"] and not retained:
                raise
            return
        others = {file.agent_id for file in self._session.rows} - {row.agent_id}
        kept = [
            record
            for record in old
            if (record.agent_id or "") not in others
            and not (copied and identity.id_of(record.record_uuid) in copied)
            and (record.kind == "prompt" or not retained)
        ]
        prompts = sum(record.kind == "prompt" for record in kept)
        self._redaction.note_gone(
            row, Counts.of_ledger(row, len(kept), prompts, copies=bool(copied))
        )
        traces = self._traces_on_record()
        for record in kept:
            redacted = self._redaction.redactor.redact_record(
                as_read(record), project=self._project, project_root=record.project_root
            )
            if record.redactions:
                traced = traces.get((record.agent_id, record.seq))
                yield redacted, tuple(traced) if traced else tuple(traces_of_tags(record))
            else:
                yield redacted, ()

    def _traces_on_record(self) -> dict[tuple[str | None, int], list[AppliedRedaction]]:
        """Return the audit entries of earlier redactions by subagent and number of the record."""
        traces: dict[tuple[str | None, int], list[AppliedRedaction]] = {}
        try:
            entries: list[AppliedRedaction] = self._components.lake.read_rows(
                REDACTION_AUDIT, self._project, self._session.session_id
            )
        except NotFound:
            return traces
        for entry in entries:
            traces.setdefault((entry.agent_id, entry.seq), []).append(entry)
        return traces
