"""Whether a file of a workspace has to be read: what its document was made of, and with what."""

from __future__ import annotations

from memory_assets.documents.walk import FoundFile
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction import KnownValues
from memory_assets.stores.catalog.schema import Product, Quarantined
from memory_assets.stores.lake.schemas import WORKSPACE_DOCUMENTS

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
    what makes documents, or what the scanner looks for changes."""
    return input_hash(f"{mtime_ns}", version, *components.settings.scanner_ignored_rules)


def held_back(components: Components, partition: str) -> dict[str, Quarantined]:
    """Return the documents of a workspace that are held back, by path."""
    return {
        entry.session_id: entry
        for entry in components.catalog.quarantine.entries(partition)
        if entry.stage == STAGE
    }
