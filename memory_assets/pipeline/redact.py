"""redacted_records: every record of a project, redacted, each counted once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from pathlib import Path

import numpy as np

from memory_assets.errors import NotFound
from memory_assets.models import RedactedRecord
from memory_assets.pipeline.attribution import (
    RECORD_DTYPE,
    RecordIds,
    SessionKey,
    SessionRecords,
    copied_records,
    hash_record_id,
    owners,
)
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.quarantine import hold_back
from memory_assets.pipeline.report import StageReport, input_hash, timed
from memory_assets.pipeline.settle import settled_record
from memory_assets.stores.catalog import Product, SourceRow
from memory_assets.stores.lake import FileFacts
from memory_assets.stores.schemas import REDACTED_RECORDS
from memory_assets.transcripts import ReadReport, Source, read_session

STAGE = REDACTED_RECORDS.name
_NOTHING_COPIED: RecordIds = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True)
class SessionFiles:
    """The files of one session, main file first, and the records that it only copied, with
    the sessions that own them."""

    session_id: str
    rows: tuple[SourceRow, ...]
    copied: RecordIds
    copied_from: tuple[SessionKey, ...] = ()

    @property
    def gone(self) -> bool:
        """Whether none of the files is on disk any more."""
        return all(row.gone_at is not None for row in self.rows)

    def input_hash(self, ruleset_version: str) -> str:
        """Return a hash of all that the redacted records depend on."""
        copied = blake2b(self.copied.tobytes(), digest_size=16).hexdigest()
        parts = [f"{row.agent_id}:{row.fingerprint}:{row.reader_version}" for row in self.rows]
        return input_hash(ruleset_version, copied, *parts)


@dataclass
class _Counts:
    """Row conservation of one session: records = kept + dropped + bad lines."""

    records: int = 0
    kept: int = 0
    bad_lines: int = 0
    blocks: int = 0
    copied_blocks: int = 0
    copied_prompts: int = 0
    prompts: int = 0
    redactions: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, report: ReadReport) -> None:
        self.records += report.records
        self.kept += report.kept
        self.bad_lines += report.bad_line_count
        self.blocks += report.blocks
        self.dropped.update(report.dropped)


def session_files(components: Components, project: str) -> list[SessionFiles]:
    """Return the sessions of a project, as the ledger knows them, sorted by id."""
    holders = _holders(components, project)
    copied = copied_records(holders)
    owned_by = owners(holders, copied)
    rows = sorted(
        components.catalog.sources(project), key=lambda row: (row.session_id, row.agent_id)
    )
    return [
        SessionFiles(
            session_id,
            tuple(files),
            copied.get((project, session_id), _NOTHING_COPIED),
            tuple(owned_by.get((project, session_id), ())),
        )
        for session_id, files in groupby(rows, key=lambda row: row.session_id)
    ]


def redact_project(components: Components, project: str) -> StageReport:
    """Redact the sessions of a project whose files or rules changed.

    A session whose redaction or reading fails is quarantined: nothing of its new content
    is written, what was written before stays, and the others go on. A session whose
    files are gone keeps what it has, redacted again when the rules change.
    """
    report = StageReport(STAGE, project)
    catalog, version = components.catalog, components.redactor.ruleset_version
    with components.project_lock(project), timed(report):
        products = {key[1]: value for key, value in catalog.products(STAGE, project).items()}
        held = {
            entry.session_id: entry
            for entry in catalog.quarantined(project)
            if entry.stage == STAGE
        }
        for session in session_files(components, project):
            wanted = session.input_hash(version)
            product, blocked = products.get(session.session_id), held.get(session.session_id)
            if product is not None and product.input_hash == wanted:
                if blocked is not None:
                    catalog.release(project, session.session_id, STAGE)
                continue
            if session.gone and product is None:
                continue
            if blocked is not None and blocked.input_hash == wanted:
                continue
            try:
                made = _redact_session(components, project, session, wanted)
            except Exception as error:  # noqa: BLE001 - fail closed, whatever went wrong
                hold_back(catalog, project, session.session_id, STAGE, wanted, error)
                continue
            catalog.put_product(made)
            products[session.session_id] = made
            report.changed += 1
            report.rows_written += made.rows
        report.add_products(list(products.values()))
        report.quarantined = len(catalog.quarantined(project))
        _add_details(report, products)
    return report


def _holders(components: Components, project: str) -> list[SessionRecords]:
    """Return the sessions of a project, and those elsewhere that may share its records."""
    catalog = components.catalog
    rows = catalog.families_of(project)
    made: dict[SessionKey, Product] = {}
    for name in {row.project for row in rows}:
        made.update(catalog.products(STAGE, name))
    return [
        SessionRecords(
            row.project,
            row.session_id,
            np.frombuffer(row.record_ids, dtype=RECORD_DTYPE),
            named=row.facts.get("named_session"),
            on_record=(row.project, row.session_id) in made,
            gave_way_to=_gave_way_to(made.get((row.project, row.session_id))),
        )
        for row in rows
        if row.gone_at is None or (row.project, row.session_id) in made
    ]


def _gave_way_to(product: Product | None) -> frozenset[SessionKey]:
    owned_by = product.facts.get("copied_from", []) if product is not None else []
    return frozenset((project, session_id) for project, session_id in owned_by)


def _redact_session(
    components: Components, project: str, session: SessionFiles, wanted: str
) -> Product:
    counts, footer = _Counts(), {"input_hash": wanted}

    def rows() -> Iterator[RedactedRecord]:
        yield from _redacted_rows(components, project, session, counts)
        about = {"agent": session.rows[0].agent, "copied_from": session.copied_from}
        footer["facts"] = json.dumps({**about, **vars(counts)})

    written = components.lake.write(
        REDACTED_RECORDS, project, session.session_id, rows(), footer=footer
    )
    return product_of(project, session.session_id, written, footer)


def product_of(
    project: str, session_id: str, written: FileFacts, footer: Mapping[str, str]
) -> Product:
    """Return the product that a session's file and its footer describe."""
    return Product(
        STAGE,
        project,
        session_id,
        input_hash=footer["input_hash"],
        output_hash=written.output_hash,
        rows=written.rows,
        bytes=written.bytes if written.rows else 0,
        facts=json.loads(footer["facts"]),
    )


def _redacted_rows(
    components: Components, project: str, session: SessionFiles, counts: _Counts
) -> Iterator[RedactedRecord]:
    redactor = components.redactor
    copied = frozenset(int(record_id) for record_id in session.copied)
    roots = (str(row.facts.get("project_root") or "") for row in session.rows)
    root = next((root for root in roots if root), "")
    for row in session.rows:
        if row.gone_at is not None:
            yield from _rows_on_record(components, project, session, row, counts)
            continue
        source = _source(row)
        report = ReadReport()
        for record in read_session(source.path, source=source, report=report):
            if copied and hash_record_id(record.record_uuid) in copied:
                counts.copied_blocks += 1
                counts.copied_prompts += record.kind == "prompt"
                continue
            redacted = redactor.redact_record(record, project=project, project_root=root)
            counts.redactions += redacted.redactions
            counts.prompts += redacted.kind == "prompt"
            yield redacted
        counts.add(report)


def _rows_on_record(
    components: Components, project: str, session: SessionFiles, row: SourceRow, counts: _Counts
) -> Iterator[RedactedRecord]:
    """Yield what the lake has of a file that is gone, while others of its session go on."""
    try:
        old: list[RedactedRecord] = components.lake.read_rows(
            REDACTED_RECORDS, project, session.session_id
        )
    except NotFound:
        if session.gone and row.facts["blocks"]:
            raise
        return
    others = {file.agent_id for file in session.rows} - {row.agent_id}
    copied = frozenset(int(record_id) for record_id in session.copied)
    kept = [
        settled_record(components.redactor, record)
        for record in old
        if (record.agent_id or "") not in others
        and not (copied and hash_record_id(record.record_uuid) in copied)
    ]
    prompts = sum(record.kind == "prompt" for record in kept)
    dropped = Counter[str](row.facts["dropped"])
    counts.dropped.update(dropped)
    counts.records += row.facts["records"]
    counts.kept += row.facts["records"] - dropped.total()
    counts.bad_lines += row.facts["bad_lines"]
    counts.blocks += row.facts["blocks"]
    counts.copied_blocks += row.facts["blocks"] - len(kept)
    counts.copied_prompts += row.facts["prompts"] - prompts if len(session.copied) else 0
    counts.prompts += prompts
    counts.redactions += sum(record.redactions for record in kept)
    yield from kept


def _source(row: SourceRow) -> Source:
    return Source(
        row.agent,
        row.project,
        row.session_id,
        row.agent_id or None,
        Path(row.path),
        row.size,
        row.mtime_ns,
    )


def _add_details(report: StageReport, products: Mapping[str, Product]) -> None:
    for name in ("records", "kept", "bad_lines", "copied_blocks", "prompts", "redactions"):
        report.details[name] = sum(int(made.facts.get(name, 0)) for made in products.values())
    dropped: Counter[str] = Counter()
    for made in products.values():
        dropped.update(made.facts.get("dropped", {}))
    for reason, count in sorted(dropped.items()):
        report.details[f"dropped_{reason}"] = count
