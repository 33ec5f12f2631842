"""SQLite files: opening them, and rewriting them so that no byte of what was deleted stays.

A deleted row stays readable in free pages, in the write-ahead log and, word by word, in
full-text segments.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from memory_assets.errors import StoreBusy, StoreError, StoreReadOnly
from memory_assets.stores.files.shared import is_writable

IN_MEMORY = Path(":memory:")
BUSY_SECONDS = 30.0
_PAUSE_SECONDS = 0.01
_UNKNOWN = " It is not known whether the change was stored; to make it once more does no harm."
_CREATED = re.compile(r"CREATE TABLE IF NOT EXISTS (?P<name>\w+)")
_IN_USE = "stop it, then run `memory status`, which completes the forgetting"


def connect(
    path: Path,
    *,
    seconds: float = BUSY_SECONDS,
    mode: Literal["ro", "rw", "rwc"] = "rwc",
    unchanging: bool = False,
) -> sqlite3.Connection:
    """Return a connection without implicit transactions, which threads may share: read-only, to
    a database that is there, or to one that is created if need be; to one that is in no file if
    the path is `IN_MEMORY`. A lock of another process is awaited for `seconds`; `unchanging`: there
    is none, as nobody can write the file.

    Raises:
        sqlite3.Error: it cannot be opened, or its schema is damaged or somebody else's.
    """
    more = "&immutable=1" if unchanging else ""
    connection = sqlite3.connect(
        "file::memory:" if path == IN_MEMORY else f"{path.absolute().as_uri()}?mode={mode}{more}",
        uri=True,
        timeout=seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        kinds = {kind for kind, _ in connection.execute("SELECT type, sql FROM sqlite_master")}
        if not kinds.isdisjoint(("trigger", "view")):  # a view may have rows without end
            raise sqlite3.DatabaseError("it has views or triggers, which nothing here makes")
    except (UnicodeDecodeError, sqlite3.Error) as error:
        connection.close()
        if isinstance(error, sqlite3.Error) and "decode" not in str(error):
            raise
        # Of a schema that cannot be decoded; Python then fails at SQLite's own error, which quotes.
        raise sqlite3.DatabaseError("malformed database schema") from None
    if mode == "ro":  # its directory may be one in which nothing can be written
        connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def connect_read_only(path: Path, seconds: float) -> sqlite3.Connection | None:
    """Return a connection to a database in a directory that cannot be written, to read it as it
    is; None where it can be, or where there is no database. SQLite keeps its write-ahead log
    there, unless it is told that nobody changes the file."""
    if not path.exists() or is_writable(path.parent):
        return None
    has_log = path.with_name(f"{path.name}-wal").exists()
    return connect(path, seconds=seconds, mode="ro", unchanging=not has_log)


def open_shared(
    path: Path, schema: str, remedy: str, *, seconds: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Return a connection to a database that several processes write. The script `schema` creates
    the tables that are missing; a lock is awaited for `seconds`. Where the directory cannot be
    written, it is read as it is.

    Raises:
        StoreBusy, StoreError: the file cannot be used, or is another program's.
    """
    with sqlite_errors(path, remedy):
        if (reading := connect_read_only(path, seconds)) is not None:
            return reading
        make_directory_of(path)
        connection = connect(path, seconds=seconds)
        require_own(path, connection, schema)
        use_write_ahead_log(connection, seconds)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(schema)
    return connection


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float = BUSY_SECONDS) -> None:
    """Let a database have a write-ahead log. While another process begins to write into it, as
    where both are the first to open it, SQLite fails at once, whatever the busy timeout; so it is
    asked again for `seconds`."""
    end = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def require_own(path: Path, connection: sqlite3.Connection, schema: str) -> None:
    """Close the connection and raise `StoreError` if a database has tables, but not the first one
    that the script `schema` creates: it is another program's, to which a link in the data directory
    may lead, and nothing is written into it."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    first = _CREATED.search(schema)
    if names and first is not None and first["name"] not in names:
        connection.close()
        raise StoreError(
            f"{path} is a database of another program, so nothing is written into it. Move it, or "
            "the link to it, away."
        )


def make_directory_of(path: Path) -> None:
    """Make the directory of a database; raise `StoreError` if that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {path}: {error.strerror}") from None


class SqliteStore:
    """A store in one SQLite file, for several threads. Errors of SQLite are raised as errors of
    this project, with a `remedy`.

    Raises:
        StoreBusy, StoreError: by each method; the file cannot be used.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, remedy: str) -> None:
        self.path = path
        self.connection = connection
        self.lock = threading.RLock()
        self._remedy = remedy

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def rows(self, sql: str, *parameters: object) -> list[Any]:
        """Return the rows of a query."""
        with self.lock, sqlite_errors(self.path, self._remedy):
            return self.connection.execute(sql, parameters).fetchall()

    def tuples(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query as tuples, which are unpacked in half the time."""
        with self.lock, sqlite_errors(self.path, self._remedy):
            cursor = self.connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, parameters).fetchall()

    def value(self, sql: str, *parameters: object) -> Any:
        """Return the first column of a query's first row, None where there is no row."""
        rows = self.rows(sql, *parameters)
        return rows[0][0] if rows else None

    def select(self, table: str, columns: str = "*", order: str = "", **equal: Any) -> list[Any]:
        """Return columns of the rows that have these values, in an order; None is any value."""
        where, parameters = _where(
            {name: value for name, value in equal.items() if value is not None}
        )
        end = f" ORDER BY {order}" if order else ""
        return self.rows(f"SELECT {columns} FROM {table}{where}{end}", *parameters)

    def find(self, table: str, column: str, **equal: Any) -> Any:
        """Return a column of the first row that has these values; None where there is none."""
        rows = self.select(table, column, **equal)
        return rows[0][0] if rows else None

    def delete(self, table: str, **equal: object) -> int:
        """Delete the rows that have these values, in a transaction; return their number."""
        where, parameters = _where(equal)
        return self.write(f"DELETE FROM {table}{where}", *parameters)

    def write(self, sql: str, *parameters: object) -> int:
        """Execute one statement in a transaction; return the number of rows it changed."""
        with self.transaction() as connection:
            return connection.execute(sql, parameters).rowcount

    def put(self, table: str, **values: object) -> None:
        """Insert or replace one row, in a transaction."""
        marks = ",".join("?" * len(values))
        self.write(
            f"INSERT OR REPLACE INTO {table} ({', '.join(values)}) VALUES ({marks})",
            *values.values(),
        )

    def cut_log(self) -> None:
        """Move what is in the log to the file, so that nothing deleted stays in it. It stays as it
        is while another process reads."""
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock for a block: all of it happens, or none. Within another
        transaction of this thread the block is part of that one."""
        with self.lock:
            if self.connection.in_transaction:
                yield self.connection
                return
            with sqlite_errors(self.path, self._remedy), transaction(self.connection):
                yield self.connection


def _where(equal: Mapping[str, object]) -> tuple[str, list[object]]:
    conditions = " AND ".join(f"{name} = ?" for name in equal)
    return f" WHERE {conditions}" if equal else "", list(equal.values())


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Hold SQLite's write lock for a block: all of it happens, or none. A transaction of the
    `kind` DEFERRED sees one state of the file, and locks nothing until it writes."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        _commit(connection)
    except BaseException:
        if connection.in_transaction:  # of some errors SQLite has undone it by itself
            connection.execute("ROLLBACK")
        raise


def _commit(connection: sqlite3.Connection) -> None:
    """Commit, or raise an error: the transaction did not happen, or the error has a note that this
    is not known.

    If the log was written and only flushing it to the disk failed, the next process to open the
    database would find the transaction. So another write replaces it in the log, of what nobody
    changes meanwhile.
    """
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")  # of some errors SQLite has undone it by itself
        try:
            (number,) = connection.execute("PRAGMA application_id").fetchone()
            connection.execute(f"PRAGMA application_id = {number}")
        except sqlite3.Error:
            if error.sqlite_errorcode == sqlite3.SQLITE_IOERR_FSYNC:
                error.add_note(_UNKNOWN)
        raise


@contextmanager
def sqlite_errors(
    path: Path, remedy: str, if_busy: str = "wait for it or stop it"
) -> Iterator[None]:
    """Raise errors of SQLite as errors of this project."""
    try:
        yield
    except sqlite3.Error as error:
        unknown = "".join(getattr(error, "__notes__", ()))
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise StoreBusy(f"{path} is locked by another process; {if_busy}") from error
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            raise StoreReadOnly(
                f"cannot write {path}: it is read-only here. What is there can be searched; "
                f"correct the permissions to change it.{unknown}"
            ) from error
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
            raise StoreError(
                f"cannot write {path}: the disk is full. It is not damaged: free space, then run "
                f"the command again.{unknown}"
            ) from error
        message = "a text is damaged" if "decode" in str(error) else error  # or it would be quoted
        name = type(error).__name__
        raise StoreError(f"cannot use {path} ({name}: {message}). {remedy}{unknown}") from error


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that is there, for deleting from it.

    Raises:
        StoreBusy, StoreError: it cannot be used.
    """
    remedy = "Correct the cause, then run `memory status`, which completes the forgetting."
    with sqlite_errors(path, remedy, _IN_USE), closing(connect(path, mode="rw")) as connection:
        connection.execute("PRAGMA temp_store = MEMORY")
        yield connection


def tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each table by its name."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
        for (name,) in names
    }


def compact(path: Path, *, seconds: float = BUSY_SECONDS) -> None:
    """Rewrite a database so that it holds nothing but its rows, and cut its log.

    Other processes may have it open, but have no transaction for longer than `seconds`.

    Raises:
        StoreBusy: one had; what was deleted may still be in the file.
    """
    with opened(path) as connection:
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise StoreBusy(
                f"another process reads {path}, so that its log cannot be cut; {_IN_USE}"
            )
