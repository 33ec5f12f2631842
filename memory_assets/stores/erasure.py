"""Erasing from SQLite files so that no byte of what was deleted stays in them.

A deleted row stays readable in free pages, in the write-ahead log and, word by word, in
full-text segments. Here rows are deleted, the full-text tables merged, the file
rewritten and the log cut to nothing. Whose file it is does not matter: the tables are
found, not listed, so that a table added later is covered.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.stores.catalog.connection import transaction

_BUSY_SECONDS = 30.0
_MAGIC = b"SQLite format 3\0"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class Names:
    """Names to be erased, and whether a value holds one of them.

    `session_ids` count wherever they stand (by their UUID, if they hold one); `projects`,
    which may be short and begin alike, only as whole words.
    """

    def __init__(self, session_ids: Iterable[str], projects: Iterable[str] = ()) -> None:
        self.session_ids = tuple(sorted(set(session_ids)))
        self.projects = tuple(sorted(set(projects)))
        # Thousands of ids would make one slow expression: UUIDs are looked up in a set.
        found = {name: _UUID.search(name) for name in self.session_ids}
        self._uuids = frozenset(uuid.group().lower() for uuid in found.values() if uuid)
        plain = [name for name, uuid in found.items() if not uuid]
        anywhere = [re.escape(form) for name in plain for form in _spellings(name)]
        whole = [
            rf"(?<![\w-]){re.escape(form)}(?![\w-])"
            for name in self.projects
            for form in _spellings(name)
        ]
        pattern = "|".join(anywhere + whole)
        self._pattern = re.compile(pattern, re.ASCII) if pattern else None

    def __bool__(self) -> bool:
        return bool(self.session_ids or self.projects)

    def __repr__(self) -> str:
        return f"Names({len(self.session_ids)} sessions, {len(self.projects)} projects)"

    def are_in(self, value: object) -> bool:
        """Whether a string, or bytes, holds one of the names."""
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if not isinstance(value, str):
            return False
        if self._uuids and any(
            found.group().lower() in self._uuids for found in _UUID.finditer(value)
        ):
            return True
        return self._pattern is not None and self._pattern.search(value) is not None

    def are_in_file(self, path: Path) -> bool:
        """Whether a file holds one of the names; a file that is gone does not."""
        try:
            return self.are_in(path.read_bytes())
        except FileNotFoundError:
            return False


def _spellings(name: str) -> set[str]:
    """A name as it is, in JSON, in JSON within JSON, and percent-encoded."""
    once = json.dumps(name)[1:-1]
    return {name, once, json.dumps(once)[1:-1], quote(name, safe="")}


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def delete_sessions(
    path: Path, sessions: Sequence[tuple[str, str]], projects: Sequence[str]
) -> int:
    """Delete from every table the rows of these (project, session id), and all rows of
    these projects; return how many.

    Rows of others that mention one of the session ids lose the mention, where the column
    may be empty; else they are deleted too.

    Raises:
        StoreBusy, StoreError: the file cannot be written; nothing is deleted.
    """
    deleted = 0
    with _opened(path) as connection, transaction(connection):
        tables = _tables(connection)
        for table, columns in tables:
            if "session_id" in columns:
                both = "project" in columns
                where = "session_id = ? AND project = ?" if both else "session_id = ?"
                deleted += connection.executemany(
                    f'DELETE FROM "{table}" WHERE {where}',
                    [(name, project) if both else (name,) for project, name in sessions],
                ).rowcount
            if "project" in columns:
                deleted += connection.executemany(
                    f'DELETE FROM "{table}" WHERE project = ?', [(name,) for name in projects]
                ).rowcount
        names = Names(session_id for _, session_id in sessions)
        connection.create_function("names_one", 1, names.are_in)
        for table, _ in tables:
            deleted += _erase_mentions(connection, table)
    return deleted


def _erase_mentions(connection: sqlite3.Connection, table: str) -> int:
    deleted = 0
    for _, column, _, required, _, in_key in connection.execute(f'PRAGMA table_info("{table}")'):
        where = f'WHERE names_one("{column}")'
        if required or in_key:
            deleted += connection.execute(f'DELETE FROM "{table}" {where}').rowcount
        else:
            connection.execute(f'UPDATE "{table}" SET "{column}" = NULL {where}')
    return deleted


def delete_naming(path: Path, names: Names, *, run_ids: Sequence[str] = ()) -> int:
    """Delete from every table the rows that hold a name in any column, and those of
    these runs; return how many."""
    deleted = 0
    with _opened(path) as connection, transaction(connection):
        connection.create_function("names_one", 1, names.are_in)
        for table, columns in _tables(connection):
            naming = " OR ".join(f'names_one("{column}")' for column in columns)
            deleted += connection.execute(f'DELETE FROM "{table}" WHERE {naming}').rowcount
            if "run_id" in columns:
                for run_id in run_ids:
                    deleted += connection.execute(
                        f'DELETE FROM "{table}" WHERE run_id = ?', (run_id,)
                    ).rowcount
    return deleted


def runs_naming(path: Path, names: Names) -> set[str]:
    """Return the `run_id` of every row, of every table that has one, that holds a name."""
    found: set[str] = set()
    with _opened(path) as connection:
        connection.create_function("names_one", 1, names.are_in)
        for table, columns in _tables(connection):
            if "run_id" in columns:
                naming = " OR ".join(f'names_one("{column}")' for column in columns)
                rows = connection.execute(f'SELECT DISTINCT run_id FROM "{table}" WHERE {naming}')
                found.update(str(row[0]) for row in rows if row[0])
    return found


def amend_naming(
    path: Path, table: str, column: str, names: Names, amended: Callable[[str], str]
) -> None:
    """Replace the values of a column that hold a name by what `amended` makes of them."""
    with _opened(path) as connection, transaction(connection):
        connection.create_function("names_one", 1, names.are_in)
        connection.create_function("amended", 1, amended)
        connection.execute(
            f'UPDATE "{table}" SET "{column}" = amended("{column}") WHERE names_one("{column}")'
        )


def blank_naming(path: Path, table: str, columns: Sequence[str], names: Names) -> None:
    """Set these columns to NULL in the rows of a table in which one of them holds a name."""
    with _opened(path) as connection, transaction(connection):
        connection.create_function("names_one", 1, names.are_in)
        there = dict(_tables(connection)).get(table, [])
        present = [column for column in columns if column in there]
        if present:
            blanks = ", ".join(f'"{column}" = NULL' for column in present)
            naming = " OR ".join(f'names_one("{column}")' for column in present)
            connection.execute(f'UPDATE "{table}" SET {blanks} WHERE {naming}')


def compact(path: Path, *, seconds: float = _BUSY_SECONDS) -> None:
    """Rewrite a database so that it holds nothing but its rows, and cut its log.

    Other processes may have it open, but not be amid a transaction for longer than
    `seconds`.

    Raises:
        StoreBusy: somebody was; what was deleted may still be in the file.
    """
    with _opened(path) as connection:
        for table in _fulltext_tables(connection):
            connection.execute(f'INSERT INTO "{table}"("{table}") VALUES(\'optimize\')')
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
        deadline = time.monotonic() + seconds
        while True:
            (blocked, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not blocked:
                return
            if time.monotonic() > deadline:
                raise StoreBusy(
                    f"another process reads {path}, so that its log cannot be cut; stop it, "
                    "then run `memory status`, which completes the forgetting"
                )
            time.sleep(0.05)


def _tables(connection: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    """Return the tables with their columns, without the inner tables of full-text ones."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    fulltext = _fulltext_tables(connection)
    inner = {f"{name}_{part}" for name in fulltext for part in _FULLTEXT_PARTS}
    return [
        (name, [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')])
        for (name,) in rows
        if name not in inner and not name.startswith("sqlite_")
    ]


_FULLTEXT_PARTS = ("data", "idx", "content", "docsize", "config")


def _fulltext_tables(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%USING fts5%'"
    )
    return [row[0] for row in rows]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
            )
        ) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            yield connection
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise StoreBusy(
                f"{path} is in use by another process; stop it, then run `memory status`, "
                "which completes the forgetting"
            ) from None
        raise StoreError(f"cannot erase from {path}: {error}") from None
    except sqlite3.Error as error:
        raise StoreError(f"cannot erase from {path}: {type(error).__name__}") from None
