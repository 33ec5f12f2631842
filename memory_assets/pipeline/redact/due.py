"""Which sessions of a project are to be redacted."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT


@dataclass
class RedactionState:
    """The catalogue's entries of a project, by session: both products, the input hashes of
    sessions held back, and the affected sessions."""

    records: dict[str, Product]
    audits: dict[str, Product]
    held: dict[str, str]
    affected: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, components: Components, project: str, *, facts: bool = True) -> RedactionState:
        """Return the state of a project; without `facts`, which `is_due` does not need, the
        products are read faster."""
        catalog = components.catalog

        def products(stage: str) -> dict[str, Product]:
            if facts:
                return catalog.products.of_project(stage, project)
            hashes = catalog.products.hashes(stage, project)
            return {name: Product(stage, project, name, *each) for name, each in hashes.items()}

        return cls(
            products(REDACTED_RECORDS.name),
            products(REDACTION_AUDIT.name),
            {
                entry.session_id: entry.input_hash
                for entry in catalog.quarantine.entries(project)
                if entry.stage == REDACTED_RECORDS.name
            },
            {session_id for _, session_id in catalog.known_secrets.affected_sessions(project)},
        )

    def is_done(self, session_id: str, expected_hash: str) -> bool:
        """Whether records and audit were made from the input `expected_hash`, and the session
        is not affected by a secret found since."""
        records, audit = self.records.get(session_id), self.audits.get(session_id)
        return (
            records is not None
            and audit is not None
            and records.input_hash == audit.input_hash == expected_hash
            and session_id not in self.affected
        )

    def is_held(self, session: SessionFiles, expected_hash: str) -> bool:
        """Whether a session stays held back: its input is still the one that failed, it is not
        done, and its records are not lost."""
        name = session.session_id
        lost = session.gone and name not in self.records
        return self.held.get(name) == expected_hash and not (
            lost or self.is_done(name, expected_hash)
        )

    def is_due(self, session: SessionFiles, expected_hash: str) -> bool:
        """Whether to redact a session: it is not done, not lost, not held back."""
        lost = session.gone and session.session_id not in self.records
        return not (
            lost
            or self.is_done(session.session_id, expected_hash)
            or self.held.get(session.session_id) == expected_hash
        )
