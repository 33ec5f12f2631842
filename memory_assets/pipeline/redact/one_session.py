"""Redacting one session, with the known secrets and the rows that it has already."""

from __future__ import annotations

from collections.abc import Iterable

from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.redact.due import RedactionState
from memory_assets.pipeline.redact.full_redaction import redact_both
from memory_assets.pipeline.redact.state import state_of
from memory_assets.pipeline.redact.stored_rows import StoredRows
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.lake.batch import Unwritten


class KnownHashes:
    """Keyed hashes of the known secrets, updated from the catalogue by one small query, so
    that each session is redacted with the secrets of those before it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._hashes: frozenset[bytes] = frozenset()
        self._through = 0

    def snapshot(self) -> tuple[frozenset[bytes], int]:
        """Return the hashes of all secrets known now, and the number of the newest one in the
        catalogue."""
        new = self._catalog.known_secrets.since(self._through)
        if new:
            self._hashes |= {value.hash for value in new}
            self._through = new[-1].number
        return self._hashes, self._through

    def add(self, found: Iterable[bytes]) -> None:
        """Add those of a session that is not in the catalogue yet."""
        self._hashes |= frozenset(found)


def redact_session(
    components: Components,
    batch: Unwritten,
    session: SessionFiles,
    expected_hash: str,
    known: KnownHashes,
    state: RedactionState,
) -> Redaction:
    """Redact a session, write its rows to the batch, and return what is to be noted of it once
    these are published.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: it cannot be redacted.
    """
    name = session.session_id
    records, audit = state.records.get(name), state.audits.get(name)
    before = state_of(components.catalog, *session.key)
    hashes, through = known.snapshot()
    stored: StoredRows | None = None
    whole = records is not None and RETAINED not in records.facts and session.retained is None
    if whole and records and audit and before and name not in state.affected:
        stored = StoredRows.of(components, session, before, records, audit)
    written = redact_both(components, batch, session, expected_hash, hashes, before, stored)
    if written.kept:  # these rows were not searched for newer secrets
        through = min(through, components.catalog.known_secrets.checked_through(*session.key))
    known.add(written.found)
    return Redaction(
        written.records,
        written.audit,
        through,
        written.found,
        written.state.to_json(),
        written.kept,
    )
