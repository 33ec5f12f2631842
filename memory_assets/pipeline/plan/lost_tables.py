"""Tables of a project whose files are gone from the lake, although the catalogue has rows of them.

Somebody deleted the directory, or it did not come back from a backup. What can be made again is
forgotten, so that the next run makes it. Sessions whose records and transcript are both gone are
held back, which says so: what is indexed of them stays, and can still be found.
"""

from __future__ import annotations

from collections.abc import Set

from memory_assets.pipeline.ownership.session_files import session_files
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stages import STAGES
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.catalog.schema import Quarantined
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, Table
from memory_assets.stores.runs.names import PARTITIONS
from memory_assets.stores.workspaces import is_workspace

_TABLES = (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    *(stage.table for stage in STAGES if stage.partitions == PARTITIONS),
)
_GONE = (
    "its records are gone from the lake, and its transcript is deleted or was cut down; what is "
    "indexed of it can still be found"
)
_REMEDY = "bring the lake's directory back from a backup, then run `memory ingest`"


def forget_lost_tables(components: Components, projects: Set[str]) -> None:
    """Forget the products of which no file is left in one of these projects. A file that is lost
    while others of its directory are left is not noticed, but by `memory verify`. Costs a listing
    a table, and a query for each project without files there."""
    catalog, lake = components.catalog, components.lake
    for entry in catalog.quarantine.entries():
        if entry.reason == _GONE and lake.file(REDACTED_RECORDS, entry.project, entry.session_id):
            catalog.quarantine.release(entry.project, entry.session_id, entry.stage)
    lost: dict[str, list[Table]] = {}
    for table in _TABLES:
        try:
            there = set(lake.projects(table))
        except OSError:  # what cannot be listed is not lost
            continue
        for project in projects - there:
            if is_workspace(project) or is_agent_memory(project):
                continue
            if catalog.products.has_rows(table.name, project):
                lost.setdefault(project, []).append(table)
    for project, tables in sorted(lost.items()):
        with components.project_lock(project):
            gone = [table for table in tables if not lake.partition_dir(table, project).is_dir()]
            _forget(components, project, [table.name for table in gone])


def without_records(components: Components, project: str) -> list[str]:
    """Return the sessions of a project that are held back because their records are gone."""
    entries = components.catalog.quarantine.entries(project)
    return [entry.session_id for entry in entries if entry.reason == _GONE]


def _forget(components: Components, project: str, tables: list[str]) -> None:
    products = components.catalog.products
    kept = _hold_back_unreadable(components, project)
    for table in tables:
        for session_id, product in products.of_project(table, project).items():
            if product.rows and session_id not in kept:
                products.drop_noted(project, session_id, table)


def _hold_back_unreadable(components: Components, project: str) -> set[str]:
    """Hold back the sessions of a project whose records are gone and cannot be read again, and
    return them."""
    catalog, version = components.catalog, components.ruleset_version
    made = catalog.products.of_project(REDACTED_RECORDS.name, project)
    there = set(components.lake.sessions(REDACTED_RECORDS, project))
    held = {
        (entry.session_id, entry.stage, entry.input_hash)
        for entry in catalog.quarantine.entries(project)
    }
    unreadable: set[str] = set()
    for session in session_files(components, project):
        name = session.session_id
        readable = session.retained is None and all(row.gone_at is None for row in session.rows)
        if readable or name in there or name not in made or not made[name].rows:
            continue
        unreadable.add(name)
        key = (name, REDACTED_RECORDS.name, session.input_hash(version))
        if key not in held:
            catalog.products.drop(REDACTION_AUDIT.name, project, name)
            catalog.quarantine.hold(Quarantined(project, *key, _GONE, remedy=_REMEDY))
    return unreadable
