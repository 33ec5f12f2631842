"""The asset known_secrets: redacted sessions, searched for secrets that were found later."""

from __future__ import annotations

from memory_assets.pipeline.redact.known_secrets import mark_affected
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.runs.events import Metadata

KNOWN_SECRETS = "known_secrets"


def search_for_known_secrets(components: Components) -> Metadata:
    """Mark the sessions that hold a secret found since they were redacted, and return the
    metadata of the asset's materialization."""
    report = mark_affected(components)
    return {
        "work": "brought up to date" if report.searched else "nothing to do",
        "values_known": len(components.catalog.known_secrets.rules()),
        "values_searched_for": report.values,
        "sessions_searched": report.searched,
        "sessions_marked": report.affected_sessions,
        "sessions_to_redact_again": report.holding,
        "files_damaged": report.damaged,
        "seconds": round(report.seconds, 3),
    }
