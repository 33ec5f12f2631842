"""The stage of redacted_records (every record of a project, redacted, each in one session
only) and redaction_audit (what was replaced in it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.redact.full_redaction import redact_whole
from memory_assets.pipeline.redact.incremental import addition_to, redact_added
from memory_assets.pipeline.redact.session_redaction import WrittenSession
from memory_assets.pipeline.redact.state import state_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import hold_back
from memory_assets.pipeline.stage.report import StageReport, timed
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import RETAINED, count
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.batch import Batch
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

STAGE = REDACTED_RECORDS.name
AUDIT_STAGE = REDACTION_AUDIT.name
_COUNTED = ("records", "kept", "bad_lines", "copied_blocks", "prompts", "redactions", "withheld")


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
            products(STAGE),
            products(AUDIT_STAGE),
            {
                entry.session_id: entry.input_hash
                for entry in catalog.quarantine.entries(project)
                if entry.stage == STAGE
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


class _KnownHashes:
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
    catalog, version = components.catalog, components.ruleset_version
    known, appended = _KnownHashes(catalog), 0
    with components.project_lock(project), timed(report):
        state = RedactionState.of(components, project)
        batch = Batch(components.lake, project, REDACTED_RECORDS, REDACTION_AUDIT)
        redacted: list[Redaction] = []
        for session in session_files(components, project, retain):
            name, expected_hash = session.session_id, session.input_hash(version)
            if retain and name not in retain:
                continue
            if not state.is_due(session, expected_hash):
                if name in state.held and not state.is_held(session, expected_hash):
                    catalog.quarantine.release(project, name, STAGE)
                continue
            hashes, through = known.snapshot()
            try:
                written, was_added = _redacted(
                    components, batch, session, expected_hash, hashes, state
                )
            except Exception as error:  # noqa: BLE001 - fail closed, whatever went wrong
                batch.discard(name)
                hold_back(catalog, project, name, STAGE, expected_hash, error)
                continue
            if was_added:  # earlier records were not searched for newer secrets
                through = min(through, catalog.known_secrets.checked_through(project, name))
                report.details["sessions_appended_to"] = appended = appended + 1
            known.add(written.found)
            redacted.append(
                Redaction(
                    written.records,
                    written.audit,
                    through,
                    written.found,
                    written.state.to_json(),
                    was_added,
                )
            )
            if batch.full:
                redacted = _published(components, batch, redacted, state)
            report.changed += 1
            report.rows_written += written.records.rows
        _published(components, batch, redacted, state)
        batch.compact()
        report.add_products(list(state.records.values()))
        report.quarantined = len(catalog.quarantine.entries(project))
        _add_details(report, state.records)
    components.read_records.forget()
    return report


def _published(
    components: Components, batch: Batch, redacted: list[Redaction], state: RedactionState
) -> list[Redaction]:
    """Publish the rows of redacted sessions, note their products, and return an empty list."""
    sizes = batch.publish()

    def sized(product: Product) -> Product:
        return replace(product, bytes=sizes.get((product.stage, product.session_id), product.bytes))

    noted = [
        replace(each, records=sized(each.records), audit=sized(each.audit)) for each in redacted
    ]
    if noted:
        components.catalog.redactions.put(*noted)
    state.records.update((each.records.session_id, each.records) for each in noted)
    return []


def _redacted(
    components: Components,
    batch: Batch,
    session: SessionFiles,
    expected_hash: str,
    known: frozenset[bytes],
    state: RedactionState,
) -> tuple[WrittenSession, bool]:
    """Redact what was added to a session, or all of it if anything else changed; return the
    session, and whether it was appended to."""
    name = session.session_id
    records, audit = state.records.get(name), state.audits.get(name)
    before = state_of(components.catalog, *session.key)
    whole = records is not None and RETAINED not in records.facts and session.retained is None
    if whole and records and audit and before and name not in state.affected:
        addition = addition_to(components, session, before, records, audit)
        if addition is not None:
            written = redact_added(components, batch, session, expected_hash, known, addition)
            if written is not None:
                return written, True
    return redact_whole(components, batch, session, expected_hash, known, before), False


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


def _add_details(report: StageReport, products: Mapping[str, Product]) -> None:
    for name in _COUNTED:
        report.details[name] = sum(count(product.facts, name) for product in products.values())
    dropped: Counter[str] = Counter()
    for product in products.values():
        dropped.update(product.facts.get("dropped", {}))
    for reason, number in sorted(dropped.items()):
        report.details[f"dropped_{reason}"] = number
