"""Quarantine of a session that a stage could not process: for which errors, and until when."""

from __future__ import annotations

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
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import Quarantined
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
    reason, remedy = safe_reason(error), remedy_for(error)
    if remedy == _PERMANENT_REMEDY:
        command = "index" if is_workspace(project) else "ingest"
        remedy = f"{remedy}; `memory {command} --full` tries it now"
    catalog.quarantine.hold(Quarantined(project, session_id, stage, until, reason, remedy=remedy))


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
