"""The stage of redacted_records (every record of a project, redacted, each in one session
only) and redaction_audit (what was replaced in it), and which sessions are to be redacted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memory_assets.pipeline.ownership.session_files import SessionFiles, session_files
from memory_assets.pipeline.redact.session_redaction import SessionRows, redact_both
from memory_assets.pipeline.redact.stored_rows import StoredRows, state_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import Results
from memory_assets.pipeline.stage.quarantine import hold_back, release_changed
from memory_assets.pipeline.stage.report import StageReport, timed
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import RETAINED, count
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import Batch
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

STAGE = REDACTED_RECORDS.name
AUDIT_STAGE = REDACTION_AUDIT.name
_COUNTED = ("records", "kept", "bad_lines", "copied_blocks", "prompts", "redactions", "withheld")


def redact_project(
    components: Components, project: str, retain: Container[str] = ()
) -> StageReport:
    """Redact the sessions of a project whose files or rules changed, and affected sessions;
    with `retain`, only cut these sessions down to their prompts. Return the report.

    A session whose reading or redaction fails is quarantined: nothing of its new content is
    written, its former rows stay, and the other sessions are done. A session whose files
    are deleted keeps its rows, which are redacted again when the rules change.
    """
    report = StageReport(STAGE, project)
    with components.project_lock(project), timed(report):
        state = DueSessions.of(components, project)
        records = components.catalog.products.of_project(STAGE, project)
        batch = Batch(components.lake, project, REDACTED_RECORDS, REDACTION_AUDIT)
        sessions = [
            session
            for session in session_files(components, project, retain)
            if not retain or session.session_id in retain
        ]
        kept = 0
        for redacted in _redacted(components, batch, sessions, state):
            batch.publish()
            components.catalog.redactions.put(*redacted)
            for redaction in redacted:
                records[redaction.records.session_id] = redaction.records
                report.changed += 1
                report.rows_written += redaction.records.rows
                kept += redaction.kept
        if kept:
            report.details["rows_kept"] = kept
        batch.compact()
        products = list(records.values())
        report.add_products(products)
        release_changed(
            components, project, {product.session_id: product.output_hash for product in products}
        )
        report.quarantined = len(components.catalog.quarantine.entries(project))
        _add_details(report, products)
    components.read_records.forget()
    return report


def _redacted(
    components: Components, batch: Batch, sessions: Sequence[SessionFiles], state: DueSessions
) -> Iterator[list[Redaction]]:
    """Redact the sessions that are due; yield their redactions in lists to publish together."""
    catalog, version = components.catalog, components.ruleset_version
    known = KnownHashes(catalog)
    redacted: list[Redaction] = []
    for number, session in enumerate(sessions):
        components.progress(session.project, STAGE, number, len(sessions))
        expected_hash = session.input_hash(version)
        where = (*session.key, STAGE)
        if not state.is_due(session, expected_hash):
            if session.session_id in state.held and state.is_settled(session, expected_hash):
                catalog.quarantine.release(*where)
            continue
        try:
            ahead = components.precomputed(session.key, (STAGE, expected_hash))
            if ahead is None:
                affected = session.session_id in state.affected
                ahead = redact_session(components, session, expected_hash, known, affected=affected)
            redacted.append(_put(batch, known, *ahead))
        except Exception as error:  # noqa: BLE001 - fail closed, whatever went wrong
            batch.discard(session.session_id)
            hold_back(catalog, *where, expected_hash, error)
            continue
        if batch.full:
            yield redacted
            redacted = []
    if redacted:
        yield redacted


def precompute_redaction(components: Components, session: SessionFiles) -> Results:
    """Redact a session in a worker process; return its redaction and its rows, not written."""
    expected = session.input_hash(components.ruleset_version)
    known = KnownHashes(components.catalog)
    affected = session.key in components.catalog.known_secrets.affected_sessions(session.project)
    outcome = redact_session(components, session, expected, known, affected=affected)
    return {(STAGE, expected): outcome}


def _put(batch: Batch, known: KnownHashes, redaction: Redaction, rows: SessionRows) -> Redaction:
    """Put the rows of a session into a batch, and note its secrets as known."""
    for table, own in rows.items():
        batch.put(table, redaction.records.session_id, own)
    known.add(redaction.found)
    return redaction


def audit_project(components: Components, project: str) -> StageReport:
    """Return the report of redaction_audit, which `redact_project` writes: entries by rule."""
    report = StageReport(AUDIT_STAGE, project)
    with timed(report):
        run_id = components.run_id
        products = list(components.catalog.products.of_project(AUDIT_STAGE, project).values())
        report.add_products(products)
        of_this_run = [product for product in products if run_id and product.run_id == run_id]
        report.changed = len(of_this_run)
        report.rows_written = sum(product.rows for product in of_this_run)
        rules: Counter[str] = Counter()
        for product in products:
            rules.update(product.facts.get("rules", {}))
        report.details["sessions_with_redactions"] = sum(product.rows > 0 for product in products)
        report.details.update({f"rule_{rule}": count for rule, count in sorted(rules.items())})
    return report


def _add_details(report: StageReport, products: Sequence[Product]) -> None:
    for name in _COUNTED:
        report.details[name] = sum(count(product.facts, name) for product in products)
    dropped: Counter[str] = Counter()
    for product in products:
        dropped.update(product.facts.get("dropped", {}))
    for reason, number in sorted(dropped.items()):
        report.details[f"dropped_{reason}"] = number


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

    def add(self, hashes: Iterable[bytes]) -> None:
        """Add hashes of secrets that are not in the catalogue yet."""
        self._hashes |= frozenset(hashes)


def redact_session(
    components: Components,
    session: SessionFiles,
    expected_hash: str,
    known: KnownHashes,
    *,
    affected: bool,
) -> tuple[Redaction, SessionRows]:
    """Redact a session; return its redaction, to be noted once the rows are published, and the
    rows. No stored row of an `affected` session is reused.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: it cannot be redacted.
    """
    stored_products = components.catalog.products.of_session(*session.key)
    records, audit = stored_products.get(STAGE), stored_products.get(AUDIT_STAGE)
    before = state_of(components.catalog, *session.key)
    hashes, through = known.snapshot()
    stored: StoredRows | None = None
    whole = records is not None and RETAINED not in records.facts and session.retained is None
    if whole and records and audit and before and not affected:
        stored = StoredRows.of(components, session, before, records, audit)
    redaction, rows = redact_both(components, session, expected_hash, hashes, before, stored)
    if redaction.kept:  # these rows were not searched for newer secrets
        through = min(through, components.catalog.known_secrets.checked_through(*session.key))
    return replace(redaction, through=through), rows


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
        """Return the state of a project."""
        hashes = components.catalog.products.hashes
        redacted, audited = (
            hashes(table.name, project) for table in (REDACTED_RECORDS, REDACTION_AUDIT)
        )
        return cls.of_hashes(components, project, redacted, audited)

    @classmethod
    def of_hashes(
        cls, components: Components, project: str, redacted: Hashes, audited: Hashes
    ) -> DueSessions:
        """Return the state of a project whose products have these hashes."""
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
