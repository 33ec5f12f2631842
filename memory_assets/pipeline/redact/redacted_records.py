"""redacted_records and redaction_audit: every record of a project, redacted, each counted
once, and what was taken out of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from memory_assets.pipeline.ownership.attribution import (
    SessionKey,
    SessionRecords,
    copied_records,
    owners,
)
from memory_assets.pipeline.ownership.forgotten_records import tombstones, with_forgotten
from memory_assets.pipeline.ownership.session_files import Retained, SessionFiles
from memory_assets.pipeline.redact.full_redaction import redact_whole
from memory_assets.pipeline.redact.incremental import addition_to, redact_added
from memory_assets.pipeline.redact.known_values import KnownSoFar
from memory_assets.pipeline.redact.session_redaction import WrittenSession
from memory_assets.pipeline.redact.state import state_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import hold_back
from memory_assets.pipeline.stage.report import StageReport, timed
from memory_assets.stores.catalog.facts import RETAINED, RecordFacts, count
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

STAGE = REDACTED_RECORDS.name
AUDIT_STAGE = REDACTION_AUDIT.name
_DAY_SECONDS = 86_400.0
_NOTHING_COPIED: RecordIds = np.empty(0, dtype=np.uint64)


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


def session_files(
    components: Components,
    project: str,
    retain: Container[str] = (),
    ledger: Sequence[SourceRow] | None = None,
) -> list[SessionFiles]:
    """Return the sessions of a project, as the ledger (read anew unless given) knows them,
    sorted by id.

    Retained are those that were so before and are still old enough, or have lost the file to
    come back whole from; and those that are to be from now on (`retain`).
    """
    sharing = _sharing_sessions(components, project)
    copied = copied_records(sharing)
    owned_by = owners(sharing, copied)
    copied = with_forgotten(components, project, sharing, copied)
    rows = sorted(
        components.catalog.sources.rows(project) if ledger is None else ledger,
        key=lambda row: (row.session_id, row.agent_id),
    )
    sessions = [
        SessionFiles(
            session_id,
            tuple(files),
            copied.get((project, session_id), _NOTHING_COPIED),
            tuple(owned_by.get((project, session_id), ())),
        )
        for session_id, files in groupby(rows, key=lambda row: row.session_id)
    ]
    return _with_retained(components, project, sessions, retain)


def _with_retained(
    components: Components, project: str, sessions: list[SessionFiles], retain: Container[str]
) -> list[SessionFiles]:
    before = components.catalog.products.facts_with(STAGE, RETAINED, project)
    if not (before or retain):
        return sessions
    made = components.catalog.products.of_project(STAGE, project) if retain else {}
    days = components.settings.retention
    result = []
    for session in sessions:
        facts: RecordFacts | None = before.get((project, session.session_id))
        if session.session_id in retain:
            facts = made[session.session_id].facts
        elif facts is not None and not (session.main_gone or is_over(session, days)):
            facts = None
        if facts is not None:
            session = replace(session, retained=Retained.of_facts(facts))
        result.append(session)
    return result


def is_over(session: SessionFiles, days: int | None) -> bool:
    """Whether a session ended so many days ago; never, if there is no number."""
    return days is not None and session.ended_at < time.time() - days * _DAY_SECONDS


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


def _sharing_sessions(components: Components, project: str) -> list[SessionRecords]:
    """Return the sessions of a project, and those elsewhere that may share its records."""
    catalog = components.catalog
    rows = _may_share(components, project)
    made = {
        (name, session_id): product
        for name in {row.project for row in rows}
        for session_id, product in catalog.products.of_project(STAGE, name).items()
    }
    return [
        SessionRecords(
            row.project,
            row.session_id,
            np.frombuffer(row.records, dtype=RECORD_DTYPE),
            family=row.family,
            named=row.facts.get("named_session"),
            on_record=(row.project, row.session_id) in made,
            gave_way_to=_gave_way_to(made.get((row.project, row.session_id))),
        )
        for row in rows
        if row.gone_at is None or (row.project, row.session_id) in made
    ]


def _may_share(components: Components, project: str) -> list[SourceRow]:
    """Return the main files that share records with others, or begin like one that was
    forgotten, or of which neither is known."""
    catalog = components.catalog
    rows = catalog.sources.families_of(project, sharing=True)
    tombstone_store = tombstones(components)
    if families := tombstone_store.families():
        listed = {(row.project, row.session_id) for row in rows}
        rows += [
            catalog.sources.with_records(row)
            for row in catalog.sources.rows(project)
            if not row.agent_id
            and (row.project, row.session_id) not in listed
            and row.family is not None
            and tombstone_store.family_key(row.family) in families
        ]
    return rows


def _gave_way_to(product: Product | None) -> frozenset[SessionKey]:
    owned_by = product.facts.get("copied_from", []) if product is not None else []
    return frozenset((project, session_id) for project, session_id in owned_by)


def _add_details(report: StageReport, products: Mapping[str, Product]) -> None:
    for name in ("records", "kept", "bad_lines", "copied_blocks", "prompts", "redactions"):
        report.details[name] = sum(count(made.facts, name) for made in products.values())
    dropped: Counter[str] = Counter()
    for made in products.values():
        dropped.update(made.facts.get("dropped", {}))
    for reason, number in sorted(dropped.items()):
        report.details[f"dropped_{reason}"] = number
