"""Which rows a check has still to look at: those that did not pass it as they lie on disk.

A session whose files are as they were when they passed is not looked at again; of one whose
base stands and whose tail is new, the tail is. What passed is noted in the catalogue, by
size and time of the files and by the version of the check; notes count for nothing to
`memory verify --full`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from memory_assets.errors import NotFound
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import CheckFacts, ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import Table

COMPARISONS = ("audited", "prompted", "embedded")
"""The checks of two tables against each other that note what passed."""

NOTED_CHECKS = ("clean", "independent", "expected", "great_expectations", *COMPARISONS)
"""All checks that note what passed."""

_BATCH_BYTES = 16 << 20
_SHARED_BYTES = 64 << 20


@dataclass(frozen=True)
class PendingSessions:
    """A session with rows to look at: those behind the first `skip`. `stamp` says which
    files they are in; `note` is what to keep when they pass."""

    session_id: str
    skip: int
    stamp: str
    note: Product


@dataclass(frozen=True)
class Batch:
    """Rows of several sessions, one behind the other."""

    rows: pa.Table
    sessions: list[PendingSessions]
    starts: list[int]

    def place_of(self, row: int) -> tuple[str, int]:
        """Return the session that a row is of, and its number there."""
        at = bisect_right(self.starts, row) - 1
        return self.sessions[at].session_id, row - self.starts[at] + self.sessions[at].skip

    def split(self) -> Iterator[Batch]:
        """Yield each session's rows by themselves."""
        ends = (*self.starts[1:], len(self.rows))
        for session, start, end in zip(self.sessions, self.starts, ends, strict=True):
            yield Batch(self.rows.slice(start, end - start), [session], [0])


def pending_sessions(
    catalog: Catalog,
    lake: Lake,
    project: str,
    table: Table,
    check: str,
    version: str = "",
    beside: Table | None = None,
) -> list[PendingSessions]:
    """Return the sessions of a table that did not pass `check` in this `version` as they
    are now; with `beside`, those of both tables, looked at whole."""
    stage = note_stage(check, table)
    notes = catalog.products.of_project(stage, project)
    tables = (table,) if beside is None else (table, beside)
    found: list[PendingSessions] = []
    for session_id in sorted({name for each in tables for name in lake.sessions(each, project)}):
        stamps = [
            f"{each.name}/{path.name}:{stat.st_mtime_ns}:{stat.st_size}"
            for each in tables
            for path in lake.files(each, project, session_id)
            for stat in (path.stat(),)
        ]
        if not stamps:
            continue
        state = input_hash(version, *stamps)
        note = notes.get(session_id)
        if note is not None and note.input_hash == state:
            continue
        base, rows, skip = input_hash(version, stamps[0]), -1, 0
        if beside is None and len(stamps) > 1:
            with lake.opened(table, project, session_id) as opened:
                rows = opened.of_base
            passed: CheckFacts = note.facts if note is not None else {}
            whole = passed.get("rows", 0) < 0
            if passed.get("base") == base and (whole or passed["rows"] >= rows):
                skip = rows
        facts: ProductFacts = {"base": base, "rows": rows}
        noted = Product(stage, project, session_id, state, "", facts=facts)
        found.append(PendingSessions(session_id, skip, " ".join(stamps), noted))
    return found


def note_stage(check: str, table: Table) -> str:
    """Return the stage under which the catalogue notes what passed a check."""
    return f"{check}/{table.name}"


def note_passed(catalog: Catalog, passed: Iterable[PendingSessions]) -> None:
    """Note that sessions passed, with the state that they were looked at in."""
    catalog.products.put(*(session.note for session in passed))


class RowsToCheck:
    """Reads what is to be looked at from disk; the checks of one step share what was read."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._key: tuple[str, ...] = ()
        self._batches: list[Batch] = []

    def batches(
        self, project: str, table: Table, sessions: list[PendingSessions]
    ) -> Iterator[Batch]:
        """Yield the rows to look at, a few megabytes at a time."""
        key = (project, table.name, *(f"{each.skip}:{each.stamp}" for each in sessions))
        if key == self._key:
            yield from self._batches
            return
        self.forget()
        read: list[Batch] = []
        size = 0
        for batch in self._read(project, table, sessions):
            size += batch.rows.nbytes
            if size <= _SHARED_BYTES:
                read.append(batch)
            yield batch
        if size <= _SHARED_BYTES:
            self._key, self._batches = key, read

    def forget(self) -> None:
        """Let go of what was read."""
        self._key, self._batches = (), []

    def _read(self, project: str, table: Table, sessions: list[PendingSessions]) -> Iterator[Batch]:
        parts: list[pa.Table] = []
        held: list[PendingSessions] = []
        size = 0
        for session in sessions:
            try:
                rows = self._lake.read(table, project, session.session_id, skip=session.skip)
            except NotFound:
                continue
            rows = rows.replace_schema_metadata(None)
            unlike = bool(parts) and not parts[0].schema.equals(rows.schema)
            if parts and (unlike or size >= _BATCH_BYTES):
                yield _batch(parts, held)
                parts, held, size = [], [], 0
            parts.append(rows)
            size += rows.nbytes
            held.append(session)
        if parts:
            yield _batch(parts, held)


def _batch(parts: list[pa.Table], sessions: list[PendingSessions]) -> Batch:
    starts = list(accumulate((len(part) for part in parts[:-1]), initial=0))
    return Batch(pa.concat_tables(parts), sessions, starts)
