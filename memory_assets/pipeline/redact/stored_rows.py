"""The rows that a session has in the lake, to be taken again where their records are unchanged.

So a file that grew, was rewritten or was edited costs the redaction of what is new in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.models import AppliedRedaction, Record
from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.redact.state import SessionState
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction.propagation import SessionValues
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import redacted_values
from memory_assets.stores.lake.rows import Stored
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

_PLACE = ("seq", "byte_start", "byte_end")
"""The columns that tell where a record is in its file."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored row that is taken again: its number, and where its record is now."""

    row: int
    place: tuple[int, int, int]


class StoredRows:
    """The stored rows of a session by the hashes of their records."""

    def __init__(
        self,
        state: SessionState,
        records: pa.Table,
        audit: Sequence[AppliedRedaction],
        lineage: str = "",
    ) -> None:
        self.state = state
        self.lineage = lineage
        self.count = len(records)
        self._records = records
        self._audit = audit
        self._ends = np.cumsum(records["redactions"].to_numpy()).tolist()
        self._prompts = np.asarray(records["kind"].to_numpy(zero_copy_only=False) == "prompt")
        self._places = list(zip(*(records[name].to_pylist() for name in _PLACE), strict=True))
        hashes = state.rows["record"].tolist()
        self._row_of = {number: row for row, number in enumerate(hashes) if number}
        self._revealing = {hashes[row] for row in state.revealing}

    @classmethod
    def of(
        cls,
        components: Components,
        session: SessionFiles,
        state: SessionState,
        records: Product,
        audit: Product,
    ) -> StoredRows | None:
        """Return the rows of a session; None if the lake's are not those that `state` describes,
        or were made under other rules."""
        lake, key = components.lake, session.key
        if (
            state.ruleset_version != components.ruleset_version
            or not records.rows == len(state.rows) > 0
            or (state.records_hash, state.audit_hash) != (records.output_hash, audit.output_hash)
        ):
            return None
        try:
            with lake.opened(REDACTED_RECORDS, *key) as rows:
                if rows.facts.output_hash != state.records_hash:
                    return None
                table = rows.read()
            entries: list[AppliedRedaction] = []
            if audit.rows:
                if lake.read_footer(REDACTION_AUDIT, *key)[0].output_hash != state.audit_hash:
                    return None
                entries = lake.read_rows(REDACTION_AUDIT, *key)
        except (NotFound, DamagedFile):
            return None
        if not table.schema.equals(REDACTED_RECORDS.schema):
            return None
        stored = cls(state, table, entries, records.facts.get("lineage") or "")
        return stored if stored._ends[-1] == len(entries) else None

    def kept(self, number: int, record: Record) -> Kept | None:
        """Return the row of a record with this hash, if there is one."""
        row = self._row_of.get(number)
        if row is None:
            return None
        return Kept(row, (record.seq, record.byte_start, record.byte_end))

    def reveals(self, number: int) -> bool:
        """Whether the record with this hash was the first to show a secret."""
        return number in self._revealing

    def is_prompt(self, kept: Kept) -> bool:
        """Whether the row is that of a prompt."""
        return bool(self._prompts[kept.row])

    def personal(self, kept: Kept) -> int:
        """Return how much personal data was taken out of the record."""
        return int(self.state.rows["personal"][kept.row])

    def traces(self, kept: Kept) -> tuple[AppliedRedaction, ...]:
        """Return the audit entries of a record."""
        begin = self._ends[kept.row - 1] if kept.row else 0
        entries = self._audit[begin : self._ends[kept.row]]
        seq = kept.place[0]
        return tuple(entry if entry.seq == seq else replace(entry, seq=seq) for entry in entries)

    def rows(self, kept: Sequence[Kept]) -> Stored:
        """Return rows that follow each other, in Arrow."""
        numbers = [kept_row.row for kept_row in kept]
        first, last = numbers[0], numbers[-1]
        if numbers == list(range(first, last + 1)):
            table = self._records.slice(first, len(numbers))
        else:
            table = self._records.take(pa.array(numbers))
        if any(self._places[kept_row.row] != kept_row.place for kept_row in kept):
            for at, name in enumerate(_PLACE):
                column = table.schema.get_field_index(name)
                values: Any = pa.array([kept_row.place[at] for kept_row in kept], pa.int64())
                field = table.schema.field(name)
                table = table.set_column(column, field, values.cast(field.type))
        return Stored(table)

    def hold(self, values: SessionValues) -> bool:
        """Whether one of these secrets occurs in any of the rows."""
        if not values.are_sought():
            return False
        return any(values.edits(text) for text in redacted_values(REDACTED_RECORDS, self._records))
