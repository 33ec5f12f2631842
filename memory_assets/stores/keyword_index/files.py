"""Opening the keyword index: its file and layout; a damaged file is replaced by an empty index."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path

from memory_assets.errors import NotFound
from memory_assets.stores.files.sqlite import (
    connect,
    connect_read_only,
    require_own,
    sqlite_errors,
    use_write_ahead_log,
)
from memory_assets.stores.keyword_index.index import REMEDY, KeywordIndex

FILE_NAME = "keywords.db"
_CACHE_KIB = 16_384
_CHECKPOINT_PAGES = 4_096
"""With SQLite's defaults, 2 MiB of cache and a checkpoint after 1,000 pages, a transaction writes
its pages repeatedly: the postings of 64 rows are on a thousand pages."""
_LAYOUT = "2"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
    block INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, project TEXT NOT NULL,
    session_id TEXT NOT NULL, agent TEXT NOT NULL, place INTEGER NOT NULL,
    rows INTEGER NOT NULL, columns BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS blocks_by_session ON blocks (kind, project, session_id, place);
CREATE TABLE IF NOT EXISTS rows (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL, row_hash TEXT NOT NULL, text TEXT NOT NULL,
    metadata TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS vectors (
    block INTEGER PRIMARY KEY, embedder_id TEXT NOT NULL, data BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS postings (
    term TEXT NOT NULL, block INTEGER NOT NULL, places BLOB NOT NULL,
    PRIMARY KEY (term, block)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS new_postings (
    term TEXT NOT NULL, block INTEGER NOT NULL, places BLOB NOT NULL,
    PRIMARY KEY (term, block)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS terms_of_blocks (block INTEGER PRIMARY KEY, terms TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS digests (block INTEGER PRIMARY KEY, digest TEXT NOT NULL);
"""
"""`rows.row` is block * 64 + position in it. `terms_of_blocks` has the postings to delete with a
block, `digests` a hash of each block as it was written."""


def open_for_writing(path: Path) -> KeywordIndex:
    """Return the index at `path`, created if there is none, and created
    again if it is damaged or of another layout: everything in it is made from the lake.

    Raises:
        StoreError: the file cannot be used.
    """
    with sqlite_errors(path, REMEDY):
        try:
            return _open(path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            discard(path)
        return _open(path)


def open_for_reading(path: Path) -> KeywordIndex:
    """Return the index at `path`.

    Raises:
        NotFound: there is none, or none of this layout.
        StoreError: it is damaged.
    """
    if not path.is_file():
        raise NotFound(f"there is no keyword index in {path.parent}; run `memory ingest`")
    with sqlite_errors(path, REMEDY):
        connection = connect_read_only(path, 10.0) or connect(path, seconds=10.0, mode="rw")
        connection.execute("PRAGMA query_only = 1")
        index = KeywordIndex(path, connection)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
            connection.close()  # an ingest has created the file a moment ago
            raise NotFound(f"there is no keyword index in {path.parent} yet; run `memory ingest`")
        if index.about("layout") != _LAYOUT:
            raise NotFound(f"{path} is of another version; run `memory ingest`")
    return index


def discard(path: Path) -> None:
    """Remove the files of an index."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def _open(path: Path) -> KeywordIndex:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = connect(path)
    if path.is_symlink():  # what was laid out by an earlier version has other tables
        require_own(path, connection, _SCHEMA)
    use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.executescript(_SCHEMA)
    about = {"layout": _LAYOUT, "incarnation": uuid.uuid4().hex, "generation": "0"}
    connection.executemany("INSERT OR IGNORE INTO about VALUES (?,?)", about.items())
    index = KeywordIndex(path, connection)
    if index.about("layout") != _LAYOUT:
        connection.close()
        raise sqlite3.DatabaseError(f"its layout is not {_LAYOUT}")
    return index
