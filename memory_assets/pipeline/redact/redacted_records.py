"""The stage of redacted_records (every record of a project, redacted, each in one session
only) and redaction_audit (what was replaced in it), and which sessions are to be redacted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from memory_assets.pipeline.ownership.session_files import SessionFiles, session_files
from memory_assets.pipeline.redact.session_redaction import SessionRows, redact_both
from memory_assets.pipeline.redact.stored_rows import StoredRows, state_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.due import Status, Work, make_due
from memory_assets.pipeline.stage.pool import Results
from memory_assets.pipeline.stage.quarantine import release_changed
from memory_assets.pipeline.stage.report import StageReport, timing
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import RETAINED, count
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.products import HashesByStage
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import LakeBatch
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
    with components.project_lock(project), timing(report):
        due = DueSessions(components, project)
        records = components.catalog.products.of_project(STAGE, project)
        batch = LakeBatch(components.lake, project, REDACTED_RECORDS, REDACTION_AUDIT)
        known = KnownHashes(components.catalog)

        def redact(session: SessionFiles, expected: str) -> Redaction:
            ahead = components.precomputed(session.key, (STAGE, expected))
            if ahead is None:
                affected = session.session_id in due.affected
                ahead = redact_session(components, session, expected, known, affected=affected)
            redaction, rows = ahead
            for table, own in rows.items():
                batch.put(table, session.session_id, own)
            known.add(redaction.found)
            return redaction

        def note(redacted: Sequence[Redaction]) -> None:
            components.catalog.redactions.put(*redacted)
            for redaction in redacted:
                records[redaction.records.session_id] = redaction.records
                report.changed += 1
                report.rows_written += redaction.records.rows
                if redaction.kept:
                    kept = int(report.details.get("rows_kept", 0)) + redaction.kept
                    report.details["rows_kept"] = kept

        works = [
            Work(session.session_id, due.status(session), due.expected(session), session)
            for session in session_files(components, project, retain)
            if not retain or session.session_id in retain
        ]
        make_due(components, report, batch, works, redact, note)
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


def precompute_redaction(components: Components, session: SessionFiles) -> Results:
    """Redact a session in a worker process; return its redaction and its rows, not written."""
    expected = session.input_hash(components.ruleset_version)
    known = KnownHashes(components.catalog)
    affected = session.key in components.catalog.known_secrets.affected_sessions(session.project)
    outcome = redact_session(components, session, expected, known, affected=affected)
    return {(STAGE, expected): outcome}


def audit_project(components: Components, project: str) -> StageReport:
    """Return the report of redaction_audit, which `redact_project` writes: entries by rule."""
    report = StageReport(AUDIT_STAGE, project)
    with timing(report):
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


class DueSessions:
    """Decides which sessions of a project are to be redacted, for the stage, for worker processes,
    for the plan and for retention. `made` has the hashes of the products of redacted_records by
    session, `affected` the sessions that hold a secret found since. `hashes`: those of both
    tables, if they were read already."""

    def __init__(
        self, components: Components, project: str, hashes: HashesByStage | None = None
    ) -> None:
        catalog = components.catalog
        if hashes is None:
            hashes = catalog.products.hashes_by_stage(project, (STAGE, AUDIT_STAGE))
        self.made, self._audited = hashes[STAGE], hashes[AUDIT_STAGE]
        self._held = catalog.quarantine.inputs(project, STAGE)
        affected = catalog.known_secrets.affected_sessions(project)
        self.affected = {session_id for _, session_id in affected}
        self._ruleset_version = components.ruleset_version

    def expected(self, session: SessionFiles) -> str:
        """Return the input hash that both products of a session should have."""
        return session.input_hash(self._ruleset_version)

    def status(self, session: SessionFiles) -> Status:
        """Return the state of a session. One whose files are gone, and of which nothing is on
        record, is lost, so nothing is to be made of it."""
        name, expected = session.session_id, self.expected(session)
        made_of = [made[name][0] for made in (self.made, self._audited) if name in made]
        if made_of == [expected, expected] and name not in self.affected:
            return "current"
        if session.gone and name not in self.made:
            return "current"
        return "held back" if self._held.get(name) == expected else "due"
