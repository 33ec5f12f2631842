"""Whether a file of a workspace has to be read: what its document was made of, and with what;
and holding back a document in which a check found something, so that the others go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memory_assets.documents import CHUNKER_VERSION
from memory_assets.documents.walk import FoundFile
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction import KnownValues
from memory_assets.stores.catalog.schema import Product, Quarantined
from memory_assets.stores.lake.schemas import (
    WORKSPACE_CHUNKS,
    WORKSPACE_DOCUMENTS,
    WORKSPACE_EMBEDDINGS,
)

STAGE = WORKSPACE_DOCUMENTS.name
DOCUMENTS_VERSION = "documents-2"


def made_with(components: Components, known: int | None = None) -> str:
    """Return the version of what makes documents: code, rules, settings, and the secrets that are
    known, which are taken out of documents, too; those up to the number `known`, if given."""
    settings = components.settings
    if known is None:
        known = components.catalog.known_secrets.last_number()
    choices = (settings.workspace_services, settings.workspace_domains, known)
    return input_hash(DOCUMENTS_VERSION, components.ruleset_version, repr(choices))


def known_values(components: Components, after: int = 0) -> KnownValues:
    """Return the search for the secrets that are known, those with numbers above `after`."""
    hashes = (value.hash for value in components.catalog.known_secrets.since(after))
    return KnownValues(components.install_key, frozenset(hashes))


def is_current(product: Product | None, file: FoundFile, version: str) -> bool:
    """Whether a product was made of a file that looks as it does now, by this version."""
    return (
        product is not None
        and product.facts.get("size") == file.size
        and product.facts.get("mtime_ns") == file.mtime_ns
        and product.input_hash == input_hash(product.facts.get("fingerprint", ""), version)
    )


def held_state(components: Components, mtime_ns: int, version: str) -> str:
    """Return the input hash under which a document is held back: it is tried again when its file,
    what makes documents or chunks, or what the scanner looks for changes."""
    ignored = components.settings.scanner_ignored_rules
    return input_hash(f"{mtime_ns}", version, CHUNKER_VERSION, *ignored)


def held_back(components: Components, partition: str) -> dict[str, Quarantined]:
    """Return the documents of a workspace that are held back, by path."""
    entries = components.catalog.quarantine.entries(partition, STAGE)
    return {entry.session_id: entry for entry in entries}


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
    outdated = (replace(products[path], input_hash="") for path in reasons if path in products)
    catalog.products.put(*outdated, run_id=components.run_id)
    components.lake.remove_sessions(partition, sorted(reasons))
    for path in reasons:
        catalog.products.drop_noted(partition, path, *_TABLES)
    for path, reason in sorted(reasons.items()):
        if path not in products or known.are_in(path):
            continue
        state = held_state(components, products[path].facts["mtime_ns"], version)
        catalog.quarantine.hold(Quarantined(partition, path, STAGE, state, reason, remedy=_REMEDY))
