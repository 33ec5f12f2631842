"""Why something of a session cannot be shown, although its records are in the lake."""

from __future__ import annotations

from memory_assets.errors import NotFound
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets.stores.stores import Stores


def not_made(
    stores: Stores, project: str, session_id: str, missing: str, otherwise: str = ""
) -> NotFound:
    """Return the error that `missing` of a session is not in memory: with cause and remedy if the
    session is held back, with what makes it if the ingest was stopped before that; else the
    message `otherwise`."""
    products = stores.catalog.products.of_session(project, session_id)
    entries = stores.catalog.quarantine.entries(project)
    held = [each for each in entries if each.session_id == session_id]
    records = products.get(REDACTED_RECORDS.name)
    if records is None or not records.rows or (TURN_CHUNKS.name in products and not held):
        return NotFound(
            otherwise
            or f"no {missing} in session {session_id}; `memory summarize {session_id}` lists what "
            "is in it"
        )
    why = "not made yet; run `memory ingest`"
    if held:
        why = f"held back at {held[0].stage} ({held[0].reason}); to do: {held[0].remedy}"
    return NotFound(
        f"no {missing} of session {session_id}: {why}. `memory show {session_id} --records` prints "
        "its records"
    )
