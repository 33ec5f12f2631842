"""Which sessions of a project are to be redacted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

Hashes = Mapping[str, tuple[str, str]]
"""Input and output hash of the products of a stage, by session."""


@dataclass
class DueSessions:
    """What the catalogue says about the redaction of a project, by session: the hashes of both
    products (`made`, `audited`), the input hashes of sessions held back, and the affected
    sessions."""

    made: Hashes
    audited: Hashes
    held: dict[str, str]
    affected: set[str]

    @classmethod
    def of(cls, components: Components, project: str) -> DueSessions:
        """Return them for a project."""
        hashes = components.catalog.products.hashes
        redacted, audited = (
            hashes(table.name, project) for table in (REDACTED_RECORDS, REDACTION_AUDIT)
        )
        return cls.of_hashes(components, project, redacted, audited)

    @classmethod
    def of_hashes(
        cls, components: Components, project: str, redacted: Hashes, audited: Hashes
    ) -> DueSessions:
        """Return them for a project whose products have these hashes."""
        catalog = components.catalog
        held = catalog.quarantine.inputs(project, REDACTED_RECORDS.name)
        affected = catalog.known_secrets.affected_sessions(project)
        return cls(redacted, audited, held, {session_id for _, session_id in affected})

    def is_done(self, session_id: str, expected_hash: str) -> bool:
        """Whether records and audit were made from the input `expected_hash`, and the session
        is not affected by a secret found since."""
        records, audit = self.made.get(session_id), self.audited.get(session_id)
        return (
            records is not None
            and audit is not None
            and records[0] == audit[0] == expected_hash
            and session_id not in self.affected
        )

    def is_settled(self, session: SessionFiles, expected_hash: str) -> bool:
        """Whether nothing is to be made of a session: it is done, or its records are lost."""
        lost = session.gone and session.session_id not in self.made
        return lost or self.is_done(session.session_id, expected_hash)

    def is_due(self, session: SessionFiles, expected_hash: str) -> bool:
        """Whether to redact a session: it is not settled, and not held back."""
        is_held = self.held.get(session.session_id) == expected_hash
        return not (is_held or self.is_settled(session, expected_hash))
