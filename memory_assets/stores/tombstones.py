"""Tombstones: which sessions were forgotten, known by keyed hashes alone.

Belongs here: keyed ids of forgotten sessions and of the records they owned, and how far
each forgetting has come. Does not: any name or text, and no word of what was removed.
The file stands beside the catalogue, which is disposable; tombstones are not.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from memory_assets.errors import StoreError
from memory_assets.stores.catalog_connection import transaction

State = Literal["begun", "erased", "done"]
"""begun: its names are still in the catalogue, by which an interrupted forgetting is
completed; erased: only the catalogue's own file is left to be rewritten."""

FILE_NAME = "forgotten.db"
"""Where in the data directory the tombstones are."""

RecordIds = npt.NDArray[np.uint64]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_HASH_BYTES = 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (recognised_by BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    id BLOB PRIMARY KEY, state TEXT NOT NULL, forgotten_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    family BLOB NOT NULL, id BLOB NOT NULL, PRIMARY KEY (family, id)
) WITHOUT ROWID;
"""
_HAS_SESSIONS = "SELECT 1 FROM sqlite_master WHERE name = 'sessions'"
_UNFINISHED = "SELECT 1 FROM sessions WHERE state != 'done' LIMIT 1"


@dataclass(frozen=True)
class Forgotten:
    """The sessions that had been forgotten when this was read."""

    key: bytes = field(default=b"", repr=False)
    ids: frozenset[bytes] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.ids)

    def __contains__(self, session: object) -> bool:
        """Whether a (project, session id) is among them."""
        if not self.ids or not isinstance(session, tuple):
            return False
        project, session_id = session
        return _session_key(self.key, project, session_id) in self.ids


class Tombstones:
    """The tombstones in one file, which need not exist. Each call opens and closes it."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key

    def __repr__(self) -> str:
        return f"Tombstones({str(self.path)!r})"

    def forgotten(self, state: State | None = None) -> Forgotten:
        """Return all forgotten sessions, or those at one state."""
        if not self.path.exists():
            return Forgotten()
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT id FROM sessions WHERE ? IS NULL OR state = ?", (state, state)
            ).fetchall()
        return Forgotten(self._key, frozenset(row[0] for row in rows))

    def unfinished(self) -> bool:
        """Whether a forgetting was interrupted."""
        return unfinished(self.path)

    def begin(
        self,
        sessions: Iterable[tuple[str, str]],
        records: Iterable[tuple[int, RecordIds]] = (),
    ) -> None:
        """Note that these (project, session id) are to be forgotten, and the records they
        owned, by the family that forks of theirs share."""
        now = datetime.now(UTC).date().isoformat()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection, transaction(connection):
            connection.executemany(
                "INSERT OR REPLACE INTO sessions VALUES (?, 'begun', ?)",
                [(_session_key(self._key, *session), now) for session in sessions],
            )
            for family, ids in records:
                keyed_family = self.family_key(family)
                connection.executemany(
                    "INSERT OR IGNORE INTO records VALUES (?, ?)",
                    [(keyed_family, record_id) for record_id in self._keyed_records(ids)],
                )

    def advance(self, before: State, after: State) -> None:
        """Take every session at one state to another."""
        with self._connected() as connection, transaction(connection):
            connection.execute("UPDATE sessions SET state = ? WHERE state = ?", (after, before))

    def families(self) -> frozenset[bytes]:
        """Return the families, as `family_key` names them, that have forgotten records."""
        if not self.path.exists():
            return frozenset()
        with self._connected() as connection:
            rows = connection.execute("SELECT DISTINCT family FROM records").fetchall()
        return frozenset(row[0] for row in rows)

    def family_key(self, family: int) -> bytes:
        """Return the keyed name of a family."""
        return self._keyed("family", family.to_bytes(8, "little", signed=True))

    def records_among(self, family: int, ids: RecordIds) -> RecordIds:
        """Return those of a file's record ids that forgotten sessions of its family owned."""
        if not self.path.exists():
            return np.empty(0, dtype=np.uint64)
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT id FROM records WHERE family = ?", (self.family_key(family),)
            ).fetchall()
        known = {row[0] for row in rows}
        unique = np.unique(ids)
        return unique[[keyed in known for keyed in self._keyed_records(unique)]]

    def _keyed_records(self, ids: RecordIds) -> Iterator[bytes]:
        return (self._keyed("record", int(one).to_bytes(8, "little")) for one in ids)

    def _keyed(self, kind: str, value: bytes) -> bytes:
        return _keyed(self._key, kind.encode(), value)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(
                sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
            ) as connection:
                connection.executescript(_SCHEMA)
                self._require_key(connection)
                yield connection
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot use {self.path}: {type(error).__name__}. It says what was forgotten: "
                "without it, forgotten sessions would be taken in again. Restore it."
            ) from error

    def _require_key(self, connection: sqlite3.Connection) -> None:
        mine = self._keyed("key", b"")
        (count,) = connection.execute("SELECT COUNT(*) FROM key").fetchone()
        if not count:
            with transaction(connection):
                connection.execute(
                    "INSERT INTO key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM key)", (mine,)
                )
        (kept,) = connection.execute("SELECT recognised_by FROM key").fetchone()
        if kept != mine:
            raise StoreError(
                f"{self.path} was written under another install key, so nobody can tell any "
                "more which sessions were forgotten. Restore the key; or remove the file, "
                "knowing that they will be taken in again."
            )


def unfinished(path: Path) -> bool:
    """Whether the tombstones at `path` speak of a forgetting that was interrupted; needs
    no key. False where there is no such file, or none that anything was noted in: one that
    was killed while it was made."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=30.0)) as connection:
            if not connection.execute(_HAS_SESSIONS).fetchone():
                return False
            return connection.execute(_UNFINISHED).fetchone() is not None
    except sqlite3.Error as error:
        raise StoreError(f"cannot use {path}: {type(error).__name__}. Restore it.") from error


def is_unique(session_id: str) -> bool:
    """Whether an id names one session wherever its file lies: it holds a UUID."""
    return _UUID.search(session_id) is not None


def _session_key(key: bytes, project: str, session_id: str) -> bytes:
    """A session with a UUID is the same in whatever project its file turns up."""
    where: Sequence[str] = (session_id,) if is_unique(session_id) else (project, session_id)
    return _keyed(key, b"session", "\0".join(where).encode("utf-8", "surrogatepass"))


def _keyed(key: bytes, kind: bytes, value: bytes) -> bytes:
    return blake2b(
        kind + b"\0" + value, key=key, digest_size=_HASH_BYTES, person=b"tombstones"
    ).digest()
