"""Quarantine of sessions that a stage could not process (for which errors, and until when), and of
sessions that a check holds back: their records stay, and nothing downstream is made of them.

So one false alarm does not stop a project. A session that a check holds back is tried again when
its records, the rules, the scanner or its settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from memory_assets import __version__
from memory_assets.errors import (
    BusyTranscript,
    DamagedFile,
    DamagedTranscript,
    EmbedderUnavailable,
    RedactionUnavailable,
    StoreError,
    TranscriptError,
    environment,
    safe_reason,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, Table
from memory_assets.stores.workspaces import is_workspace

_PERMANENT_REMEDY = "it is tried again when its file, the rules or the code change"


def hold_back(
    catalog: Catalog, project: str, session_id: str, stage: str, failed_input: str, error: Exception
) -> None:
    """Quarantine a session at a stage until its input hash differs from `failed_input`, or
    until the next run if the failure may pass.

    Raises:
        StoreError, EmbedderUnavailable, RedactionUnavailable: `error` itself, if it is not
            about this session; nothing is held back then.
    """
    stores = (StoreError, EmbedderUnavailable, RedactionUnavailable)
    if isinstance(error, stores) and not isinstance(error, DamagedFile):
        raise error
    until = "" if may_pass(error) else failed_input
    entry = Quarantined(
        project, session_id, stage, until, safe_reason(error), remedy=remedy_for(error)
    )
    if entry.remedy == _PERMANENT_REMEDY:
        command = "index" if is_workspace(project) else "ingest"
        tried = f"(version {__version__} failed); `memory {command} --full` tries it now"
        entry = replace(entry, remedy=f"{entry.remedy} {tried}", failed_version=__version__)
    catalog.quarantine.hold(entry)


def release_mended(catalog: Catalog) -> None:
    """Release what failed for a fault of another version of this program: it may be mended."""
    for entry in catalog.quarantine.entries():
        if entry.failed_version not in ("", __version__):
            catalog.quarantine.release(entry.project, entry.session_id, entry.stage)


def may_pass(error: Exception) -> bool:
    """Return whether the next run may succeed although nothing about the session changed: after
    an error of the environment, or one of reading a file."""
    if isinstance(error, DamagedTranscript):
        return False
    return isinstance(error, TranscriptError) or environment(error) is not None


def remedy_for(error: Exception) -> str:
    """Return what the user can do about a failure."""
    if isinstance(error, DamagedTranscript | BusyTranscript):
        return error.remedy
    cause = environment(error)
    if cause is not None:
        return cause.remedy
    return "the next run tries it again" if may_pass(error) else _PERMANENT_REMEDY


_SCANNER = "kingfisher-secret-scanner"
_REMEDY = (
    "if the lines hold no secret, list the rule in MEMORY_SCANNER_IGNORED_RULES; if they do, "
    "report the rule by name"
)


def hold_sessions(
    components: Components, project: str, table: Table, reasons: Mapping[str, str]
) -> None:
    """Hold back the sessions in whose rows of a table a check found something, each for a reason.
    Their rows are removed from the table, unless it has the records or their audit."""
    catalog = components.catalog
    records = catalog.products.hashes(REDACTED_RECORDS.name, project)
    for session_id, reason in sorted(reasons.items()):
        state = _state(components, records.get(session_id, ("", ""))[1])
        catalog.quarantine.hold(
            Quarantined(project, session_id, HELD_BY_CHECK, state, reason, remedy=_REMEDY)
        )
    if table in (REDACTED_RECORDS, REDACTION_AUDIT):
        return
    components.lake.delete(table, project, *reasons)
    for session_id in reasons:
        catalog.products.drop(table.name, project, session_id)


def held_sessions(
    components: Components, project: str, records: Mapping[str, str]
) -> frozenset[str]:
    """Return the sessions of a project that a check holds back in their present state; `records`
    are the output hashes of their products of redacted_records."""
    held = components.catalog.quarantine.inputs(project, HELD_BY_CHECK)
    return frozenset(
        session_id
        for session_id, state in held.items()
        if state == _state(components, records.get(session_id, ""))
    )


def names_held(components: Components, project: str) -> frozenset[str]:
    """Return the sessions of a project that a check held back, changed since or not."""
    return frozenset(components.catalog.quarantine.inputs(project, HELD_BY_CHECK))


def release_changed(components: Components, project: str, records: Mapping[str, str]) -> None:
    """Release the sessions whose state is another one now; their checks run again."""
    changed = names_held(components, project) - held_sessions(components, project, records)
    for session_id in sorted(changed):
        components.catalog.quarantine.release(project, session_id, HELD_BY_CHECK)


def _state(components: Components, output_hash: str) -> str:
    try:
        scanner = version(_SCANNER)
    except PackageNotFoundError:
        scanner = ""
    ignored = sorted(components.settings.scanner_ignored_rules)
    return input_hash(output_hash, components.ruleset_version, scanner, *ignored)
