"""The sessions of a project: their files, which records they only copied, which are retained."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import groupby

import numpy as np

from memory_assets.paths import project_of
from memory_assets.pipeline.ownership.attribution import SessionRecords, copied_records, owners
from memory_assets.pipeline.ownership.forgotten_records import tombstones, with_forgotten
from memory_assets.pipeline.ownership.retained_sessions import with_retained
from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.facts import RETAINED
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
    sessions = [
        SessionFiles(
            project,
            session_id,
            tuple(files),
            copied.get((project, session_id), _NOTHING_COPIED),
            tuple(owned_by.get((project, session_id), ())),
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
