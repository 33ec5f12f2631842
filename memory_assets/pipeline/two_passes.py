"""One session through both passes of redaction, and onto disk.

The first pass redacts each record and learns what the session holds; the second takes
what was learnt out of all of them, so that a key which only the last record gives away
is gone from the first one too. Nothing is written before the second.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from memory_assets.errors import NotFound
from memory_assets.models import AppliedRedaction, RedactedRecord
from memory_assets.pipeline.attribution import hash_record_id
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.session_files import Counts, SessionFiles, source_of
from memory_assets.pipeline.settle import as_read, traces_of_tags
from memory_assets.redaction import ENGINE_VERSION, RecordRedaction, SessionRedactor
from memory_assets.stores.catalog import Product, SourceRow
from memory_assets.stores.lake import FileFacts
from memory_assets.stores.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import ReadReport, read_session

HELD_BYTES = 64 * 1024 * 1024
"""Sessions up to this size keep the rows of the first pass in memory; the source of larger
ones is read again."""

Traces = tuple[AppliedRedaction, ...]


@dataclass(frozen=True)
class WrittenSession:
    """What came of a session: both products, and the rule of each value that it showed, by
    keyed hash."""

    records: Product
    audit: Product
    found: Mapping[bytes, str]


def write_session(
    components: Components,
    project: str,
    session: SessionFiles,
    wanted: str,
    known: frozenset[bytes] = frozenset(),
) -> WrittenSession:
    """Redact a session and replace its two files: its records, then what was taken out.

    The second file names the content of the first, and the catalogue gets both products
    at once, so that a crash in between leaves the session to be done again.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: nothing of the session's
            records was written.
    """
    redaction = _SessionRedaction(components, project, session, known)
    audit: list[AppliedRedaction] = []
    footer = {"input_hash": wanted, "run_id": components.catalog.run_id}

    def rows() -> Iterator[RedactedRecord]:
        for record, traces in redaction.rows():
            audit.extend(traces)
            yield record
        footer["facts"] = json.dumps(redaction.facts())

    lake, name = components.lake, session.session_id
    written = lake.write(REDACTED_RECORDS, project, name, rows(), footer=footer)
    records = product_of(project, name, written, footer)
    found = redaction.found()
    audit_footer = {
        "input_hash": wanted,
        "run_id": components.catalog.run_id,
        "records_hash": written.output_hash,
        "facts": json.dumps({"rules": Counter(entry.rule for entry in audit)}),
        "known_values": json.dumps({value.hex(): rule for value, rule in sorted(found.items())}),
    }
    traced = lake.write(REDACTION_AUDIT, project, name, audit, footer=audit_footer)
    return WrittenSession(records, product_of(project, name, traced, audit_footer, "audit"), found)


def product_of(
    project: str,
    session_id: str,
    written: FileFacts,
    footer: Mapping[str, str],
    table: str = "records",
) -> Product:
    """Return the product that a session's file of records (or "audit") and its footer
    describe."""
    of = REDACTED_RECORDS if table == "records" else REDACTION_AUDIT
    return Product(
        of.name,
        project,
        session_id,
        input_hash=footer["input_hash"],
        output_hash=written.output_hash,
        rows=written.rows,
        bytes=written.bytes if written.rows else 0,
        facts=json.loads(footer["facts"]),
        run_id=footer.get("run_id", ""),
    )


class _SessionRedaction:
    """The records of one session's files, through both passes."""

    def __init__(
        self, components: Components, project: str, session: SessionFiles, known: frozenset[bytes]
    ) -> None:
        self._components = components
        self._project = project
        self._session = session
        self._copied = frozenset(int(record_id) for record_id in session.copied)
        self._redactor: SessionRedactor = components.redactor.session(session.session_id, known)
        self._counts = Counts()

    def rows(self) -> Iterator[tuple[RedactedRecord, Traces]]:
        """Yield each record as it is to be written, with what was taken out of it."""
        if self._session.bytes_on_disk <= HELD_BYTES:
            first_pass = iter(list(self._first_pass()))
        else:
            for _ in self._first_pass():
                pass
            self._counts = Counts()
            first_pass = self._first_pass()
        for made, traces in first_pass:
            yield self._finished(made, traces)

    def facts(self) -> dict[str, object]:
        """Return the counts to keep beside the records."""
        about = {"agent": self._session.rows[0].agent, "copied_from": self._session.copied_from}
        return {**about, **vars(self._counts)}

    def found(self) -> dict[bytes, str]:
        """Return the rule of each value found that nobody can guess, by keyed hash."""
        return self._redactor.known_values

    def _finished(self, made: RecordRedaction, traces: Traces) -> tuple[RedactedRecord, Traces]:
        final = self._redactor.propagate(made)
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
        self._counts.redactions += len(traces)
        self._counts.personal += len(final.personal)
        self._counts.prompts += record.kind == "prompt"
        return record, traces

    def _first_pass(self) -> Iterator[tuple[RecordRedaction, Traces]]:
        for row in self._session.rows:
            if row.gone_at is not None:
                yield from self._on_record(row)
            else:
                for made in self._from_source(row):
                    yield made, ()

    def _from_source(self, row: SourceRow) -> Iterator[RecordRedaction]:
        source, report, counts = source_of(row), ReadReport(), self._counts
        root = self._session.project_root
        for record in read_session(source.path, source=source, report=report):
            if self._copied and hash_record_id(record.record_uuid) in self._copied:
                counts.copied_blocks += 1
                counts.copied_prompts += record.kind == "prompt"
                continue
            yield self._redactor.redact_record(record, project=self._project, project_root=root)
        counts.add(report)

    def _on_record(self, row: SourceRow) -> Iterator[tuple[RecordRedaction, Traces]]:
        """Yield what the lake has of a file that is gone, under the rules of today."""
        lake, name = self._components.lake, self._session.session_id
        try:
            old: list[RedactedRecord] = lake.read_rows(REDACTED_RECORDS, self._project, name)
        except NotFound:
            if self._session.gone and row.facts["blocks"]:
                raise
            return
        others = {file.agent_id for file in self._session.rows} - {row.agent_id}
        kept = [
            record
            for record in old
            if (record.agent_id or "") not in others
            and not (self._copied and hash_record_id(record.record_uuid) in self._copied)
        ]
        prompts = sum(record.kind == "prompt" for record in kept)
        copies = bool(self._copied)
        self._counts.add_from_ledger(row, len(kept), prompts, copies=copies)
        traces = self._traces_on_record()
        for record in kept:
            made = self._redactor.redact_record(
                as_read(record), project=self._project, project_root=record.project_root
            )
            if record.redactions:
                traced = traces.get((record.agent_id, record.seq))
                yield made, tuple(traced) if traced else tuple(traces_of_tags(record))
            else:
                yield made, ()

    def _traces_on_record(self) -> dict[tuple[str | None, int], list[AppliedRedaction]]:
        """Return what the audit says was taken out of each record before."""
        traces: dict[tuple[str | None, int], list[AppliedRedaction]] = {}
        try:
            entries: list[AppliedRedaction] = self._components.lake.read_rows(
                REDACTION_AUDIT, self._project, self._session.session_id
            )
        except NotFound:
            return traces
        for entry in entries:
            traces.setdefault((entry.agent_id, entry.seq), []).append(entry)
        return traces
