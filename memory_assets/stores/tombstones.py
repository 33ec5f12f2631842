"""Tombstones: keyed hashes of the forgotten sessions and their records.

Belongs here: keyed ids of forgotten sessions and of the records they owned, keyed hashes of texts
that were cut, the lines of `excluded.txt`, and the progress of each forgetting. Does not: any other
name or text. The file is not the catalogue, because that may be deleted. A copy of each data
directory's tombstones lies beside the install key, so that a directory restored from a backup, or
without the file, does not bring back forgotten sessions.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memory_assets.errors import StoreError
from memory_assets.stores.files.shared import locked
from memory_assets.stores.files.sqlite import connect, require_own, transaction

if TYPE_CHECKING:
    from memory_assets.stores.catalog.records import RecordIds, Records

State = Literal["restored", "begun", "erased", "done", "leaving", "left"]
"""The state of a session. restored: a copy of the tombstones named it, and this memory may have it;
begun: its names are still in the catalogue, so that an interrupted forgetting can be completed;
erased: only the catalogue's file is still to be rewritten. leaving and left are begun and erased
for sessions that may be ingested again, which keep no tombstone."""

FILE_NAME = "forgotten.db"
"""Where in the data directory the tombstones are."""
_CUT_LOCK = "forgotten.cut.lock"

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_HASH_BYTES = 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (recognised_by BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    id BLOB PRIMARY KEY, state TEXT NOT NULL, forgotten_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owned_records (
    family BLOB NOT NULL, id BLOB NOT NULL, said BLOB NOT NULL, PRIMARY KEY (family, id, said)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS travelling (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (hash BLOB PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS excluded (line TEXT PRIMARY KEY) WITHOUT ROWID;
"""
"""`sessions.forgotten_at`: a moment in ISO 8601, of earlier versions a day. A row whose id is the
bytes of a travelling name was taken over from a copy of another key.
`travelling`: the forgotten sessions as machines with other keys know them (`travelling_name`).
`owned_records`: keyed hashes of a record's family, of its id, and of its id with what it
says (empty where that was not known). `texts`: `redaction.forgotten_texts.hash_of_text` of each
text that was cut, `begun` until no file has it. `excluded`: lines of `excluded.txt`."""
_OF_FIRST_VERSION = "SELECT 1 FROM sqlite_master WHERE name = 'records'"
_HAS_SESSIONS = "SELECT 1 FROM sqlite_master WHERE name = 'sessions'"
_HAS_TEXTS = "SELECT 1 FROM sqlite_master WHERE name = 'texts'"
_UNFINISHED = "SELECT 1 FROM sessions WHERE state != 'done' LIMIT 1"
_UNFINISHED_TEXTS = "SELECT hash FROM texts WHERE state != 'done'"
_EXCLUDED = (
    "INSERT INTO excluded SELECT line",
    "FROM other.excluded WHERE line NOT IN (SELECT line FROM main.excluded)",
)
_OF_OUR_KEY = (
    (
        "INSERT OR REPLACE INTO sessions SELECT id, 'restored', forgotten_at",
        "FROM other.sessions o WHERE o.state NOT IN ('leaving', 'left') AND NOT EXISTS (SELECT 1"
        " FROM main.sessions m WHERE m.id = o.id AND m.forgotten_at >= o.forgotten_at)",
    ),
    (
        "INSERT INTO texts SELECT hash, 'begun'",
        "FROM other.texts WHERE hash NOT IN (SELECT hash FROM main.texts)",
    ),
    _EXCLUDED,
)
"""For each part of a copy: the insertion, and the query of the rows that are missing here."""
_OF_ANOTHER_KEY = (
    (
        "INSERT INTO sessions SELECT from_hex(name), 'restored',"
        " (SELECT MAX(forgotten_at) FROM other.sessions)",
        "FROM other.travelling WHERE from_hex(name) NOT IN (SELECT id FROM main.sessions)",
    ),
    _EXCLUDED,
)


@dataclass(frozen=True)
class Forgotten:
    """The sessions that were forgotten at the time of reading."""

    key: bytes = field(default=b"", repr=False)
    times: Mapping[bytes, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.times)

    def __contains__(self, session: object) -> bool:
        """Whether a (project, session id) is among them."""
        return isinstance(session, tuple) and self.at(*session) is not None

    def at(self, project: str, session_id: str) -> datetime | None:
        """Return when a session was forgotten (of earlier versions, the day), or None."""
        if not self.times:
            return None
        keyed = (_session_key(key, project, session_id) for key in (self.key, b""))
        at = next((self.times[mark] for mark in keyed if mark in self.times), None)
        return None if at is None else datetime.fromisoformat(at).replace(tzinfo=UTC)


class Tombstones:
    """The tombstones in one file, which need not exist. Each call opens and closes it."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key

    def __repr__(self) -> str:
        return f"Tombstones({str(self.path)!r})"

    def forgotten(self, state: State | None = None) -> Forgotten:
        """Return all forgotten sessions, or those at one state."""
        sql = "SELECT id, forgotten_at FROM sessions WHERE ? IS NULL OR state = ?"
        return Forgotten(self._key, dict(self._rows(sql, state, state)))

    def begin(
        self,
        sessions: Iterable[tuple[str, str]],
        records: Iterable[tuple[int, Records]] = (),
        state: Literal["begun", "leaving"] = "begun",
    ) -> None:
        """Note that these (project, session id) are to be forgotten since now, and the records they
        owned, by the family that they share with their forks."""
        now, keys = datetime.now(UTC).isoformat(), list(sessions)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection, transaction(connection):
            connection.executemany(
                "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)",
                [(_session_key(self._key, *session), state, now) for session in keys],
            )
            if state == "begun":
                names = ((travelling_name(*session),) for session in keys)
                connection.executemany("INSERT OR IGNORE INTO travelling VALUES (?)", names)
            for family, owned in records:
                keyed_family = self.family_key(family)
                connection.executemany(
                    "INSERT OR IGNORE INTO owned_records VALUES (?, ?, ?)",
                    [(keyed_family, *keyed) for keyed in self._keyed_records(owned)],
                )

    def begin_texts(self, hashes: Iterable[bytes]) -> None:
        """Note that texts are to be cut, by the hashes that the catalogue has of them."""
        with self._connected() as connection, transaction(connection):
            rows = ((hash_,) for hash_ in hashes)
            connection.executemany("INSERT OR REPLACE INTO texts VALUES (?, 'begun')", rows)

    def end_texts(self, hashes: Iterable[bytes]) -> None:
        """Note that no file has any of these texts, which were to be cut."""
        with self._connected() as connection, transaction(connection):
            rows = ((hash_,) for hash_ in hashes)
            connection.executemany("UPDATE texts SET state = 'done' WHERE hash = ?", rows)

    def texts(self) -> frozenset[bytes]:
        """Return the hashes of the texts that were cut, or are to be."""
        return frozenset(row[0] for row in self._rows("SELECT hash FROM texts"))

    def texts_to_cut(self) -> frozenset[bytes]:
        """Return the hashes of the texts that files may still have: their cutting is not finished,
        or a copy of the tombstones named them."""
        return frozenset(row[0] for row in self._rows(_UNFINISHED_TEXTS))

    def has_sessions_to_forget(self) -> bool:
        """Whether a session's forgetting was not completed."""
        return bool(self._rows(_UNFINISHED))

    def exclude(self, lines: Iterable[str]) -> None:
        """Note lines of `excluded.txt`."""
        with self._connected() as connection, transaction(connection):
            rows = ((line,) for line in lines)
            connection.executemany("INSERT OR IGNORE INTO excluded VALUES (?)", rows)

    def excluded(self) -> list[str]:
        """Return the lines that were noted of `excluded.txt`."""
        return [str(row[0]) for row in self._rows("SELECT line FROM excluded")]

    def take_over(self, other: Path) -> bool:
        """Add the entries of other tombstones that are missing here, to be forgotten; return
        whether there were any. From a file of another key come only sessions and excluded lines,
        from an unreadable file nothing."""
        with suppress(StoreError):
            Tombstones(other, self._key).texts()  # has the tables of today from now on
        with (
            self._connected() as connection,
            suppress(sqlite3.Error),
            _attached(connection, other),
        ):
            connection.create_function("from_hex", 1, bytes.fromhex)
            key = connection.execute("SELECT recognised_by FROM other.key").fetchone()
            ours = key is not None and key[0] == self._key_mark
            parts = _OF_OUR_KEY if ours else _OF_ANOTHER_KEY
            missing = [
                f"{insert} {where}"
                for insert, where in parts
                if connection.execute(f"SELECT 1 {where} LIMIT 1").fetchone()
            ]
            if not missing:
                return False
            with transaction(connection):
                for statement in missing:
                    connection.execute(statement)
                for table in ("travelling", "owned_records")[: 1 + ours]:
                    connection.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
            return True
        return False

    def is_of_our_key(self) -> bool:
        """Whether the file is there and of this install key."""
        try:
            return self.path.exists() and self._rows("SELECT 1") != []
        except StoreError:
            return False

    def lift(self) -> None:
        """Delete the entries of sessions that have left, so that they can be ingested again."""
        with self._connected() as connection, transaction(connection):
            connection.execute("DELETE FROM sessions WHERE state = 'left'")

    def advance(self, before: State, after: State) -> None:
        """Move every session in state `before` to state `after`."""
        with self._connected() as connection, transaction(connection):
            connection.execute("UPDATE sessions SET state = ? WHERE state = ?", (after, before))

    def travelling(self) -> frozenset[str]:
        """Return the forgotten sessions, as `travelling_name` names them."""
        return frozenset(str(row[0]) for row in self._rows("SELECT name FROM travelling"))

    def families(self) -> frozenset[bytes]:
        """Return the families, as `family_key` names them, that have forgotten records."""
        return frozenset(row[0] for row in self._rows("SELECT DISTINCT family FROM owned_records"))

    def family_key(self, family: int) -> bytes:
        """Return the keyed name of a family."""
        return self._keyed("family of owned", family.to_bytes(8, "little", signed=True))

    def records_among(self, family: int, records: Records) -> RecordIds:
        """Return the ids of those of a file's records that forgotten sessions of its family
        owned: id and content are equal, as far as the contents are known."""
        import numpy as np  # most commands only look for an unfinished forgetting

        sql = "SELECT id, said FROM owned_records WHERE family = ?"
        rows = self._rows(sql, self.family_key(family))
        if not rows:
            return np.empty(0, dtype=np.uint64)
        by_id = {row[0] for row in rows}
        of_unknown = {row[0] for row in rows if not row[1]}
        exactly = {row[1] for row in rows}
        matches = [
            keyed in (of_unknown if content_key else by_id)
            or (content_key != b"" and content_key in exactly)
            for keyed, content_key in self._keyed_records(records)
        ]
        ids: RecordIds = records["id"]
        owned = np.array(matches, dtype=bool)
        return np.setdiff1d(ids[owned], ids[~owned])

    def _keyed_records(self, records: Records) -> Iterator[tuple[bytes, bytes]]:
        for record_id, content in zip(records["id"], records["content"], strict=True):
            value = int(record_id).to_bytes(8, "little")
            with_content = value + int(content).to_bytes(4, "little") if content else b""
            yield (
                self._keyed("owned", value),
                self._keyed("says", with_content) if with_content else b"",
            )

    @property
    def _key_mark(self) -> bytes:
        """A hash by which the install key is recognised."""
        return self._keyed("key", b"")

    def _keyed(self, kind: str, value: bytes) -> bytes:
        return _keyed(self._key, kind.encode(), value)

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query, none where there is no file."""
        if not self.path.exists():
            return []
        with self._connected() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(connect(self.path)) as connection:
                require_own(self.path, connection, _SCHEMA)
                connection.executescript(_SCHEMA)
                self._require_key(connection)
                if connection.execute(_OF_FIRST_VERSION).fetchone():
                    raise StoreError(
                        f"{self.path} was written by version 0.1.0, whose memories are not read "
                        "any more. Move the data directory away and run `memory ingest`."
                    )
                yield connection
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot use {self.path}: {type(error).__name__}. It says what was forgotten: "
                "without it, forgotten sessions would be ingested again. Restore it."
            ) from error

    def _require_key(self, connection: sqlite3.Connection) -> None:
        mark = self._key_mark
        (count,) = connection.execute("SELECT COUNT(*) FROM key").fetchone()
        if not count:
            with transaction(connection):
                connection.execute(
                    "INSERT INTO key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM key)", (mark,)
                )
        (noted,) = connection.execute("SELECT recognised_by FROM key").fetchone()
        if noted != mark:
            raise StoreError(
                f"{self.path} was written under another install key, so nobody can tell any "
                "more which sessions were forgotten. Restore the key; or move the file away, "
                "knowing that they will be ingested again."
            )


@contextmanager
def _attached(connection: sqlite3.Connection, other: Path) -> Iterator[None]:
    """Attach the database of other tombstones as `other` for a block."""
    connection.execute("ATTACH DATABASE ? AS other", (str(other),))
    try:
        yield
    finally:
        connection.execute("DETACH DATABASE other")


@contextmanager
def cutting(data_dir: Path, seconds: float) -> Iterator[None]:
    """Hold the lock for cutting texts during a block; while it is held, the texts in state begun
    are being cut.

    Raises:
        StoreBusy: another process still cuts a text after so many seconds.
    """
    busy = "another process is cutting a text out of this memory; wait for it"
    with locked(data_dir / _CUT_LOCK, seconds, busy):
        yield


def unfinished(path: Path) -> bool:
    """Whether the tombstones at `path` have an interrupted forgetting; needs no key. False without
    a file, or for an empty one of a killed process."""
    if not path.exists():
        return False
    try:
        with closing(connect(path)) as connection:
            if not connection.execute(_HAS_SESSIONS).fetchone():
                return False
            if connection.execute(_UNFINISHED).fetchone():
                return True
            has_texts = connection.execute(_HAS_TEXTS).fetchone() is not None
            return has_texts and connection.execute(_UNFINISHED_TEXTS).fetchone() is not None
    except sqlite3.Error as error:
        raise StoreError(f"cannot use {path}: {type(error).__name__}. Restore it.") from error


def is_unique(session_id: str) -> bool:
    """Whether an id names one session wherever its file lies: it holds a UUID."""
    return _UUID.search(session_id) is not None


def travelling_name(project: str, session_id: str) -> str:
    """Return a hash of a session without a key, so that other machines can compare it. Nobody can
    guess its UUID; of a session without one, who knows project and name can tell that it was
    forgotten."""
    return _session_key(b"", project, session_id).hex()


def _session_key(key: bytes, project: str, session_id: str) -> bytes:
    """Return the keyed hash of a session; the project counts only if the session id has no UUID."""
    where: Sequence[str] = (session_id,) if is_unique(session_id) else (project, session_id)
    return _keyed(key, b"session", "\0".join(where).encode("utf-8", "surrogatepass"))


def _keyed(key: bytes, kind: bytes, value: bytes) -> bytes:
    return blake2b(
        kind + b"\0" + value, key=key, digest_size=_HASH_BYTES, person=b"tombstones"
    ).digest()
