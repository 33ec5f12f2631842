"""Agents' SQLite databases, opened to read only.

A database that its agent writes is read in one transaction, its write-ahead log included: recent
turns may be in it alone. Nothing is written into it. Where nothing can be written beside it, and
no agent has it open, SQLite reads it without locks, its log included
(sqlite.org/wal.html#use_of_wal_without_shared_memory); if it changed meanwhile, that is told as
being held by its agent. What the end of its agent cut off is not read.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from memory_assets.errors import BusyTranscript, DamagedTranscript, printable, unreadable

BUSY_SECONDS = 5.0
MAX_SECONDS = 120.0
"""A question that takes longer is given up: a view may never end."""
LENGTH = "octet_length" if sqlite3.sqlite_version_info >= (3, 43) else "length"
"""The function of SQL that measures a value; the first does not read it."""
_MAGIC = b"SQLite format 3\0"
_LOGS = 2
"""The version of a database that has a log, in the bytes after `_MAGIC` and a page's size."""
_STEPS = 100_000
_NOT_BESIDE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it may write nothing beside a database."""
_WITHOUT_LOCKS = "vfs=win32-none" if os.name == "nt" else "vfs=unix-none"
"""SQLite's own way to files without locks (sqlite.org/vfs.html)."""

_DAMAGED = "the database is damaged"
_RESTORE = "let its agent repair it, or restore it; it is read again when it changes"
_CUT_OFF = "its agent ended while it wrote"
_START = "start its agent, which takes the change back; it is read again when it changes"
_NO_DATABASE = "it is no SQLite database"
_OTHER_SCHEMA = "its tables are not those of a version that is known here"
_UPDATE = (
    "if another agent wrote it, move it to its directory; else update memory_assets; the sessions "
    "of other stores are read meanwhile"
)
_TOO_SLOW = "a question to it did not end"


def quoted_name(name: str) -> str:
    """Return a name of a table or column as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def bytes_of(value: str) -> str:
    """Return the SQL for the bytes of a value; where SQLite can, it is not read for it."""
    return f"octet_length({value})" if LENGTH != "length" else f"length(CAST({value} AS BLOB))"


def wal_of(path: Path) -> Path:
    """Return where the write-ahead log of a database is, if it has one: beside what a link leads
    to."""
    real = path.resolve()
    return real.with_name(f"{real.name}-wal")


def token_of(path: Path) -> str:
    """Return a token that changes whenever a database does: size, time and inode of it and its
    log, at the cost of two `stat`s. Raise `TranscriptError` if it is not there."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        log = wal_of(path).stat()
    except OSError:
        return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}:{log.st_size}:{log.st_mtime_ns}"


class Database:
    """A database in one read transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def rows(self, sql: str, *values: object) -> Iterator[dict[str, Any]]:
        """Yield rows by the names of their columns.

        Raises:
            BusyTranscript: its agent holds it.
            DamagedTranscript: it cannot be read.
        """
        with _named(self._path):
            cursor = self._connection.execute(sql, values)
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a table's columns; none if there is no such table, or a view."""
        tables = self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table)
        if not list(tables):
            return frozenset()
        return frozenset(str(row["name"]) for row in self.rows(f'PRAGMA table_info("{table}")'))

    def row_number(self, table: str) -> str:
        """Return the SQL for the number that a row of a table has, in the order in which they came;
        "NULL" for a table WITHOUT ROWID."""
        # Of such a table, and of no other, the pragma tells the columns of the key.
        return "NULL" if list(self.rows(f'PRAGMA index_info("{table}")')) else "rowid"

    def require(self, table: str, names: str) -> None:
        """Raise `DamagedTranscript` if a table has not all of these columns."""
        if not self.columns(table).issuperset(names.split()):
            raise _refused(self._path, _OTHER_SCHEMA, _UPDATE)

    def select(
        self, table: str, names: str, which: str = "", *values: object
    ) -> Iterator[dict[str, Any]]:
        """Yield these columns of a table's rows, None for one that the table has not, as `rows`
        does. `which` is what follows in SQL."""
        columns = self.columns(table)
        shown = (name if name in columns else f"NULL AS {name}" for name in names.split())
        yield from self.rows(f"SELECT {', '.join(shown)} FROM {table} {which}", *values)


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Open a database for one read transaction.

    Raises:
        TranscriptError: it cannot be opened or read.
        BusyTranscript: its agent holds it.
        DamagedTranscript: it is damaged, or no database.
    """
    token = token_of(path)
    has_log = _has_log(path)
    connection, is_locked = _connect_for_reading(path, has_log)
    with _unchanged(path, None if is_locked else token), closing(connection), _named(path):
        connection.text_factory = _text
        until = time.monotonic() + MAX_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        for pragma in ("trusted_schema = 0", "query_only = 1", "cell_size_check = 1"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        yield Database(path, connection)


@contextmanager
def _unchanged(path: Path, token: str | None) -> Iterator[None]:
    """Raise `BusyTranscript` if a database has another token after the block than this, also for
    what looks like damage: it is what was half written."""
    try:
        yield
    except DamagedTranscript:
        if token in (None, token_of(path)):
            raise
    if token not in (None, token_of(path)):
        raise BusyTranscript(f"{printable(path)}: {BusyTranscript.reason}")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _connect_for_reading(path: Path, has_log: bool) -> tuple[sqlite3.Connection, bool]:
    """Return a connection to a database, and whether SQLite keeps its writers out."""
    log = wal_of(path)
    with _named(path):
        connection = _connect(path)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if error.sqlite_errorcode & 0xFF not in _NOT_BESIDE:
                raise
            if not has_log:
                raise _refused(path, _CUT_OFF, _START) from None
            connection = _connect(path, "immutable=1" if _is_empty(log) else _WITHOUT_LOCKS)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            return connection, False
        return connection, True


def _is_empty(log: Path) -> bool:
    """Return whether no turn is in a log; raise `TranscriptError` if it cannot be read."""
    try:
        with log.open("rb") as file:
            return not file.read(1)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise unreadable(log, error) from error


def _connect(path: Path, parameters: str = "") -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro&{parameters}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _has_log(path: Path) -> bool:
    """Return whether a database keeps a write-ahead log; raise an error if it cannot be read, or is
    no database; an empty file is."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC) + 3)
    except OSError as error:
        raise unreadable(path, error) from error
    if head and not head.startswith(_MAGIC):
        raise _refused(path, _NO_DATABASE, _RESTORE)
    return head[-1:] == bytes([_LOGS])


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors, whose messages may quote what is stored, into ours."""
    try:
        yield
    except UnicodeDecodeError:  # of a damaged schema, which SQLite's own message quotes
        raise _refused(path, _DAMAGED, _RESTORE) from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise _refused(path, _TOO_SLOW, _RESTORE) from None
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            raise BusyTranscript(f"{printable(path)}: {BusyTranscript.reason}") from None
        if code == sqlite3.SQLITE_ERROR:  # no such table or column
            raise _refused(path, _OTHER_SCHEMA, _UPDATE) from None
        raise _refused(path, _DAMAGED, _RESTORE) from None


def _refused(path: Path, reason: str, remedy: str) -> DamagedTranscript:
    return DamagedTranscript(f"{printable(path)}: {reason}", reason, remedy)
