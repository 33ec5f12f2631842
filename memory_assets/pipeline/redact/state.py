"""How far a session was redacted, so that what is added to it can be redacted alone.

Rows are firm or provisional: what a reader releases only because the file ends there (and
a last line without its newline) is read again when the file has grown, and stands last in
the session's file. No text: numbers, ids and hashes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memory_assets.pipeline.ownership.session_files import Counts
from memory_assets.redaction.edits import KNOWN_SECRET
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts.checkpoint import Extent


@dataclass(frozen=True)
class FileEntry:
    """One source file as it was redacted: its fingerprint and reader, the state of reading
    it ("": it was gone), its provisional rows, and what was counted in it."""

    fingerprint: str
    reader_version: str
    state: str
    provisional: int
    counts: Counts

    def is_of(self, row: SourceRow) -> bool:
        """Whether the file is now as it was then."""
        return (self.fingerprint, self.reader_version) == (row.fingerprint, row.reader_version)


@dataclass(frozen=True)
class SessionState:
    """One session as it was redacted.

    `wanted` and the two hashes say of which products this is the state. `kept` and
    `audit_kept` count the firm rows; `firm` and `rules` what was counted in them. `teachers`
    are the objects that showed a value first, in the order in which they did: what was
    learnt from the session is learnt from them again. `values_shown` counts these values,
    and `values` has the rules of those that nobody can guess, by keyed hash (hex).
    """

    wanted: str
    ruleset_version: str
    records_hash: str
    audit_hash: str
    kept: int
    audit_kept: int
    root: int
    copied: str
    values_shown: int
    firm: Counts
    rules: Mapping[str, int]
    values: Mapping[str, str]
    files: Mapping[str, FileEntry]
    teachers: Mapping[str, list[Extent]] = field(default_factory=dict)

    @property
    def own_values(self) -> frozenset[bytes]:
        """Keyed hashes of the values that the session itself gave away: not of those that
        only stood in it, known from elsewhere."""
        return frozenset(
            bytes.fromhex(value) for value, rule in self.values.items() if rule != KNOWN_SECRET
        )

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self, default=vars, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> SessionState:
        """Return what `to_json` was called on."""
        values: dict[str, Any] = json.loads(text)
        files = {
            agent_id: FileEntry(**{**entry, "counts": Counts.from_json(entry["counts"])})
            for agent_id, entry in values["files"].items()
        }
        teachers = {
            agent_id: [(start, end) for start, end in places]
            for agent_id, places in values["teachers"].items()
        }
        firm = Counts.from_json(values["firm"])
        return cls(**{**values, "files": files, "teachers": teachers, "firm": firm})


def state_of(catalog: Catalog, project: str, session_id: str) -> SessionState | None:
    """Return how far a session was redacted; None of one that never was."""
    state = catalog.redactions.state(project, session_id)
    return SessionState.from_json(state) if state else None
