"""The verdict of a check, and incremental checks: remember which files passed, and return only the
sessions that changed since.

The catalogue notes a session that passed with the version of the check and the stamps of its rows,
which change when rows are written, not when they are packed into a segment. Long sessions are noted
part by part, so that only new parts of a grown one are scanned. `memory verify` drops the notes
first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate
from types import MappingProxyType

import pyarrow as pa

from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import CheckFacts, ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import Table

MATCHED = "expected"
"""The check of what is expected of a table's rows."""

_BATCH_BYTES = 16 << 20
_PART_ROWS = 256
"""Rows of a part of a long session."""


@dataclass(frozen=True)
class Report:
    """A scanner's finding: the rule, as the counts name it, and the place; no text. `line` counts
    lines of the string from 1; 0 if it is not known."""

    rule: str
    session_id: str
    place: str = ""
    line: int = 0


@dataclass(frozen=True)
class Verdict:
    """The result of a check: whether it passed, the counts, and the remedy if it did not.
    `warning`: a failure is reported, and stops nothing. `reports`: the findings of a scanner."""

    passed: bool
    counts: Mapping[str, int | str] = field(default_factory=dict)
    remedy: str = ""
    warning: bool = False
    reports: Sequence[Report] = field(default=(), repr=False)

    @property
    def outcome(self) -> str:
        """The result in a word."""
        if self.passed:
            return "passed"
        return "warning" if self.warning else "failed"


@dataclass(frozen=True)
class CheckBatch:
    """Rows of several sessions, or of several parts of one, in one table. For each session or part,
    `notes` has the product to store when it passes, `starts` its first row in `rows`, and `firsts`
    the number of that row in the session."""

    rows: pa.Table
    notes: list[Product]
    starts: list[int]
    firsts: list[int]

    def place_of(self, row: int) -> tuple[str, int]:
        """Return the session of a row, and the row's number in that session."""
        at = bisect_right(self.starts, row) - 1
        return self.notes[at].session_id, row - self.starts[at] + self.firsts[at]

    def split(self) -> Iterator[CheckBatch]:
        """Yield a batch for each session or part."""
        ends = (*self.starts[1:], len(self.rows))
        parts = zip(self.notes, self.starts, ends, self.firsts, strict=True)
        for note, start, end, first in parts:
            yield CheckBatch(self.rows.slice(start, end - start), [note], [0], [first])


def sessions_to_check(
    components: Components,
    project: str,
    table: Table,
    check: str,
    version: str = "",
    *,
    compared_to: Table | None = None,
    beside: Mapping[str, object] = MappingProxyType({}),
    everything: bool = False,
) -> list[Product]:
    """Return the sessions of a table that did not yet pass this `version` of `check` in their
    present state, or all, each as the product to store when it passes. With `compared_to`, a change
    in either table makes a session pending. `beside` has other values, by session, on which the
    state depends; these sessions are included even without rows."""
    stage = note_stage(check, table)
    noted = {} if everything else components.catalog.products.hashes(stage, project)
    tables = (table,) if compared_to is None else (table, compared_to)
    lake = components.lake
    entries_of = {table.name: lake.partition(table, project).entries() for table in tables}
    names = {name for entries in entries_of.values() for name in entries}
    notes: list[Product] = []
    for session_id in sorted(names | beside.keys()):
        stamps = [
            f"{name}/{entries[session_id].stamp}"
            for name, entries in entries_of.items()
            if session_id in entries
        ]
        if session_id in beside:
            stamps.append(repr(beside[session_id]))
        state = input_hash(version, *stamps)
        if session_id not in noted or noted[session_id][0] != state:
            notes.append(Product(stage, project, session_id, state, ""))
    return notes


def note_passed(
    components: Components, sessions: Iterable[Product], but: Container[str] = ()
) -> None:
    """Note that these sessions passed their check, but for some of them, by id."""
    passed = (session for session in sessions if session.session_id not in but)
    components.catalog.products.put(*passed, run_id=components.run_id)


def scan_pending(
    components: Components,
    project: str,
    table: Table,
    check: str,
    version: str,
    scan: Callable[[CheckBatch], list[Report]],
) -> tuple[int, list[Report]]:
    """Scan the sessions of a table that did not pass this `version` of a check, and note those that
    pass; return the number of files and the reports. Sessions are scanned in batches; a batch with
    a report is scanned again session by session, to know which sessions have the value."""
    sessions = sessions_to_check(components, project, table, check, version)
    reports: list[Report] = []
    by_name = {session.session_id: session for session in sessions}
    for batch in pending_rows(components.lake, project, table, sessions):
        fresh, note = _fresh_rows(components.catalog, version, batch)
        if fresh is not None and (found := scan(fresh)):
            reports += [report for part in fresh.split() for report in scan(part)] or found
        else:
            by_name[note.session_id] = note
    reported = {report.session_id for report in reports}
    note_passed(components, by_name.values(), but=reported)
    return len(sessions), reports


def _fresh_rows(
    catalog: Catalog, version: str, batch: CheckBatch
) -> tuple[CheckBatch | None, Product]:
    """Return the rows of a batch that did not pass a check yet, and the product to store for its
    first session when they pass. For one long session these are the parts, of some hundred rows,
    whose hashes are not noted; else all rows."""
    note = batch.notes[0]
    if len(batch.notes) > 1 or len(batch.rows) <= _PART_ROWS:
        return batch, note
    known: CheckFacts = catalog.products.facts(note.stage, note.project, note.session_id)
    passed = frozenset(known["parts"] if known.get("version") == version else ())
    rows = batch.rows.combine_chunks()
    firsts = _firsts(rows)
    ends = (*firsts[1:], len(rows))
    parts = [rows.slice(at, end - at) for at, end in zip(firsts, ends, strict=True)]
    hashes = [_hash(part) for part in parts]
    facts: ProductFacts = {"version": version, "parts": hashes}
    note = replace(note, facts=facts)
    fresh = [at for at, name in enumerate(hashes) if name not in passed]
    if not fresh:
        return None, note
    notes = [note] * len(fresh)
    chosen = [parts[at] for at in fresh]
    return _batch(chosen, notes, map(len, chosen), [firsts[at] for at in fresh]), note


def _firsts(rows: pa.Table) -> list[int]:
    """Return the first row of each part. Each file's records begin a new part, so that the parts of
    subagents stay the same when the main file grows."""
    begins = [0]
    if "agent_id" in rows.column_names:
        agents = rows["agent_id"].to_pylist()
        begins += [at for at in range(1, len(rows)) if agents[at] != agents[at - 1]]
    ends = (*begins[1:], len(rows))
    return [
        at for begin, end in zip(begins, ends, strict=True) for at in range(begin, end, _PART_ROWS)
    ]


def _hash(part: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.schema) as stream:
        stream.write_table(part)
    return blake2b(sink.getvalue(), digest_size=16).hexdigest()


def note_stage(check: str, table: Table) -> str:
    """Return the stage name under which the catalogue notes sessions that passed a check."""
    return f"{check}/{table.name}"


def pending_rows(
    lake: Lake, project: str, table: Table, notes: Iterable[Product]
) -> Iterator[CheckBatch]:
    """Yield the rows of pending sessions as they are on disk, in batches of about 16 MB."""
    by_name = {note.session_id: note for note in notes}
    parts: list[pa.Table] = []
    included: dict[str, int] = {}
    size = 0
    for lengths, rows in lake.partition(table, project).runs_of(by_name):
        unlike = bool(parts) and not parts[0].schema.equals(rows.schema)
        if parts and (unlike or size >= _BATCH_BYTES):
            yield _batch(parts, map(by_name.__getitem__, included), included.values())
            parts, included, size = [], {}, 0
        parts.append(rows)
        size += rows.nbytes
        included |= lengths
    if parts:
        yield _batch(parts, map(by_name.__getitem__, included), included.values())


def _batch(
    parts: Iterable[pa.Table],
    notes: Iterable[Product],
    lengths: Iterable[int],
    firsts: list[int] | None = None,
) -> CheckBatch:
    """Return one batch; `lengths` are the numbers of rows of each note's session or part."""
    *starts, _ = accumulate(lengths, initial=0)
    return CheckBatch(pa.concat_tables(parts), list(notes), starts, firsts or [0] * len(starts))
