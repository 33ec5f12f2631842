"""What goes through both passes of redaction: the records of a session's files, all of them
or those that were added, with what is counted and learnt on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from memory_assets.models import AppliedRedaction, Record, RedactedRecord
from memory_assets.pipeline.ownership.removed_records import REMOVED_RECORDS, removed_records_of
from memory_assets.pipeline.ownership.session_files import Counts, SessionFiles, source_of
from memory_assets.pipeline.redact.state import FileEntry, SessionState
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.growth import Growth
from memory_assets.redaction import ENGINE_VERSION, RecordRedaction, SessionRedactor
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.catalog.sources import source_key
from memory_assets.stores.lake.lake import FileFacts
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, Table
from memory_assets.transcripts import ReadReport, Resume, mark, read_session

HELD_BYTES = 64 * 1024 * 1024
"""Sessions, or what was added to them, are kept in memory after the first pass up to this
size; the source of larger ones is read again."""

Traces = tuple[AppliedRedaction, ...]
FirstPass = tuple[RecordRedaction, Traces]
"""A record after the first pass, and what was taken out of it at an earlier time."""


@dataclass(frozen=True)
class WrittenSession:
    """What came of a session: both products, the rule of each value that it showed, by
    keyed hash, and how far it was redacted."""

    records: Product
    audit: Product
    found: Mapping[bytes, str]
    state: SessionState


class SessionRedaction:
    """One session's way through both passes, from what was done `before` if it is given.
    `values` are the rules of values that it showed in records it has no more."""

    def __init__(
        self,
        components: Components,
        project: str,
        session: SessionFiles,
        redactor: SessionRedactor,
        before: SessionState | None = None,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.components = components
        self.project = project
        self.session = session
        self.redactor = redactor
        self.copied = frozenset(int(record_id) for record_id in session.copied)
        self._before = before
        self._files: dict[str, FileEntry] = dict(before.files) if before else {}
        self._audit: list[AppliedRedaction] = []
        self._values = dict(before.values) if before else dict(values or {})
        self._teachers = {name: [*at] for name, at in before.teachers.items()} if before else {}
        self._firm = Counts.total([before.firm]) if before else Counts()
        self._rules = Counter(before.rules) if before else Counter[str]()
        self._kept = before.kept if before else 0
        self._audit_kept = before.audit_kept if before else 0
        self._provisional = Counts()
        self._provisional_rules: Counter[str] = Counter()
        self._waiting: list[FirstPass] = []

    def rewind(self) -> None:
        """Forget what was counted, but not what was learnt: the files are read again."""
        self._files.clear()
        self._waiting.clear()
        self._firm, self._provisional = Counts(), Counts()

    def read(self, row: SourceRow, resume: Resume) -> Iterator[FirstPass]:
        """Yield the firm records of a file after the first pass; provisional ones wait."""
        source, report = source_of(row), ReadReport()
        root, redactor = self.session.project_root, self.redactor
        waiting = len(self._waiting)
        for record in read_session(source.path, source=source, report=report, resume=resume):
            firm = report.checkpoint is None
            if self._is_copy(record):
                counts = self._firm if firm else self._provisional
                counts.copied_blocks += 1
                counts.copied_prompts += record.kind == "prompt"
                continue
            shown = redactor.values_shown
            made = redactor.redact_record(record, project=self.project, project_root=root)
            if not firm:
                self._waiting.append((made, ()))
                continue
            if redactor.values_shown > shown:
                places = self._teachers.setdefault(row.agent_id, [])
                places.append((record.byte_start, record.byte_end))
            yield made, ()
        self._files[row.agent_id] = FileEntry(
            row.fingerprint,
            row.reader_version,
            self.components.catalog.sources.reading_state(source_key(row)),
            len(self._waiting) - waiting,
            Counts.of_report(report),
        )

    def note_gone(self, row: SourceRow, counts: Counts) -> None:
        """Note what was counted in a file that is gone, whose records the lake has."""
        self._files[row.agent_id] = FileEntry(
            row.fingerprint, row.reader_version, state="", provisional=0, counts=counts
        )

    def _finished_records(self, firm: Iterable[FirstPass]) -> Iterator[RedactedRecord]:
        """Yield the records after the second pass, the provisional ones last."""
        for first in firm:
            record, traces = self._finished(*first, self._firm)
            self._rules.update(trace.rule for trace in traces)
            self._kept += 1
            self._audit_kept += len(traces)
            yield record
        for first in self._waiting:
            record, traces = self._finished(*first, self._provisional)
            self._provisional_rules.update(trace.rule for trace in traces)
            yield record

    def _facts(self) -> ProductFacts:
        parts = [self._firm, self._provisional, *(entry.counts for entry in self._files.values())]
        facts: ProductFacts = {
            **Counts.total(parts).facts(),
            "agent": self.session.rows[0].agent,
            "copied_from": self.session.copied_from,
        }
        copied = self.session.retained
        if copied is not None:
            facts["retained_blocks"] = facts["copied_blocks"] - copied.copied_blocks
            facts["copied_blocks"] = copied.copied_blocks
            facts["copied_prompts"] = copied.copied_prompts
        return facts

    def write(self, firm: Iterable[FirstPass], wanted: str, lineage: str = "") -> WrittenSession:
        """Put the records through the second pass, write them behind the rows kept from
        before, then the audit beside them; return what came of the session. `lineage` is that
        of the rows before; without any the session is written whole and begins its own.

        The audit names the content of the records, and the catalogue gets both products at
        once, so that a crash in between leaves the session to be done again.

        Raises:
            RedactionFailed, TranscriptError, StoreError, DamagedFile: nothing of the session's
                records was written.
        """
        lake, before = self.components.lake, self._before
        key = (self.project, self.session.session_id)
        about = {"input_hash": wanted, "run_id": self.components.catalog.products.run_id}
        footer = dict(about)
        if self.session.retained is not None:
            footer[REMOVED_RECORDS] = removed_records_of(self.components, self.session)
        written = lake.write(
            REDACTED_RECORDS,
            *key,
            self._finished_records(firm),
            footer=lambda: {**footer, "facts": json.dumps(self._facts())},
            keep=before.kept if before else 0,
        )
        found = self.redactor.known_values
        self._values.update((value.hex(), rule) for value, rule in found.items())
        audit_facts: ProductFacts = {"rules": self._rules + self._provisional_rules}
        audit_footer = {
            **about,
            "records_hash": written.output_hash,
            "facts": json.dumps(audit_facts),
            "known_values": json.dumps(dict(sorted(self._values.items()))),
        }
        traced = lake.write(
            REDACTION_AUDIT,
            *key,
            self._audit,
            footer=lambda: audit_footer,
            keep=before.audit_kept if before else 0,
        )
        facts: ProductFacts = {**self._facts(), "lineage": lineage or written.output_hash}
        if before is not None:
            facts["appended"] = Growth(before.records_hash, before.kept).fact()
            audit_facts["appended"] = Growth(before.audit_hash, before.audit_kept).fact()
        return WrittenSession(
            product_of(REDACTED_RECORDS, *key, written, about, facts),
            product_of(REDACTION_AUDIT, *key, traced, about, audit_facts),
            found,
            self._state(wanted, written, traced),
        )

    def _state(self, wanted: str, written: FileFacts, traced: FileFacts) -> SessionState:
        return SessionState(
            wanted=wanted,
            ruleset_version=self.components.ruleset_version,
            records_hash=written.output_hash,
            audit_hash=traced.output_hash,
            kept=self._kept,
            audit_kept=self._audit_kept,
            root=mark(self.session.project_root),
            copied=self.session.copied_hash,
            values_shown=self.redactor.values_shown,
            firm=self._firm,
            rules=self._rules,
            values=self._values,
            files=self._files,
            teachers=self._teachers,
        )

    def _is_copy(self, record: Record) -> bool:
        identity = self.components.identity
        return bool(self.copied) and identity.id_of(record.record_uuid) in self.copied

    def _finished(
        self, made: RecordRedaction, traces: Traces, counts: Counts
    ) -> tuple[RedactedRecord, Traces]:
        final = self.redactor.propagate(made)
        record = final.record
        traces += tuple(
            AppliedRedaction(
                project=record.project,
                agent=record.agent,
                session_id=record.session_id,
                agent_id=record.agent_id,
                seq=record.seq,
                record_uuid=record.record_uuid,
                field=found.field,
                rule=found.rule,
                start=found.start,
                end=found.end,
                length=found.end - found.start,
                tag=found.tag,
                ruleset_version=record.ruleset_version,
                engine_version=ENGINE_VERSION,
            )
            for found in final.findings
        )
        if record.redactions != len(traces):
            record = replace(record, redactions=len(traces))
        counts.redactions += len(traces)
        counts.personal += len(final.personal)
        counts.prompts += record.kind == "prompt"
        self._audit.extend(traces)
        return record, traces


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
