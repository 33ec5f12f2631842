"""Holding back a document in which a check found something, so that the others go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.workspace.state import STAGE, held_state, known_values
from memory_assets.stores.catalog.schema import Quarantined
from memory_assets.stores.lake.schemas import (
    WORKSPACE_CHUNKS,
    WORKSPACE_DOCUMENTS,
    WORKSPACE_EMBEDDINGS,
)

_TABLES = (WORKSPACE_DOCUMENTS.name, WORKSPACE_CHUNKS.name, WORKSPACE_EMBEDDINGS.name)
_REMEDY = (
    "change those lines, or leave the file out in .memoryignore; if they hold no secret, list the "
    "rule in MEMORY_SCANNER_IGNORED_RULES"
)


def hold_back_documents(
    components: Components, partition: str, reasons: Mapping[str, str], version: str
) -> None:
    """Remove documents from the tables of their workspace, so that the indexes drop them, too, and
    hold them back for these reasons, by path; `version`: what they were made with. One whose path
    itself holds what is known now is not named: the next walk leaves it out."""
    catalog = components.catalog
    known = known_values(components)
    products = catalog.products.of_project(STAGE, partition)
    # Not current from now on: made and found again, or removed, should this end halfway.
    found = (replace(products[path], input_hash="") for path in reasons if path in products)
    catalog.products.put(*found, run_id=components.run_id)
    components.lake.remove_sessions(partition, sorted(reasons))
    for path in reasons:
        catalog.products.drop_noted(partition, path, *_TABLES)
    for path, reason in sorted(reasons.items()):
        if path not in products or known.are_in(path):
            continue
        state = held_state(components, products[path].facts["mtime_ns"], version)
        catalog.quarantine.hold(Quarantined(partition, path, STAGE, state, reason, remedy=_REMEDY))
