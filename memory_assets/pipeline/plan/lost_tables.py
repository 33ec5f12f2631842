"""Finding rows that are gone from the lake, or older than the catalogue says.

Somebody deleted a directory or a file, or a backup did not restore it, or restored an older one.
Products that can be made again are dropped, so that the next run makes them; restored rows of
forgotten sessions are deleted again. Sessions whose records and transcript are both gone are
quarantined with this reason: their indexed rows stay, and can still be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import ExitStack

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.pipeline.ownership.session_files import session_files
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.schema import Quarantined
from memory_assets.stores.lake.own_files import move_own_files
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    TABLES,
    WORKSPACE_DOCUMENTS,
    Table,
)

_GONE = (
    "its records are gone from the lake, and its transcript is deleted or was cut down; what is "
    "indexed of it can still be found"
)
_REMEDY = "bring the lake's directory back from a backup, then run `memory ingest`"


def forget_lost_rows(
    components: Components, projects: Set[str], *, thoroughly: bool = False
) -> None:
    """Drop the products, of these projects and of those in the lake, whose rows are missing or
    other ones. Costs a stat for each table of a project. Tables in which a file was added or
    removed since the last call, or all if `thoroughly`, are tidied and their footers read."""
    catalog, lake = components.catalog, components.lake
    for entry in catalog.quarantine.entries():
        key = entry.project, entry.session_id
        if entry.records_lost and lake.file(REDACTED_RECORDS, *key):
            catalog.quarantine.release(*key, entry.stage)
    noted = {} if thoroughly else catalog.products.lake_states()
    changed: dict[str, dict[Table, int]] = {}
    for table in TABLES.values():
        try:
            listed = set(lake.projects(table))
        except OSError:  # what cannot be listed is not lost
            continue
        for project in projects | listed:
            state = lake.partition(table, project).changed() if project in listed else 0
            if noted.get((table.name, project), 0) != state or (
                not state and catalog.products.has_rows(table.name, project)
            ):
                changed.setdefault(project, {})[table] = state
    for project, tables in sorted(changed.items()):
        with ExitStack() as locks:
            try:
                locks.enter_context(components.project_lock(project, 0.0))
            except StoreBusy:  # its writer will note the new rows
                continue
            _compare_products(components, project, tables)


def _compare_products(components: Components, project: str, tables: Mapping[Table, int]) -> None:
    """Compare the rows in tables of a project with its products, and note the tables' states."""
    catalog, lake = components.catalog, components.lake
    forgotten = components.tombstones.forgotten("done")
    lost: dict[Table, set[str]] = {}
    restored: set[str] = set()
    states = dict(tables)
    for table in tables:
        stored = catalog.products.of_project(table.name, project)
        partition = lake.partition(table, project)
        move_own_files(partition)  # of a table that was put back
        try:
            partition.tidy()
            states[table] = partition.changed()
            entries = partition.entries()
            lost[table] = {
                name
                for name, product in stored.items()
                if product.rows
                and (name not in entries or product.output_hash != entries[name].output_hash)
            }
        except (StoreError, OSError):  # its readers report the error
            del states[table]
            continue
        restored |= {name for name in entries.keys() - stored if (project, name) in forgotten}
    if restored:
        lake.remove_sessions(project, restored)
    if any(lost.values()):
        _forget_products(components, project, lost)
    catalog.products.note_lake_states(
        project, {lake_table.name: at for lake_table, at in states.items()}
    )


def without_records(components: Components, project: str) -> list[str]:
    """Return the sessions of a project that are held back because their records are gone."""
    entries = components.catalog.quarantine.entries(project)
    return [entry.session_id for entry in entries if entry.records_lost]


def _forget_products(components: Components, project: str, lost: Mapping[Table, Set[str]]) -> None:
    products = components.catalog.products
    unreadable = _unreadable(components, project)
    kept = _hold_back(components, project, unreadable)
    for table, names in lost.items():
        of_sources = table in (REDACTED_RECORDS, REDACTION_AUDIT)
        for name in names - (unreadable.keys() if of_sources else kept):
            if table is WORKSPACE_DOCUMENTS:  # or no plan would know that it is to be read again
                products.outdate((table.name, project, name))
            else:
                products.drop_noted(project, name, table.name)


def _unreadable(components: Components, project: str) -> dict[str, str]:
    """Return the input hash of each session of a project whose transcript cannot be read again."""
    version = components.ruleset_version
    return {
        session.session_id: session.input_hash(version)
        for session in session_files(components, project)
        if session.retained is not None or any(row.gone_at is not None for row in session.rows)
    }


def _hold_back(components: Components, project: str, unreadable: Mapping[str, str]) -> set[str]:
    """Quarantine the unreadable sessions whose records are gone, and return them."""
    catalog, stage = components.catalog, REDACTED_RECORDS.name
    stored = catalog.products.of_project(stage, project)
    there = set(components.lake.sessions(REDACTED_RECORDS, project))
    held = {
        (entry.session_id, entry.stage, entry.input_hash)
        for entry in catalog.quarantine.entries(project)
    }
    gone = {name for name in unreadable.keys() - there if name in stored and stored[name].rows}
    for name in gone:
        key = (name, stage, unreadable[name])
        if key not in held:
            catalog.products.drop(REDACTION_AUDIT.name, project, name)
            lost = Quarantined(project, *key, _GONE, remedy=_REMEDY, records_lost=True)
            catalog.quarantine.hold(lost)
    return gone
