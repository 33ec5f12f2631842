"""redacted_records and redaction_audit: every record of a project, redacted, each counted
once, and what was taken out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.redact.full_redaction import redact_whole
from memory_assets.pipeline.redact.incremental import addition_to, redact_added
from memory_assets.pipeline.redact.known_values import KnownSoFar
from memory_assets.pipeline.redact.session_redaction import WrittenSession
from memory_assets.pipeline.redact.state import state_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import hold_back
from memory_assets.pipeline.stage.report import StageReport, timed
from memory_assets.stores.catalog.facts import RETAINED, count
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

STAGE = REDACTED_RECORDS.name
AUDIT_STAGE = REDACTION_AUDIT.name


@dataclass
class RedactionState:
    """What the catalogue says of a project's redaction, by session: both products, sessions
    held back (with their input), and those that hold a secret found since."""

    records: dict[str, Product]
    audits: dict[str, Product]
    held: dict[str, str]
    affected: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, components: Components, project: str, *, facts: bool = True) -> RedactionState:
        """Return the state of a project; without `facts` the products have none, which is
        all that it takes to say what is due."""
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

    def is_done(self, session_id: str, wanted: str) -> bool:
        """Whether a session's records and audit are both made from `wanted`, and free of all
        secrets known by now."""
        records, audit = self.records.get(session_id), self.audits.get(session_id)
        return (
            records is not None
            and audit is not None
            and records.input_hash == audit.input_hash == wanted
            and session_id not in self.affected
        )

    def is_held(self, session: SessionFiles, wanted: str) -> bool:
        """Whether a session that is not due goes on being held back: its input is the one that
        failed, and there is something to be made of it."""
        name = session.session_id
        lost = session.gone and name not in self.records
        return self.held.get(name) == wanted and not (lost or self.is_done(name, wanted))

    def is_due(self, session: SessionFiles, wanted: str) -> bool:
        """Whether a session is to be redacted: not done, not lost, not held back."""
        lost = session.gone and session.session_id not in self.records
        return not (
            lost
            or self.is_done(session.session_id, wanted)
            or self.held.get(session.session_id) == wanted
        )


def redact_project(
    components: Components, project: str, retain: Container[str] = ()
) -> StageReport:
    """Redact the sessions of a project whose files or rules changed, or that hold a secret
    which was found since; or make those that are to be retained, and no others, so.

    A session whose redaction or reading fails is quarantined: nothing of its new content
    is written, what was written before stays, and the others go on. A session whose
    files are gone keeps what it has, redacted again when the rules change.
    """
    report = StageReport(STAGE, project)
    catalog, version = components.catalog, components.ruleset_version
    known, appended = KnownSoFar(catalog), 0
    with components.project_lock(project), timed(report):
        state = RedactionState.of(components, project)
        for session in session_files(components, project, retain):
            name, wanted = session.session_id, session.input_hash(version)
            if retain and name not in retain:
                continue
            if not state.is_due(session, wanted):
                if name in state.held and not state.is_held(session, wanted):
                    catalog.quarantine.release(project, name, STAGE)
                continue
            hashes, through = known.now()
            try:
                made, was_added = _redacted(components, project, session, wanted, hashes, state)
            except Exception as error:  # noqa: BLE001 - fail closed, whatever went wrong
                hold_back(catalog, project, name, STAGE, wanted, error)
                continue
            if was_added:  # its earlier records were not searched for what was found since
                through = min(through, catalog.known_secrets.checked_through(project, name))
                report.details["sessions_appended_to"] = appended = appended + 1
            catalog.redactions.put(
                made.records, made.audit, through, made.found, made.state.to_json()
            )
            state.records[name] = made.records
            report.changed += 1
            report.rows_written += made.records.rows
        report.add_products(list(state.records.values()))
        report.quarantined = len(catalog.quarantine.entries(project))
        _add_details(report, state.records)
    return report


def _redacted(
    components: Components,
    project: str,
    session: SessionFiles,
    wanted: str,
    known: frozenset[bytes],
    state: RedactionState,
) -> tuple[WrittenSession, bool]:
    """Redact what was added to a session if that is all that changed, else all of it; return
    what came of it, and whether it was the former."""
    name = session.session_id
    records, audit = state.records.get(name), state.audits.get(name)
    before = state_of(components.catalog, project, name)
    whole = records is not None and RETAINED not in records.facts and session.retained is None
    if whole and records and audit and before and name not in state.affected:
        addition = addition_to(components, session, before, records, audit)
        if addition is not None:
            made = redact_added(components, project, session, wanted, known, addition)
            if made is not None:
                return made, True
    return redact_whole(components, project, session, wanted, known, before), False


def audit_project(components: Components, project: str) -> StageReport:
    """Report what `redact_project` wrote to redaction_audit: entries by rule."""
    report = StageReport(AUDIT_STAGE, project)
    with timed(report):
        run_id = components.catalog.products.run_id
        products = list(components.catalog.products.of_project(AUDIT_STAGE, project).values())
        report.add_products(products)
        made_now = [made for made in products if made.run_id and made.run_id == run_id]
        report.changed = len(made_now)
        report.rows_written = sum(made.rows for made in made_now)
        rules: Counter[str] = Counter()
        for product in products:
            rules.update(product.facts.get("rules", {}))
        report.details["sessions_with_redactions"] = sum(made.rows > 0 for made in products)
        report.details.update({f"rule_{rule}": count for rule, count in sorted(rules.items())})
    return report


def _add_details(report: StageReport, products: Mapping[str, Product]) -> None:
    for name in ("records", "kept", "bad_lines", "copied_blocks", "prompts", "redactions"):
        report.details[name] = sum(count(made.facts, name) for made in products.values())
    dropped: Counter[str] = Counter()
    for made in products.values():
        dropped.update(made.facts.get("dropped", {}))
    for reason, number in sorted(dropped.items()):
        report.details[f"dropped_{reason}"] = number
