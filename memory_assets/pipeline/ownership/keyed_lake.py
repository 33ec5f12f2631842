"""Migrating a lake of earlier versions to keyed ids, once.

Where an agent had given a record no id, those versions used an unkeyed hash of its text. Each
file with such an id is rewritten, project by project, and at the end the catalogue's file,
whose free pages still have the values that `keyed_catalog.py` replaced. If it is interrupted,
the next ingest continues. A lake that is adopted after the loss of its catalogue is migrated
too, because its version is unknown.
"""

from __future__ import annotations

import contextlib

from memory_assets.errors import DamagedFile, NotFound, StoreBusy
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.files.sqlite import compact
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, TABLES

_OF_RECORDS = ("record_uuid", "parent_uuid", "prompt_uuid")
_OF_AGENTS = ("tool_use_id", "message_id", "spawned_agent_id")
_RECORDS_HASH = "records_hash"

_TABLES = {
    table: names
    for table in TABLES.values()
    if (names := [name for name in _OF_RECORDS + _OF_AGENTS if name in table.schema.names])
}
"""Tables with ids that a reader may have derived from text, and their columns."""


def key_lake(components: Components) -> None:
    """Replace unkeyed ids in the lake by keyed ones; costs two queries if that is done. If the
    install key has changed, all files are marked as unread.

    Raises:
        StoreBusy: another process keeps writing a project; the next time goes on.
        StoreError: a file cannot be written.
    """
    catalog, lake = components.catalog, components.lake
    catalog.identities.require_key(components.identity.recognised_by)
    if catalog.identities.state() == "lake":
        for project in sorted({name for table in _TABLES for name in lake.projects(table)}):
            with components.project_lock(project):
                _key_project(components, project)
        catalog.identities.note("file")
    if catalog.identities.state() == "file":
        with contextlib.suppress(StoreBusy):  # another process reads: left to the next run
            compact(catalog.path)
            catalog.identities.note("keyed")


def _key_project(components: Components, project: str) -> None:
    lake, stored = components.lake, components.identity.stored
    noted = {table: components.catalog.products.hashes(table.name, project) for table in _TABLES}
    lake.remove_leftovers(project)
    for session_id in sorted({name for table in _TABLES for name in lake.sessions(table, project)}):
        before = now = ""
        for table, columns in _TABLES.items():  # records first: the audit has their hash
            key = (table, project, session_id)
            with contextlib.suppress(NotFound, DamagedFile):  # `memory verify` reports damage
                written, footer = lake.read_footer(*key)
                of_these = table == REDACTION_AUDIT and footer.get(_RECORDS_HASH) == before
                amended = {_RECORDS_HASH: now} if of_these and now != before else {}
                lake.replace_ids(*key, columns, stored, amended)
                made = lake.read_footer(*key)[0].output_hash
                if table == REDACTED_RECORDS:
                    before, now = written.output_hash, made
                if noted[table].get(session_id, ("", made))[1] != made:
                    components.catalog.products.note_output(table.name, project, session_id, made)
