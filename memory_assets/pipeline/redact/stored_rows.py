"""Reusing a session's stored rows: which of its records are unchanged since their redaction, and
the state that tells, without text: keyed hashes, numbers, and names of rules.

So only the new records of a file that grew, was rewritten or was edited are redacted.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.models import AppliedRedaction, Record, RedactedRecord
from memory_assets.pipeline.ownership.session_files import SessionFiles
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction.edits import FORGOTTEN_TEXT, KNOWN_SECRET
from memory_assets.redaction.propagation import SessionValues
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import redacted_values
from memory_assets.stores.lake.rows import Stored
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT

ROW_DTYPE = np.dtype([("record", "<u8"), ("personal", "<u4")])
"""A row of redacted_records: the keyed hash of its record (0: it was not read from a file), and
the number of redactions of personal data in it."""

_FIELDS = attrgetter(
    *("agent", "session_id", "agent_id", "record_uuid", "parent_uuid", "timestamp", "role"),
    *("kind", "text", "subtype", "tool_name", "tool_use_id", "is_error", "paths", "command"),
    *("cwd", "git_branch", "model", "agent_version", "is_sidechain", "message_id"),
    *("spawned_agent_id", "tokens"),
)
"""All fields of a record, except its place in the file."""

REDACTED_FIELDS = ("command", "cwd", "git_branch", "paths", "text", "tool_name")


def as_unredacted(record: RedactedRecord) -> Record:
    """Return a record of the lake as an unredacted record, to be redacted under the present
    rules when its source file is deleted."""
    values: dict[str, Any] = {
        each.name: getattr(record, each.name) for each in fields(Record) if each.name != "content"
    }
    values |= {name: str(values[name]) for name in REDACTED_FIELDS if name != "paths"}
    return Record(**{**values, "paths": tuple(map(str, record.paths))})


class RecordHashes:
    """Keyed hashes of unredacted records, together with the project's name and root and the rules.
    Records with equal hashes have equal rows, except for their place in the file and for secrets
    that other records of the session reveal."""

    def __init__(self, key: bytes, project: str, project_root: str, ruleset_version: str) -> None:
        about = orjson.dumps([project, project_root, ruleset_version])
        self._begun = blake2b(about, key=key, digest_size=8, person=b"whole-record")

    def of(self, record: Record) -> int:
        """Return the hash of a record, never 0."""
        fields = _FIELDS(record)
        try:
            content = orjson.dumps(fields)
        except (TypeError, ValueError):  # a lone surrogate
            content = repr(fields).encode("utf-8", "surrogatepass")
        digest = self._begun.copy()
        digest.update(content)
        return int.from_bytes(digest.digest(), "little") or 1


def hash_of_values(key: bytes, values: Iterable[tuple[str, str]]) -> str:
    """Return one keyed hash of all secrets (value and rule) of a session, in any order."""
    digest = blake2b(key=key, digest_size=16, person=b"session-values")
    digest.update(orjson.dumps(sorted(values)))
    return digest.hexdigest()


@dataclass(frozen=True)
class SessionState:
    """The state of a session when it was last redacted.

    `records_hash` and `audit_hash` identify its two products, `size` is that of the files read.
    `rows` (`ROW_DTYPE`) are those of redacted_records, in order; `revealing` the numbers of the
    rows whose records were the first to show a secret, and `shown` the keyed hash of all secrets:
    redacting just these records finds them again. `values` has the rules of the secrets that
    cannot be guessed, by keyed hash (hex).
    """

    ruleset_version: str = ""
    records_hash: str = ""
    audit_hash: str = ""
    size: int = 0
    shown: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    revealing: Sequence[int] = ()
    rows: npt.NDArray[np.void] = field(default_factory=lambda: np.empty(0, dtype=ROW_DTYPE))

    @property
    def own_values(self) -> frozenset[bytes]:
        """Keyed hashes of the secrets that a rule found in this session; without those that
        were found only because another session, or the owner, had revealed them."""
        return frozenset(
            bytes.fromhex(value)
            for value, rule in self.values.items()
            if rule not in (KNOWN_SECRET, FORGOTTEN_TEXT)
        )

    def to_json(self) -> str:
        """Return the state as JSON."""
        rows = base64.b64encode(self.rows.tobytes()).decode()
        return json.dumps({**vars(self), "rows": rows}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> SessionState:
        """Return the state that `to_json` wrote. A state of an earlier version yields only
        `values`, so that all of the session is redacted again."""
        stored = json.loads(text)
        if "rows" not in stored:
            return cls(values=stored["values"])
        rows = np.frombuffer(base64.b64decode(stored.pop("rows")), dtype=ROW_DTYPE)
        return cls(rows=rows, **stored)


def state_of(catalog: Catalog, project: str, session_id: str) -> SessionState | None:
    """Return the state of a session, or None if it was never redacted."""
    state = catalog.redactions.state(project, session_id)
    return SessionState.from_json(state) if state else None


_PLACE = ("seq", "byte_start", "byte_end")
"""The columns that tell where a record is in its file."""


@dataclass(frozen=True, slots=True)
class UnchangedRow:
    """A stored row that is reused: its number, and the present place of its record."""

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

    def unchanged(self, number: int, record: Record) -> UnchangedRow | None:
        """Return the row of a record with this hash, if there is one."""
        row = self._row_of.get(number)
        if row is None:
            return None
        return UnchangedRow(row, (record.seq, record.byte_start, record.byte_end))

    def reveals(self, number: int) -> bool:
        """Whether the record with this hash was the first to show a secret."""
        return number in self._revealing

    def is_prompt(self, kept: UnchangedRow) -> bool:
        """Whether the row is that of a prompt."""
        return bool(self._prompts[kept.row])

    def personal(self, kept: UnchangedRow) -> int:
        """Return the number of redactions of personal data in the row."""
        return int(self.state.rows["personal"][kept.row])

    def traces(self, kept: UnchangedRow) -> tuple[AppliedRedaction, ...]:
        """Return the audit entries of a record."""
        begin = self._ends[kept.row - 1] if kept.row else 0
        entries = self._audit[begin : self._ends[kept.row]]
        seq = kept.place[0]
        return tuple(entry if entry.seq == seq else replace(entry, seq=seq) for entry in entries)

    def rows(self, kept: Sequence[UnchangedRow]) -> Stored:
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

    def contain(self, values: SessionValues) -> bool:
        """Whether one of these secrets occurs in any of the rows."""
        if not values.are_sought():
            return False
        return any(values.edits(text) for text in redacted_values(REDACTED_RECORDS, self._records))
