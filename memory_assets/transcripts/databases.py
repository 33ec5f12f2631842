"""Agents' SQLite databases, opened to read only.

A database that its agent writes is read in one transaction, its write-ahead log included: recent
turns may be in it alone. Nothing is written into it. Where its directory cannot be written, which
SQLite needs for reading a log, database and log are read into memory, and nothing of them reaches a
disk. The format of the log is that of sqlite.org/fileformat2.html, section 4: a header of 32 bytes,
then frames of 24 bytes and a page. A frame counts if its salts are the header's and its checksum,
which goes on from frame to frame, is right; frames count up to the last one that ends a
transaction.
"""

from __future__ import annotations

import os
import sqlite3
import struct
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
MAX_COPIED_BYTES = 512 << 20
_MAGIC = b"SQLite format 3\0"
_STEPS = 100_000
_NOT_BESIDE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it may write nothing beside a database."""
_ATTEMPTS = 5

_DAMAGED = "the database is damaged"
_RESTORE = "let its agent repair it, or restore it; it is read again when it changes"
_NO_DATABASE = "it is no SQLite database"
_OTHER_SCHEMA = "its tables are not those of a version that is known here"
_UPDATE = "update memory_assets; the sessions of other stores are read meanwhile"
_TOO_SLOW = "a question to it did not end"
_TOO_LARGE = "its directory cannot be written, and it is too large to be read into memory"
_WRITABLE = "give the user who runs `memory` the right to write the directory"


def quoted(name: str) -> str:
    """Return a name of a table or column as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def bytes_of(value: str) -> str:
    """Return the SQL for the bytes of a value; where SQLite can, it is not read for it."""
    return f"octet_length({value})" if LENGTH != "length" else f"length(CAST({value} AS BLOB))"


def wal_of(path: Path) -> Path:
    """Return where the write-ahead log of a database is, if it has one."""
    return path.with_name(f"{path.name}-wal")


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

    def require(self, table: str, names: str) -> frozenset[str]:
        """Return a table's columns; raise `DamagedTranscript` if it has not all of these."""
        columns = self.columns(table)
        if not columns.issuperset(names.split()):
            raise _refused(self._path, _OTHER_SCHEMA, _UPDATE)
        return columns


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open a database for one read transaction.

    Raises:
        TranscriptError: it cannot be opened or read.
        BusyTranscript: its agent holds it.
        DamagedTranscript: it is damaged, or no database.
    """
    with closing(_connection(path)) as connection, _named(path):
        connection.text_factory = _text
        until = time.monotonic() + MAX_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        for pragma in ("trusted_schema = 0", "query_only = 1", "cell_size_check = 1"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        yield Database(path, connection)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _connection(path: Path) -> sqlite3.Connection:
    _require_database(path)
    if not os.access(path.parent, os.W_OK):
        return _copied(path)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with _named(path):
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if error.sqlite_errorcode & 0xFF not in _NOT_BESIDE:
                raise
            return _copied(path)
        return connection


def _require_database(path: Path) -> None:
    """Raise an error if a file cannot be read, or is no database; an empty one is."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
    except OSError as error:
        raise unreadable(path, error) from error
    if head and head != _MAGIC:
        raise _refused(path, _NO_DATABASE, _RESTORE)


def _copied(path: Path) -> sqlite3.Connection:
    """Return a database in memory, with what its log had at the same moment."""
    for _ in range(_ATTEMPTS):
        before = token_of(path)
        try:
            pages = _bytes(path)
            log = _bytes(wal_of(path)) if wal_of(path).exists() else b""
        except OSError as error:
            raise unreadable(path, error) from error
        if token_of(path) == before:
            break
    else:
        raise BusyTranscript(f"{printable(path)}: {BusyTranscript.reason}")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if pages or log:
        with _named(path):
            connection.deserialize(with_wal(pages, log))
    return connection


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > MAX_COPIED_BYTES:
        raise _refused(path, _TOO_LARGE, _WRITABLE)
    return path.read_bytes()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors, whose messages may quote what is stored, into ours."""
    try:
        yield
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


_LOG_HEADER, _FRAME = 32, 24
_LOG_MAGIC = 0x377F0682
"""The last bit says that checksums are made of big-endian words."""
_MASK = 0xFFFFFFFF
_WRITE_VERSION, _READ_VERSION = 18, 19
"""Bytes of a database's header: 2 where it uses a log, 1 where not."""


def with_wal(database: bytes, wal: bytes) -> bytes:
    """Return a database with the transactions of its log, as one that uses none."""
    pages = bytearray(database)
    size = _apply(pages, wal)
    if size:
        del pages[size:]
    if len(pages) > _READ_VERSION:
        pages[_WRITE_VERSION] = pages[_READ_VERSION] = 1
    return bytes(pages)


def _apply(pages: bytearray, wal: bytes) -> int:
    """Write the pages of finished transactions, and return the database's size; 0 for none."""
    if len(wal) < _LOG_HEADER:
        return 0
    magic, _, page_size, _, *salts, first, second = struct.unpack(">8I", wal[:_LOG_HEADER])
    if magic & ~1 != _LOG_MAGIC or not 512 <= page_size <= 65536 or page_size & (page_size - 1):
        return 0
    order = ">" if magic & 1 else "<"
    sums = _checksum(wal[:24], order, 0, 0)
    if sums != (first, second):
        return 0
    size, waiting = 0, dict[int, int]()
    for at in range(_LOG_HEADER, len(wal) - _FRAME - page_size + 1, _FRAME + page_size):
        number, commit, *own_salts, one, two = struct.unpack(">6I", wal[at : at + _FRAME])
        start = at + _FRAME
        sums = _checksum(wal[at : at + 8], order, *sums)
        sums = _checksum(wal[start : start + page_size], order, *sums)
        if own_salts != salts or sums != (one, two) or not number:
            break
        waiting[number] = start
        if commit:
            size = commit * page_size
            pages.extend(bytes(max(size - len(pages), 0)))
            for page, place in waiting.items():
                where = (page - 1) * page_size
                if where < size:
                    pages[where : where + page_size] = wal[place : place + page_size]
            waiting.clear()
    return size


def _checksum(data: bytes, order: str, first: int, second: int) -> tuple[int, int]:
    for one, two in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & _MASK
        second = (second + two + first) & _MASK
    return first, second
