"""A lost catalogue: what the lake says of itself is believed again.

Without this, sessions whose files their agents have deleted would be lost with the
ledger; with it, those that are still on disk are not even redacted again.
"""

from __future__ import annotations

from memory_assets.pipeline.components import Components
from memory_assets.pipeline.redact import STAGE, product_of
from memory_assets.stores.schemas import REDACTED_RECORDS


def adopt_archive(components: Components) -> int:
    """Register every session that the lake holds, if the catalogue knows of none; return
    how many. Costs one query when there is nothing to do."""
    catalog, lake = components.catalog, components.lake
    if catalog.knows_products_of(STAGE):
        return 0
    adopted = 0
    for project in lake.projects(REDACTED_RECORDS):
        for session_id in lake.sessions(REDACTED_RECORDS, project):
            written, footer = lake.read_footer(REDACTED_RECORDS, project, session_id)
            if {"facts", "input_hash", "output_hash"} <= footer.keys():
                catalog.put_product(product_of(project, session_id, written, footer))
                adopted += 1
    return adopted
