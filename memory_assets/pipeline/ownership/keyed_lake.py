"""A lake of the versions before is brought to keyed ids, once.

Those versions wrote ids that are unkeyed hashes of a record's text, where its agent had
given it none. Each file that holds one is written anew, a project at a time, and at last the
catalogue's file, whose free pages still have what `keyed_catalog.py` replaced. Killed at any
moment, the next ingest goes on. A lost catalogue says nothing of the lake that it is adopted
from, so that lake is looked through too.
"""

from __future__ import annotations

import contextlib

from memory_assets.errors import DamagedFile, StoreBusy
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, TABLES
from memory_assets.stores.sqlite_files import compact

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
    """Put keyed ids in the place of unkeyed ones, if that is still to be done; costs two
    queries if not. Under another key than before every file is to be read again.

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
        with contextlib.suppress(StoreBusy):  # somebody is reading: the next time will do
            compact(catalog.path)
            catalog.identities.note("keyed")


def _key_project(components: Components, project: str) -> None:
    lake, stored = components.lake, components.identity.stored
    noted = {table: components.catalog.products.hashes(table.name, project) for table in _TABLES}
    for session_id in sorted({name for table in _TABLES for name in lake.sessions(table, project)}):
        lake.remove_leftovers(project, session_id)
        before = now = ""
        for table, columns in _TABLES.items():  # the audit after its records: it names their hash
            if not lake.path(table, project, session_id).exists():
                continue
            key = (table, project, session_id)
            with contextlib.suppress(DamagedFile):  # `memory verify` says so
                written, footer = lake.read_footer(*key)
                of_these = table == REDACTION_AUDIT and footer.get(_RECORDS_HASH) == before
                amended = {_RECORDS_HASH: now} if of_these and now != before else {}
                lake.replace_ids(*key, columns, stored, amended)
                made = lake.read_footer(*key)[0].output_hash
                if table == REDACTED_RECORDS:
                    before, now = written.output_hash, made
                if noted[table].get(session_id, ("", made))[1] != made:
                    components.catalog.products.note_output(table.name, project, session_id, made)
