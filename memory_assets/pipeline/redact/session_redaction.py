"""Redacting a session, in two passes, into the rows of two tables: redacted_records and
redaction_audit.

The first pass redacts each record and collects the secrets of the session; the second
removes these from all records, so that a key which only the last record reveals is removed
from the first one too. Nothing is written before the second pass.

A redacted record depends on the record, the rules and the session's secrets. So unchanged records
are not redacted again: their rows are taken from the lake, if the session's other records reveal
the same secrets as before, or new ones that occur in none of these rows.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from memory_assets.errors import NotFound
from memory_assets.models import AppliedRedaction, Record, RedactedRecord
from memory_assets.pipeline.ownership.removed_records import REMOVED_RECORDS, removed_records_of
from memory_assets.pipeline.ownership.repeated_prompts import asked_by
from memory_assets.pipeline.ownership.session_files import Counts, SessionFiles
from memory_assets.pipeline.redact.stored_rows import (
    REDACTED_FIELDS,
    ROW_DTYPE,
    RecordHashes,
    SessionState,
    StoredRows,
    UnchangedRow,
    as_unredacted,
    hash_of_values,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import WITHHELD, RecordRedaction, SessionRedactor
from memory_assets.redaction.edits import FILE_CONTENTS
from memory_assets.redaction.propagation import SessionValues
from memory_assets.status.ledger_sources import source_of
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.rows import ArrowRows, FileFacts, Stored, arrow_rows
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT, Table
from memory_assets.transcripts import ReadReport, read_session

HELD_BYTES = 64 * 1024 * 1024
"""Sources up to this size are kept in memory between the passes; larger ones are read twice."""

_ANY_TAG = re.compile(
    r"<redacted:(?P<rule>[a-z0-9-]{1,60})(?::[0-9a-f]{12})?>|<redacted-file-contents-of-\d+-bytes>"
)
"""Present tags, and those without a digest that the first version wrote."""

Traces = tuple[AppliedRedaction, ...]
SessionRows = Mapping[Table, ArrowRows]
"""The rows of a session in both tables, in Arrow."""


@dataclass(frozen=True, slots=True)
class FirstPass:
    """A record after the first pass: redacted, or a stored row that is reused; its hash (0: it was
    not read from a file), and the audit entries of its earlier redactions."""

    redacted: RecordRedaction | UnchangedRow
    record: int = 0
    traces: Traces = ()


class SessionRedaction:
    """Redacts one session, and takes the rows of unchanged records from `stored`.
    `values` has the rules of secrets in records that the session no longer has, by keyed hash
    (hex)."""

    def __init__(
        self,
        components: Components,
        session: SessionFiles,
        redactor: SessionRedactor,
        stored: StoredRows | None = None,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.components = components
        self.session = session
        self.redactor = redactor
        self.copied = frozenset(int(record_id) for record_id in session.copied)
        self._stored = stored
        self._values = dict(values or {})
        self._hashes = RecordHashes(
            components.install_key,
            session.project,
            session.project_root,
            components.ruleset_version,
        )
        self._shown_before: dict[str, str] = {}
        self._shown_anew: dict[str, str] = {}
        self._audit: list[AppliedRedaction] = []
        self._counts = Counts()
        self._rules: Counter[str] = Counter()
        self._rows: list[tuple[int, int]] = []
        self._revealing: set[int] = set()
        self._unchanged = 0

    def rewind(self) -> None:
        """Reset the counts, but keep the secrets found, before the files are read a second time."""
        self._counts = Counts()

    def read(self, row: SourceRow) -> Iterator[FirstPass]:
        """Yield the records of a file after the first pass."""
        source = source_of(row)
        read = self.components.read_records.pop(row)
        report = read.report if read is not None else ReadReport()
        records: Iterable[Record] = (
            read.records
            if read is not None
            else read_session(source.path, source=source, report=report, end=source.size)
        )
        for record in records:
            if self._is_copy(record):
                self._counts.copied_blocks += 1
                self._counts.copied_prompts += record.kind == "prompt"
                continue
            yield self._redacted(asked_by(record, self.session.repeats))
        self.note_read(Counts.of_report(report))

    def _redacted(self, record: Record) -> FirstPass:
        number, stored = self._hashes.of(record), self._stored
        kept = stored.unchanged(number, record) if stored is not None else None
        if kept is None:
            return FirstPass(self._first(record, number, self._shown_anew), number)
        if stored is not None and stored.reveals(number):
            self._revealing.add(number)
            self._first(record, number, self._shown_before)
        return FirstPass(kept, number)

    def _first(
        self, record: Record, number: int, shown: dict[str, str], root: str | None = None
    ) -> RecordRedaction:
        """Redact a record, and add the secrets that it shows first to `shown`."""
        redactor, session = self.redactor, self.session
        count = redactor.values_shown
        redacted = redactor.redact_record(
            record,
            project=session.project,
            project_root=session.project_root if root is None else root,
        )
        if redactor.values_shown > count:
            shown |= redactor.shown_since(count).items()
            self._revealing.add(number)
        return redacted

    def redact_again(self, row: RedactedRecord, traces: Traces) -> FirstPass:
        """Return a record of the lake, of a file that is gone, after the first pass."""
        record = asked_by(as_unredacted(row), self.session.repeats)
        again = self._first(record, 0, self._shown_before, row.project_root)
        return FirstPass(again, traces=traces)

    def note_read(self, counts: Counts) -> None:
        """Add the counts of a file."""
        self._counts = Counts.total([self._counts, counts])

    @property
    def may_keep_rows(self) -> bool:
        """Whether the stored rows may be reused, once all records are through the first pass: the
        former secrets were found again, and no new one occurs in these rows."""
        stored = self._stored
        if stored is None:
            return True
        key = self.components.install_key
        if hash_of_values(key, self._shown_before.items()) != stored.state.shown:
            return False
        return not (self._shown_anew and stored.contain(SessionValues(self._shown_anew)))

    def _finished_records(
        self, first_pass: Iterable[FirstPass]
    ) -> Iterator[RedactedRecord | Stored]:
        """Yield the records after the second pass; reused rows in Arrow."""
        for is_unchanged, run in groupby(
            first_pass, lambda record: isinstance(record.redacted, UnchangedRow)
        ):
            if not is_unchanged:
                for first in run:
                    yield self._finished(first)
                continue
            rows: list[UnchangedRow] = []
            for first in run:
                assert isinstance(first.redacted, UnchangedRow)
                rows.append(first.redacted)
                self._count_unchanged(first, first.redacted)
            assert self._stored is not None
            yield self._stored.rows(rows)

    def _count_unchanged(self, first: FirstPass, kept: UnchangedRow) -> None:
        assert self._stored is not None
        stored = self._stored
        self._unchanged += 1
        self._count(first, stored.traces(kept), stored.personal(kept), stored.is_prompt(kept))

    def _count(self, first: FirstPass, traces: Traces, personal: int, is_prompt: bool) -> None:
        counts = self._counts
        counts.redactions += len(traces)
        counts.personal += personal
        counts.prompts += is_prompt
        counts.withheld += any(trace.rule in WITHHELD for trace in traces)
        self._rules.update(trace.rule for trace in traces)
        self._audit.extend(traces)
        self._rows.append((first.record, personal))

    def _facts(self) -> ProductFacts:
        facts: ProductFacts = {
            **self._counts.facts(),
            "agent": self.session.rows[0].agent,
            "copied_from": self.session.copied_from,
        }
        copied = self.session.retained
        if copied is not None:
            facts["retained_blocks"] = facts["copied_blocks"] - copied.copied_blocks
            facts["copied_blocks"] = copied.copied_blocks
            facts["copied_prompts"] = copied.copied_prompts
        return facts

    def finish(
        self, first_pass: Iterable[FirstPass], expected_hash: str, *, is_held: bool
    ) -> tuple[Redaction, SessionRows]:
        """Run the second pass; return the redaction, whose `through` the caller sets, and the rows.
        `is_held`: the first pass is in memory, so the records are cached for later stages.

        The audit's footer has the hash of the records, and the catalogue gets both products
        in one transaction, so that a session interrupted in between is redacted again.

        Raises:
            RedactionFailed, TranscriptError, StoreError, DamagedFile: it cannot be redacted.
        """
        key = self.session.key
        about = {"input_hash": expected_hash, "run_id": self.components.run_id}
        finished = self._finished_records(first_pass)
        rows = list(finished) if is_held else finished
        records = arrow_rows(REDACTED_RECORDS, rows, footer=about)
        footer = {**records.footer, "facts": json.dumps(self._facts())}
        if self.session.retained is not None:
            footer[REMOVED_RECORDS] = removed_records_of(
                self.components, self.session.rows, self.session.copied
            )
        written = records.facts
        secrets = self.redactor.known_values
        self._values.update((value.hex(), rule) for value, rule in secrets.items())
        audit_facts: ProductFacts = {"rules": self._rules}
        audit_footer = {
            **about,
            "records_hash": written.output_hash,
            "facts": json.dumps(audit_facts),
            "known_values": json.dumps(dict(sorted(self._values.items()))),
        }
        audit = arrow_rows(REDACTION_AUDIT, self._audit, footer=audit_footer)
        lineage = (
            self._stored.lineage if self._stored and self._unchanged >= self._stored.count else ""
        )
        facts: ProductFacts = {**self._facts(), "lineage": lineage or written.output_hash}
        redaction = Redaction(
            product_of(REDACTED_RECORDS, *key, written, about, facts, records.nbytes),
            product_of(REDACTION_AUDIT, *key, audit.facts, about, audit_facts, audit.nbytes),
            0,
            secrets,
            self._state(written.output_hash, audit.facts.output_hash).to_json(),
            self._unchanged,
        )
        if is_held:
            self.components.sessions.add(redaction.records, rows, records.nbytes)
        return redaction, {
            REDACTED_RECORDS: replace(records, footer=footer),
            REDACTION_AUDIT: audit,
        }

    def _state(self, records_hash: str, audit_hash: str) -> SessionState:
        """Return the state by which the next ingest knows which rows it may reuse."""
        components, revealing = self.components, self._revealing - {0}
        return SessionState(
            ruleset_version=components.ruleset_version,
            records_hash=records_hash,
            audit_hash=audit_hash,
            size=sum(row.size for row in self.session.to_read),
            shown=hash_of_values(components.install_key, self.redactor.shown_since(0).items()),
            values=self._values,
            revealing=[at for at, (record, _) in enumerate(self._rows) if record in revealing],
            rows=np.array(self._rows, dtype=ROW_DTYPE),
        )

    def _is_copy(self, record: Record) -> bool:
        identity = self.components.identity
        return bool(self.copied) and identity.id_of(record.record_uuid) in self.copied

    def _finished(self, first: FirstPass) -> RedactedRecord:
        """Return a record after the second pass, and count it and all redactions in it, earlier
        ones included."""
        assert isinstance(first.redacted, RecordRedaction)
        redaction = self.redactor.propagate(first.redacted)
        record = redaction.record
        traces = first.traces + tuple(
            _audit_entry(
                record, finding.field, finding.rule, finding.tag, (finding.start, finding.end)
            )
            for finding in redaction.findings
        )
        if record.redactions != len(traces):
            record = replace(record, redactions=len(traces))
        self._count(first, traces, len(redaction.personal), record.kind == "prompt")
        return record


def product_of(
    table: Table,
    project: str,
    session_id: str,
    written: FileFacts,
    footer: Mapping[str, str],
    facts: ProductFacts,
    size: int = 0,
) -> Product:
    """Return the product that a session's file in a table and its footer describe; `size`: bytes
    of its rows in memory, where that is known."""
    return Product(
        table.name,
        project,
        session_id,
        input_hash=footer["input_hash"],
        output_hash=written.output_hash,
        rows=written.rows,
        bytes=size,
        facts=facts,
        run_id=footer.get("run_id", ""),
    )


def redact_both(
    components: Components,
    session: SessionFiles,
    expected_hash: str,
    known: frozenset[bytes] = frozenset(),
    before: SessionState | None = None,
    stored: StoredRows | None = None,
) -> tuple[Redaction, SessionRows]:
    """Redact a session; return its redaction and its rows in both tables (records and audit). The
    `stored` rows of unchanged records are reused where possible.

    Secrets that a rule found when the session was redacted `before` are first left out of the
    `known` ones, so that the audit names that rule instead of `known-secret`. If the rules do not
    find one again, the session is redacted with all known secrets.

    Raises:
        RedactionFailed, TranscriptError, StoreError, DamagedFile: it cannot be redacted.
    """
    own = before.own_values if before else frozenset[bytes]()
    tries = [(known - own, stored), (known - own, None), (known, None)]
    for sought, rows in tries if stored is not None else tries[1:]:
        redaction, final = _first_pass(components, session, sought, before, rows)
        found_again = not (known & own) - redaction.redactor.known_values.keys()
        if found_again and redaction.may_keep_rows:
            break
    return redaction.finish(final, expected_hash, is_held=isinstance(final, list))


def _first_pass(
    components: Components,
    session: SessionFiles,
    known: frozenset[bytes],
    before: SessionState | None,
    stored: StoredRows | None,
) -> tuple[SessionRedaction, Iterable[FirstPass]]:
    """Return the records after the first pass, once the secrets of all are collected."""
    redactor = components.redactor.session(session.session_id, known)
    shown = before.values if before and session.retained is not None else {}
    redaction = SessionRedaction(components, session, redactor, stored, values=shown)
    size = sum(row.size for row in session.to_read) - (stored.state.size if stored else 0)
    if size <= HELD_BYTES:
        return redaction, list(_once(redaction))
    for _ in _once(redaction):
        pass
    redaction.rewind()
    return redaction, _once(redaction)


def _once(redaction: SessionRedaction) -> Iterator[FirstPass]:
    to_read = redaction.session.to_read
    for row in redaction.session.rows:
        if row in to_read:
            yield from redaction.read(row)
        else:
            yield from _on_record(redaction, row)


def _on_record(redaction: SessionRedaction, row: SourceRow) -> Iterator[FirstPass]:
    """Yield the records that the lake has of a deleted file, redacted under the present
    rules; only the prompts, if the session is retained."""
    lake, identity = redaction.components.lake, redaction.components.identity
    session, copied = redaction.session, redaction.copied
    retained = session.retained is not None
    try:
        old: list[RedactedRecord] = lake.read_rows(REDACTED_RECORDS, *session.key)
    except NotFound:
        if session.gone and row.facts["blocks"] and not retained:
            raise
        return
    others = {file.agent_id for file in session.rows} - {row.agent_id}
    kept = [
        record
        for record in old
        if (record.agent_id or "") not in others
        and not (copied and identity.id_of(record.record_uuid) in copied)
        and (record.kind == "prompt" or not retained)
    ]
    prompts = sum(record.kind == "prompt" for record in kept)
    redaction.note_read(Counts.of_ledger(row, len(kept), prompts, copies=bool(copied)))
    traces: dict[tuple[str | None, int], list[AppliedRedaction]] = defaultdict(list)
    with suppress(NotFound):
        entries: list[AppliedRedaction] = lake.read_rows(REDACTION_AUDIT, *session.key)
        for entry in entries:
            traces[entry.agent_id, entry.seq].append(entry)
    for record in kept:
        traced: Iterable[AppliedRedaction] = ()
        if record.redactions:
            traced = traces.get((record.agent_id, record.seq)) or _audit_entries_of_tags(record)
        yield redaction.redact_again(record, tuple(traced))


def _audit_entry(
    record: RedactedRecord, field: str, rule: str, tag: str, span: tuple[int, int] | None = None
) -> AppliedRedaction:
    """Return the audit entry of a tag in a field of a record; `span` is the replaced range."""
    start, end = span or (None, None)
    return AppliedRedaction(
        project=record.project,
        agent=record.agent,
        session_id=record.session_id,
        agent_id=record.agent_id,
        seq=record.seq,
        record_uuid=record.record_uuid,
        field=field,
        rule=rule,
        start=start,
        end=end,
        length=span and span[1] - span[0],
        tag=tag,
        ruleset_version=record.ruleset_version,
        engine_version=record.ruleset_version.rpartition("-")[0],
    )


def _audit_entries_of_tags(record: RedactedRecord) -> Iterator[AppliedRedaction]:
    """Yield an audit entry for each tag in a record that was redacted before there was an
    audit."""
    for name in REDACTED_FIELDS:
        value = getattr(record, name)
        for place, text in _named_texts(name, value):
            for tag in _ANY_TAG.finditer(text):
                yield _audit_entry(record, place, tag["rule"] or FILE_CONTENTS, tag.group())


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, tuple):
        yield from ((f"{name}[{number}]", item) for number, item in enumerate(value))
    else:
        yield name, value
