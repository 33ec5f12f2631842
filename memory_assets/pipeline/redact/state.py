"""The state in which redaction left a session, from which added records are redacted alone.

A record is final, or tentative: one that the reader returned only because the file ended
there (also a last line without its newline). Tentative records are read again when the file
has grown, and are the last rows of the session's file. The state has no text, only numbers,
ids and hashes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from memory_assets.pipeline.ownership.session_files import Counts
from memory_assets.redaction.edits import KNOWN_SECRET
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import Extent


@dataclass(frozen=True)
class FileEntry:
    """One source file when it was redacted: its fingerprint, the reader's version, the reading
    state ("" for a deleted file), the number of its tentative rows, and its counts."""

    fingerprint: str
    reader_version: str
    state: str
    tentative: int
    counts: Counts

    def is_of(self, row: SourceRow) -> bool:
        """Whether the file is unchanged since."""
        return (self.fingerprint, self.reader_version) == (row.fingerprint, row.reader_version)


@dataclass
class SessionState:
    """One session when it was redacted, or while it is.

    `wanted` (the input hash), `records_hash` and `audit_hash` identify its two products.
    `kept` and `audit_kept` are the numbers of final rows in them, `final` and `rules` the
    counts of those rows. `secret_sources` are the places in the source files of the objects
    in which each secret was seen first, in that order: reading just these primes a redactor
    with the session's secrets. `values_shown` is the number of the secrets; `values` has the
    rules of those that cannot be guessed, by keyed hash (hex).
    """

    wanted: str = ""
    ruleset_version: str = ""
    records_hash: str = ""
    audit_hash: str = ""
    kept: int = 0
    audit_kept: int = 0
    root: int = 0
    copied: str = ""
    values_shown: int = 0
    final: Counts = field(default_factory=Counts)
    rules: Counter[str] = field(default_factory=Counter)
    values: dict[str, str] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    secret_sources: dict[str, list[Extent]] = field(default_factory=dict)

    @property
    def own_values(self) -> frozenset[bytes]:
        """Keyed hashes of the secrets that a rule found in this session; without those that
        were found only because another session had revealed them."""
        return frozenset(
            bytes.fromhex(value) for value, rule in self.values.items() if rule != KNOWN_SECRET
        )

    def to_json(self) -> str:
        """Return the state as JSON."""
        return json.dumps(self, default=_stored_fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> SessionState:
        """Return the state that `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        files: dict[str, FileEntry] = {}
        for agent_id, entry in values.pop("files").items():
            counts = Counts.from_json(entry.pop("counts"))
            files[agent_id] = FileEntry(tentative=entry.pop("provisional"), counts=counts, **entry)
        return cls(
            final=Counts.from_json(values.pop("firm")),
            rules=Counter(values.pop("rules")),
            files=files,
            secret_sources={
                agent_id: [(start, end) for start, end in places]
                for agent_id, places in values.pop("teachers").items()
            },
            **values,
        )


_STORED_NAMES = {"final": "firm", "tentative": "provisional", "secret_sources": "teachers"}
"""Names of fields in the catalogue where they differ: those that earlier versions wrote."""


def _stored_fields(value: object) -> dict[str, object]:
    return {_STORED_NAMES.get(name, name): field for name, field in vars(value).items()}


def state_of(catalog: Catalog, project: str, session_id: str) -> SessionState | None:
    """Return the state of a session, or None if it was never redacted."""
    state = catalog.redactions.state(project, session_id)
    return SessionState.from_json(state) if state else None
