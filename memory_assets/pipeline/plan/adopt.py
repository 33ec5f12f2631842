"""Rebuilding a lost catalogue from the footers of the lake's files.

So sessions whose transcripts are deleted stay in memory, sessions that are still on disk are not
redacted again, and known secrets are restored from keyed hashes in the audit's footers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.ownership.removed_records import (
    REMOVED_RECORDS,
    read_removed_records,
)
from memory_assets.pipeline.redact.redacted_records import STAGE
from memory_assets.pipeline.redact.session_redaction import product_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.record_identity import RecordIdentity
from memory_assets.redaction.edits import FORGOTTEN_TEXT
from memory_assets.stores.catalog.facts import RETAINED, ProductFacts, product_facts
from memory_assets.stores.catalog.records import RECORD_DTYPE, Records
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, SESSION_SUMMARIES

_NO_RECORDS = np.empty(0, dtype=RECORD_DTYPE)
_COLUMNS = ["agent_id", "record_uuid", "timestamp", "kind"]
_MEAN_ROW_BYTES = 1_000
"""Mean size of a record in memory, to estimate the size of jobs without reading them."""


def adopt_archive(components: Components) -> int:
    """Register every session of the lake in a catalogue that has none, and return their
    number; costs one query if the catalogue has sessions. Texts that were cut become known secrets.

    Their source files count as deleted until a scan finds them.
    """
    catalog, lake = components.catalog, components.lake
    if forgotten := components.tombstones.texts() - catalog.known_secrets.rules().keys():
        catalog.known_secrets.add("", dict.fromkeys(forgotten, FORGOTTEN_TEXT))
    if catalog.products.has_any(STAGE):
        return 0
    products, sources = _retained_without_prompts(components)
    known: list[tuple[str, dict[bytes, str]]] = []
    for project in lake.projects(REDACTED_RECORDS):
        for session_id in lake.sessions(REDACTED_RECORDS, project):
            written, footer = lake.read_footer(REDACTED_RECORDS, project, session_id)
            if {"facts", "input_hash", "output_hash"} <= footer.keys():
                facts, size = product_facts(footer["facts"]), written.rows * _MEAN_ROW_BYTES
                product = product_of(
                    REDACTED_RECORDS, project, session_id, written, footer, facts, size
                )
                audit, known_values = _audit_product(components.lake, product)
                products.append(audit)
                known.append((session_id, known_values))
                rows = lake.read(REDACTED_RECORDS, project, session_id, _COLUMNS).to_pylist()
                products.append(product)
                removed = read_removed_records(footer.get(REMOVED_RECORDS, ""))
                sources += _source_rows(components.identity, product, rows, removed)
    with catalog.transaction():  # else a catalogue with the sessions alone would stay so
        catalog.adopt(sources, products)
        for session_id, known_values in known:
            catalog.known_secrets.add(session_id, known_values)
    return len(known)


def _retained_without_prompts(components: Components) -> tuple[list[Product], list[SourceRow]]:
    """Return products and source files of the retained sessions without prompts, of which only
    a summary is left. Their records have an empty input hash, so that they are made again
    (without rows). Sessions with a damaged summary are left out."""
    lake = components.lake
    products: list[Product] = []
    sources: list[SourceRow] = []
    for project in lake.projects(SESSION_SUMMARIES):
        with_records = set(lake.sessions(REDACTED_RECORDS, project))
        for session_id in sorted(set(lake.sessions(SESSION_SUMMARIES, project)) - with_records):
            try:
                agents = lake.read(SESSION_SUMMARIES, project, session_id, ["agent"])
            except DamagedFile:
                continue
            facts = ProductFacts(
                agent=agents["agent"][0].as_py(), copied_blocks=0, retained_blocks=0
            )
            products.append(Product(STAGE, project, session_id, "", "", facts=facts))
            sources += _source_rows(components.identity, products[-1], [])
    return products, sources


def _audit_product(lake: Lake, records: Product) -> tuple[Product, dict[bytes, str]]:
    """Return a session's audit product, and the rules of the known secrets in its footer by
    keyed hash. If the file is missing or belongs to other records, the product has an empty
    input hash, so that the session is redacted again."""
    project, session_id = records.project, records.session_id
    unusable = Product(REDACTION_AUDIT.name, project, session_id, "", "")
    try:
        written, footer = lake.read_footer(REDACTION_AUDIT, project, session_id)
    except NotFound:
        if records.facts.get("redactions") == 0:  # without redactions there is no file
            return replace(unusable, input_hash=records.input_hash), {}
        return unusable, {}
    except DamagedFile:
        return unusable, {}
    known_values = {
        bytes.fromhex(value): rule
        for value, rule in json.loads(footer.get("known_values", "{}")).items()
    }
    if footer.get("records_hash") != records.output_hash:
        return unusable, known_values
    facts = product_facts(footer["facts"])
    return product_of(REDACTION_AUDIT, project, session_id, written, footer, facts), known_values


def _source_rows(
    identity: RecordIdentity,
    product: Product,
    rows: list[dict[str, Any]],
    removed_records: tuple[int | None, Records] = (None, _NO_RECORDS),
) -> Iterator[SourceRow]:
    """Yield a ledger row for each source file of a session. The main file's row has the counts
    of the product, and the records that retention removed."""
    family, removed = removed_records
    by_file: dict[str, list[dict[str, Any]]] = {"": []}
    for row in rows:
        by_file.setdefault(row["agent_id"] or "", []).append(row)
    for agent_id, own in by_file.items():
        counted: ProductFacts = product.facts if not agent_id else {}
        ids = []
        for row in own:
            milliseconds = int(row["timestamp"].timestamp() * 1000) if row["timestamp"] else 0
            ids.append((identity.id_of(row["record_uuid"]), milliseconds, 0))
        records = np.array(ids, dtype=RECORD_DTYPE)
        if not agent_id:
            records = np.append(records, removed[~np.isin(removed["id"], records["id"])])
        first = identity.family_of(own[0]["record_uuid"]) if own else None
        yield SourceRow(
            agent=product.facts["agent"],
            project=product.project,
            session_id=product.session_id,
            agent_id=agent_id,
            path="",
            size=0,
            mtime_ns=0,
            fingerprint="",
            reader_version="",
            family=first if agent_id or family is None else family,
            facts={
                "records": counted.get("records", 0),
                "dropped": counted.get("dropped", {}),
                "bad_lines": counted.get("bad_lines", 0),
                "blocks": len(own) + counted.get("copied_blocks", 0) + counted.get(RETAINED, 0),
                "prompts": sum(row["kind"] == "prompt" for row in own)
                + counted.get("copied_prompts", 0),
            },
            records=records.tobytes(),
        )
