"""Both passes of redaction over records of one session, all of them or only added ones, and
the writing of the two files that result: redacted_records and redaction_audit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace

from memory_assets.models import AppliedRedaction, Record, RedactedRecord
from memory_assets.pipeline.ownership.removed_records import REMOVED_RECORDS, removed_records_of
from memory_assets.pipeline.ownership.session_files import Counts, SessionFiles, source_of
from memory_assets.pipeline.redact.state import FileEntry, SessionState
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.growth import Growth
from memory_assets.pipeline.stage.redact_composed import applied
from memory_assets.redaction import WITHHELD, RecordRedaction, SessionRedactor
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.catalog.sources import source_key
from memory_assets.stores.lake.batch import Batch
from memory_assets.stores.lake.parquet_files import FileFacts
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, Table
from memory_assets.transcripts import ReadReport, Resume, Source, mark, read_session

HELD_BYTES = 64 * 1024 * 1024
"""Up to this size of their source, records are kept in memory between the passes; larger
sources are read twice."""

_HANDED_OVER = 1 << 20
"""Characters of a session up to which its records are handed over to the next stages."""
_BESIDE_TEXT = 300
"""Characters of a record beside its text, about."""

Traces = tuple[AppliedRedaction, ...]
FirstPass = tuple[RecordRedaction, Traces]
"""A record after the first pass, and its audit entries of earlier redactions."""


@dataclass(frozen=True)
class WrittenSession:
    """A session after redaction: its two products, the rule that found each secret value, by
    the value's keyed hash, and the state from which the next run can continue."""

    records: Product
    audit: Product
    found: Mapping[bytes, str]
    state: SessionState


class SessionRedaction:
    """Redacts and writes one session.

    With `before`, only added records are redacted, and written after the rows on disk.
    `values` has the rules of secrets in records that the session no longer has, by keyed
    hash (hex).
    """

    def __init__(
        self,
        components: Components,
        session: SessionFiles,
        redactor: SessionRedactor,
        before: SessionState | None = None,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.components = components
        self.session = session
        self.redactor = redactor
        self.copied = frozenset(int(record_id) for record_id in session.copied)
        self._before = before
        self._state = deepcopy(before) if before else SessionState(values=dict(values or {}))
        self._audit: list[AppliedRedaction] = []
        self._tentative = Counts()
        self._tentative_rules: Counter[str] = Counter()
        self._waiting: list[FirstPass] = []

    def rewind(self) -> None:
        """Reset the counts, but keep the secrets found, before the files are read a second time."""
        self._state.files.clear()
        self._waiting.clear()
        self._state.final, self._tentative = Counts(), Counts()

    def read(self, row: SourceRow, resume: Resume) -> Iterator[FirstPass]:
        """Yield the final records of a file after the first pass; keep the tentative ones for the
        end of the session."""
        source = source_of(row)
        kept = self.components.read_records.take(row) if resume.start is None else None
        report = kept.report if kept is not None else ReadReport()
        project, root, redactor = self.session.project, self.session.project_root, self.redactor
        waiting = len(self._waiting)
        records = kept.records if kept is not None else _read(source, report, resume)
        for record, final in records:
            if self._is_copy(record):
                counts = self._state.final if final else self._tentative
                counts.copied_blocks += 1
                counts.copied_prompts += record.kind == "prompt"
                continue
            shown = redactor.values_shown
            redacted = redactor.redact_record(record, project=project, project_root=root)
            if not final:
                self._waiting.append((redacted, ()))
                continue
            if redactor.values_shown > shown:
                places = self._state.secret_sources.setdefault(row.agent_id, [])
                places.append((record.byte_start, record.byte_end))
            yield redacted, ()
        self._state.files[row.agent_id] = FileEntry(
            row.fingerprint,
            row.reader_version,
            self.components.catalog.sources.reading_state(source_key(row)),
            len(self._waiting) - waiting,
            Counts.of_report(report),
        )

    def note_gone(self, row: SourceRow, counts: Counts) -> None:
        """Add the counts of a deleted file, whose records are read from the lake."""
        self._state.files[row.agent_id] = FileEntry(
            row.fingerprint, row.reader_version, state="", tentative=0, counts=counts
        )

    def _finished_records(self, final: Iterable[FirstPass]) -> Iterator[RedactedRecord]:
        """Yield the records after the second pass, the tentative ones last."""
        state = self._state
        for first in final:
            record, traces = self._finished(*first, state.final)
            state.rules.update(trace.rule for trace in traces)
            state.kept += 1
            state.audit_kept += len(traces)
            yield record
        for first in self._waiting:
            record, traces = self._finished(*first, self._tentative)
            self._tentative_rules.update(trace.rule for trace in traces)
            yield record

    def _facts(self) -> ProductFacts:
        of_files = (entry.counts for entry in self._state.files.values())
        facts: ProductFacts = {
            **Counts.total([self._state.final, self._tentative, *of_files]).facts(),
            "agent": self.session.rows[0].agent,
            "copied_from": self.session.copied_from,
        }
        copied = self.session.retained
        if copied is not None:
            facts["retained_blocks"] = facts["copied_blocks"] - copied.copied_blocks
            facts["copied_blocks"] = copied.copied_blocks
            facts["copied_prompts"] = copied.copied_prompts
        return facts

    def write(
        self, batch: Batch, final: Iterable[FirstPass], expected_hash: str, lineage: str = ""
    ) -> WrittenSession:
        """Run the second pass, write records and audit to the batch, and return the session.

        Rows are written after those that are kept from `before`, whose `lineage` they
        continue; without one the whole session is written and a lineage begins.

        The audit's footer has the hash of the records, and the catalogue gets both products
        in one transaction, so that a session interrupted in between is redacted again.

        Raises:
            RedactionFailed, TranscriptError, StoreError, DamagedFile: nothing of the session's
                records was written.
        """
        before = self._before
        key = self.session.key
        about = {"input_hash": expected_hash, "run_id": self.components.run_id}
        footer = dict(about)
        if self.session.retained is not None:
            footer[REMOVED_RECORDS] = removed_records_of(self.components, self.session)
        written = self._write_records(batch, final, footer)
        found = self.redactor.known_values
        state = self._state
        state.values.update((value.hex(), rule) for value, rule in found.items())
        audit_facts: ProductFacts = {"rules": state.rules + self._tentative_rules}
        audit_footer = {
            **about,
            "records_hash": written.output_hash,
            "facts": json.dumps(audit_facts),
            "known_values": json.dumps(dict(sorted(state.values.items()))),
        }
        traced = batch.write(
            REDACTION_AUDIT,
            self.session.session_id,
            self._audit,
            footer=lambda: audit_footer,
            keep=before.audit_kept if before else 0,
        )
        facts: ProductFacts = {**self._facts(), "lineage": lineage or written.output_hash}
        if before is not None:
            facts["appended"] = Growth(before.records_hash, before.kept).fact()
            audit_facts["appended"] = Growth(before.audit_hash, before.audit_kept).fact()
        state.wanted = expected_hash
        state.ruleset_version = self.components.ruleset_version
        state.records_hash, state.audit_hash = written.output_hash, traced.output_hash
        state.root, state.copied = mark(self.session.project_root), self.session.copied_hash
        state.values_shown = self.redactor.values_shown
        return WrittenSession(
            product_of(REDACTED_RECORDS, *key, written, about, facts),
            product_of(REDACTION_AUDIT, *key, traced, about, audit_facts),
            found,
            state,
        )

    def _write_records(
        self, batch: Batch, final: Iterable[FirstPass], footer: Mapping[str, str]
    ) -> FileFacts:
        """Run the second pass and write the records; if they are all of the session, and not too
        many, hand them over to the next stages."""
        project, session_id = self.session.key
        shown = _Shown(self._finished_records(final))
        written = batch.write(
            REDACTED_RECORDS,
            session_id,
            shown,
            footer=lambda: {**footer, "facts": json.dumps(self._facts())},
            keep=self._before.kept if self._before else 0,
        )
        if self._before is None and shown.records is not None:
            self.components.sessions.note(project, written.output_hash, shown.records)
        return written

    def _is_copy(self, record: Record) -> bool:
        identity = self.components.identity
        return bool(self.copied) and identity.id_of(record.record_uuid) in self.copied

    def _finished(
        self, first: RecordRedaction, traces: Traces, counts: Counts
    ) -> tuple[RedactedRecord, Traces]:
        """Return a record after the second pass with all that was ever taken out of it, and
        add both to the counts."""
        redaction = self.redactor.propagate(first)
        record = redaction.record
        traces += tuple(
            applied(record, found.field, found.rule, found.tag, (found.start, found.end))
            for found in redaction.findings
        )
        if record.redactions != len(traces):
            record = replace(record, redactions=len(traces))
        counts.redactions += len(traces)
        counts.personal += len(redaction.personal)
        counts.prompts += record.kind == "prompt"
        counts.withheld += any(trace.rule in WITHHELD for trace in traces)
        self._audit.extend(traces)
        return record, traces


class _Shown:
    """Rows on their way to the lake, of which `records` has all if there are not too many."""

    def __init__(self, rows: Iterable[RedactedRecord]) -> None:
        self._rows = rows
        self.records: list[RedactedRecord] | None = []

    def __iter__(self) -> Iterator[RedactedRecord]:
        left = _HANDED_OVER
        for record in self._rows:
            left -= len(record.text) + _BESIDE_TEXT
            if self.records is not None:
                self.records.append(record)
            if left < 0:
                self.records = None
            yield record


def _read(source: Source, report: ReadReport, resume: Resume) -> Iterator[tuple[Record, bool]]:
    """Yield the records of a file, each with whether it is final."""
    for record in read_session(source.path, source=source, report=report, resume=resume):
        yield record, report.checkpoint is None


def product_of(
    table: Table,
    project: str,
    session_id: str,
    written: FileFacts,
    footer: Mapping[str, str],
    facts: ProductFacts,
) -> Product:
    """Return the product that a session's file in a table and its footer describe."""
    return Product(
        table.name,
        project,
        session_id,
        input_hash=footer["input_hash"],
        output_hash=written.output_hash,
        rows=written.rows,
        bytes=written.bytes if written.rows else 0,
        facts=facts,
        run_id=footer.get("run_id", ""),
    )
