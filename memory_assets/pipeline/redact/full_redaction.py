"""Redacting a session, in two passes.

The first pass redacts each record and collects the secrets of the session; the second
removes these from all records, so that a key which only the last record reveals is removed
from the first one too. Nothing is written before the second pass.

What a record becomes depends on itself, the rules and the secrets. So records that are as they
were are not redacted again: their rows are taken from the lake, if the session's other records
give the same secrets away as before, or only such as are in none of these rows.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator

from memory_assets.errors import NotFound
from memory_assets.models import AppliedRedaction, RedactedRecord
from memory_assets.pipeline.ownership.session_files import Counts, SessionFiles
from memory_assets.pipeline.redact.session_redaction import (
    HELD_BYTES,
    FirstPass,
    SessionRedaction,
    SessionRows,
)
from memory_assets.pipeline.redact.state import SessionState
from memory_assets.pipeline.redact.stored_rows import StoredRows
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import traces_of_tags
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT


def redact_both(
    components: Components,
    session: SessionFiles,
    expected_hash: str,
    known: frozenset[bytes] = frozenset(),
    before: SessionState | None = None,
    stored: StoredRows | None = None,
) -> tuple[Redaction, SessionRows]:
    """Redact a session; return its redaction and its rows in both tables (records and audit), with
    the `stored` rows of records that are as they were, where these may stay.

    Secrets that a rule found in this session when it was redacted `before` are first left
    out of the `known` ones, so that the audit names that rule instead of `known-secret`.
    If the rules do not find one again, the session is redacted with all known secrets.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: it cannot be redacted.
    """
    own = before.own_values if before else frozenset[bytes]()
    tries = [(known - own, stored), (known - own, None), (known, None)]
    for sought, rows in tries if stored is not None else tries[1:]:
        redaction, final = _first_pass(components, session, sought, before, rows)
        found_again = not (known & own) - redaction.redactor.known_values.keys()
        if found_again and redaction.may_keep_rows:
            break
    return redaction.finish(final, expected_hash, is_held=isinstance(final, list))


def _first_pass(
    components: Components,
    session: SessionFiles,
    known: frozenset[bytes],
    before: SessionState | None,
    stored: StoredRows | None,
) -> tuple[SessionRedaction, Iterable[FirstPass]]:
    """Return the records after the first pass, once the secrets of all are collected."""
    redactor = components.redactor.session(session.session_id, known)
    shown = before.values if before and session.retained is not None else {}
    redaction = SessionRedaction(components, session, redactor, stored, values=shown)
    size = sum(row.size for row in session.to_read) - (stored.state.size if stored else 0)
    if size <= HELD_BYTES:
        return redaction, list(_once(redaction))
    for _ in _once(redaction):
        pass
    redaction.rewind()
    return redaction, _once(redaction)


def _once(redaction: SessionRedaction) -> Iterator[FirstPass]:
    to_read = redaction.session.to_read
    for row in redaction.session.rows:
        if row in to_read:
            yield from redaction.read(row)
        else:
            yield from _on_record(redaction, row)


def _on_record(redaction: SessionRedaction, row: SourceRow) -> Iterator[FirstPass]:
    """Yield the records that the lake has of a deleted file, redacted under the present
    rules; only the prompts, if the session is retained."""
    lake, identity = redaction.components.lake, redaction.components.identity
    session, copied = redaction.session, redaction.copied
    retained = session.retained is not None
    try:
        old: list[RedactedRecord] = lake.read_rows(REDACTED_RECORDS, *session.key)
    except NotFound:
        if session.gone and row.facts["blocks"] and not retained:
            raise
        return
    others = {file.agent_id for file in session.rows} - {row.agent_id}
    kept = [
        record
        for record in old
        if (record.agent_id or "") not in others
        and not (copied and identity.id_of(record.record_uuid) in copied)
        and (record.kind == "prompt" or not retained)
    ]
    prompts = sum(record.kind == "prompt" for record in kept)
    redaction.note_read(Counts.of_ledger(row, len(kept), prompts, copies=bool(copied)))
    traces: dict[tuple[str | None, int], list[AppliedRedaction]] = defaultdict(list)
    with contextlib.suppress(NotFound):
        entries: list[AppliedRedaction] = lake.read_rows(REDACTION_AUDIT, *session.key)
        for entry in entries:
            traces[entry.agent_id, entry.seq].append(entry)
    for record in kept:
        traced: Iterable[AppliedRedaction] = ()
        if record.redactions:
            traced = traces.get((record.agent_id, record.seq)) or traces_of_tags(record)
        yield redaction.redact_again(record, tuple(traced))
