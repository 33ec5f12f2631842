"""What is remembered of a session's redaction, so that rows of unchanged records are taken again.

It has no text: keyed hashes, numbers, and names of rules.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter

import numpy as np
import numpy.typing as npt
import orjson

from memory_assets.models import Record
from memory_assets.redaction.edits import FORGOTTEN_TEXT, KNOWN_SECRET
from memory_assets.stores.catalog.catalog import Catalog

ROW_DTYPE = np.dtype([("record", "<u8"), ("personal", "<u4")])
"""A row of redacted_records: the keyed hash of its record (0: it was not read from a file), and
how much personal data was taken out of it."""

_FIELDS = attrgetter(
    *("agent", "session_id", "agent_id", "record_uuid", "parent_uuid", "timestamp", "role"),
    *("kind", "text", "subtype", "tool_name", "tool_use_id", "is_error", "paths", "command"),
    *("cwd", "git_branch", "model", "agent_version", "is_sidechain", "message_id"),
    *("spawned_agent_id", "tokens"),
)
"""All of a record but its place in the file."""


class RecordHashes:
    """Keyed hashes of unredacted records. Records with equal hashes have equal rows, but for
    their place in the file, and for what other records of the session reveal: of equal fields, in
    a project with this name and root, under these rules."""

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
    """A session when it was redacted.

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
        """Return the state that `to_json` wrote; only the values of one of an earlier version,
        after which all of the session is redacted once."""
        stored = json.loads(text)
        if "rows" not in stored:
            return cls(values=stored["values"])
        rows = np.frombuffer(base64.b64decode(stored.pop("rows")), dtype=ROW_DTYPE)
        return cls(rows=rows, **stored)


def state_of(catalog: Catalog, project: str, session_id: str) -> SessionState | None:
    """Return the state of a session, or None if it was never redacted."""
    state = catalog.redactions.state(project, session_id)
    return SessionState.from_json(state) if state else None
