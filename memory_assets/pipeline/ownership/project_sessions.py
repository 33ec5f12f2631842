"""The sessions of a project: their files, which records they only copied, which are retained."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from memory_assets.paths import project_of
from memory_assets.pipeline.ownership.attribution import SessionRecords, copied_records, owners
from memory_assets.pipeline.ownership.removed_records import tombstones, with_forgotten
from memory_assets.pipeline.ownership.repeated_prompts import of_orchestrators
from memory_assets.pipeline.ownership.session_files import Retained, SessionFiles
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.facts import RETAINED, RecordFacts
from memory_assets.stores.catalog.records import RECORD_DTYPE, RecordIds
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

_NOTHING_COPIED: RecordIds = np.empty(0, dtype=np.uint64)


def session_files(
    components: Components,
    project: str,
    retain: Container[str] = (),
    ledger: Sequence[SourceRow] | None = None,
) -> list[SessionFiles]:
    """Return the sessions of a project, sorted by id, from the catalogue's source files or, if
    given, from the rows in `ledger`.

    A session stays retained while it is older than the policy or its file is gone; `retain`
    adds more.
    """
    sharing = _sharing_sessions(components, project)
    copied = copied_records(sharing)
    owned_by = owners(sharing, copied)
    copied = with_forgotten(components, project, sharing, copied)
    rows = sorted(
        components.catalog.sources.rows(project) if ledger is None else ledger,
        key=lambda row: (row.session_id, row.agent_id),
    )
    repeating = of_orchestrators(rows)
    sessions = [
        SessionFiles(
            project,
            session_id,
            tuple(files),
            copied.get((project, session_id), _NOTHING_COPIED),
            tuple(owned_by.get((project, session_id), ())),
            repeats=session_id in repeating,
        )
        for session_id, files in groupby(rows, key=lambda row: row.session_id)
    ]
    return with_retained(components, project, sessions, retain)


def _sharing_sessions(components: Components, project: str) -> list[SessionRecords]:
    """Return the sessions of a project, and those elsewhere that may share its records."""
    catalog = components.catalog
    rows = _may_share(components, project)
    made = {
        (name, session_id): product
        for name in {row.project for row in rows}
        for session_id, product in catalog.products.of_project(REDACTED_RECORDS.name, name).items()
    }
    return [
        _session_records(row, made.get((row.project, row.session_id)))
        for row in rows
        if row.gone_at is None or (row.project, row.session_id) in made
    ]


def _session_records(row: SourceRow, made: Product | None) -> SessionRecords:
    """Return the records of a main file, whose session was redacted as `made`."""
    root = str(row.facts.get("project_root") or "").removeprefix("~")
    owned_by = made.facts.get("copied_from", []) if made is not None else []
    return SessionRecords(
        row.project,
        row.session_id,
        np.frombuffer(row.records, dtype=RECORD_DTYPE),
        family=row.family,
        named=row.facts.get("named_session"),
        parent=row.facts.get("parent_session"),
        at_home=bool(root) and project_of(root) in row.project,
        on_record=made is not None,
        unreadable=row.gone_at is not None or (made is not None and RETAINED in made.facts),
        earlier_owners=frozenset((project, session_id) for project, session_id in owned_by),
    )


def _may_share(components: Components, project: str) -> list[SourceRow]:
    """Return the main files of the project, and of others, that share records with another file
    or may do so, and those that begin with the record of a forgotten session."""
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


_DAY_SECONDS = 86_400.0


def with_retained(
    components: Components, project: str, sessions: list[SessionFiles], retain: Container[str]
) -> list[SessionFiles]:
    """Return the sessions, with those marked that are retained: those that are so on record and
    are still over, or have lost their main file, and those of `retain`."""
    before = components.catalog.products.facts_with(REDACTED_RECORDS.name, RETAINED, project)
    if not (before or retain):
        return sessions
    made = components.catalog.products.of_project(REDACTED_RECORDS.name, project) if retain else {}
    result = []
    for session in sessions:
        facts: RecordFacts | None = before.get((project, session.session_id))
        if session.session_id in retain:
            facts = made[session.session_id].facts
        elif facts is not None and not (session.main_gone or is_over(components, session)):
            facts = None
        if facts is not None:
            session = replace(session, retained=Retained.of_facts(facts))
        result.append(session)
    return result


def is_over(components: Components, session: SessionFiles) -> bool:
    """Whether a session ended before the days that the retention policy keeps; False without
    a policy."""
    days = components.settings.retention
    return days is not None and session.ended_at < components.clock() - days * _DAY_SECONDS
