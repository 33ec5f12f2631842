"""Holding a session back: what is quarantined, until when, and what is not."""

from __future__ import annotations

from memory_assets.errors import (
    DamagedFile,
    EmbedderUnavailable,
    RedactionUnavailable,
    StoreError,
    TranscriptError,
    safe_reason,
)
from memory_assets.stores.catalog import Catalog, Quarantined

_PASSING = (OSError, MemoryError, TranscriptError)
"""Failures that may be gone the next time: tried again in every run."""


def hold_back(
    catalog: Catalog, project: str, session_id: str, stage: str, wanted: str, error: Exception
) -> None:
    """Quarantine a session at a stage until its input is not `wanted` any more, or until
    the next run if the failure may pass.

    Raises:
        StoreError, EmbedderUnavailable, RedactionUnavailable: `error` itself, when it is
            none of the session's doing; nothing is held back then.
    """
    environment = (StoreError, EmbedderUnavailable, RedactionUnavailable)
    if isinstance(error, environment) and not isinstance(error, DamagedFile):
        raise error
    until = "" if isinstance(error, _PASSING) else wanted
    catalog.quarantine(Quarantined(project, session_id, stage, until, safe_reason(error)))
