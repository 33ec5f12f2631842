"""The keyword index: one SQLite file, made from the lake, disposable, of our own layout.

Ranking weighs a term's occurrences in a turn together with those in its neighbours
(benchmarks/notes/retrieval.md has the measurements). tantivy and bm25s do not give the postings
that this needs. FTS5 does, by `fts5vocab`, but as one row an occurrence, which takes 1.7 to 2 times
as long to read as a blob of them. One process writes at a time; others read meanwhile (SQLite's
WAL). Texts, metadata and vectors of the rows are in the same file, so that an answer needs neither
the lake nor Chroma.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from memory_assets.redacted_text import RedactedText, require_redacted, seal
from memory_assets.stores.files.sqlite import SqliteStore, sqlite_errors, transaction
from memory_assets.stores.keyword_index.blocks import (
    BLOCK_ROWS,
    KeywordRow,
    pack_columns,
    pack_postings,
    pack_vectors,
)

REMEDY = "If it is damaged, move it away and run `memory ingest`: it is made from the lake."

_TABLES = ("new_postings", "postings")
_NEW_POSTINGS = 100_000
"""Postings that may wait in the first table, which has 600 pages at most. In the large table a
commit changes a page for nearly each term."""
_TERMS_WITH = " UNION ".join(
    f"""
SELECT * FROM (WITH RECURSIVE found (term) AS (
    SELECT MIN(term) FROM {table} WHERE term >= ?1
    UNION ALL
    SELECT (SELECT MIN(term) FROM {table} WHERE term > found.term) FROM found WHERE term < ?2
) SELECT term FROM found WHERE term < ?2)
"""
    for table in _TABLES
)
"""A step in each table for each term, where DISTINCT takes one for each block that has the term."""

_TEXTS = f"""
SELECT found.id, found.text FROM json_each(?) AS wanted
CROSS JOIN blocks ON kind = ?
    AND project = json_extract(wanted.value, '$[0]')
    AND session_id = json_extract(wanted.value, '$[1]')
CROSS JOIN rows AS found ON row >= block * {BLOCK_ROWS} AND row < (block + 1) * {BLOCK_ROWS}
    AND found.id = json_extract(wanted.value, '$[2]')
"""
"""CROSS JOIN keeps this order; SQLite's own reads every row of the kind (20 times the CPU)."""


_ROWS_OF_BLOCKS = (
    f"blocks CROSS JOIN rows ON row >= block * {BLOCK_ROWS} AND row < (block + 1) * {BLOCK_ROWS}"
)


@dataclass(frozen=True)
class Block:
    """A block as it is read: where its rows belong, and their packed columns."""

    block: int
    project: str
    session_id: str
    agent: str
    columns: bytes


@dataclass(frozen=True)
class IndexedRow:
    """The parts of a row that a search shows."""

    id: str
    text: RedactedText
    metadata: Mapping[str, str | int | float | bool]


class KeywordIndex:
    """One keyword index; `files.py` opens it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._file = SqliteStore(path, connection, REMEDY)
        self._postings: list[tuple[str, int, bytes]] = []

    def close(self) -> None:
        """Close the connection."""
        self._file.close()

    @property
    def incarnation(self) -> str:
        """A random id of the index; a new index has another."""
        return self.about("incarnation")

    @property
    def generation(self) -> int:
        """The number of changes so far."""
        return int(self.about("generation") or 0)

    def unchanged_blocks(
        self, kind: str, project: str, session_id: str, row_hashes: Sequence[str]
    ) -> tuple[list[int], int]:
        """Return the leading blocks of a session whose rows are the first of `row_hashes`, and
        the number of their rows."""
        kept: list[int] = []
        at = 0
        for block, rows in self._file.select(
            "blocks", "block, rows", "place", kind=kind, project=project, session_id=session_id
        ):
            stored = self._file.rows(
                "SELECT row_hash FROM rows WHERE row >= ? AND row < ? ORDER BY row",
                block * BLOCK_ROWS,
                (block + 1) * BLOCK_ROWS,
            )
            last = at + rows == len(row_hashes)
            same = [row_hash for (row_hash,) in stored] == list(row_hashes[at : at + rows])
            if not same or (rows < BLOCK_ROWS and not last):
                break
            kept.append(block)
            at += rows
        return kept, at

    def write(
        self,
        kind: str,
        project: str,
        session_id: str,
        agent: str,
        kept: Sequence[int],
        rows: Sequence[KeywordRow],
        embedder_id: str,
    ) -> None:
        """Replace a session's rows by the `kept` blocks and these rows, in one transaction.

        Raises:
            TypeError: a text is not redacted.
        """
        require_redacted([row.text for row in rows])
        with self.one_transaction() as connection:
            existing = self._file.select(
                "blocks", "block", kind=kind, project=project, session_id=session_id
            )
            self._drop(sorted({block for (block,) in existing} - set(kept)))
            for at in range(0, len(rows), BLOCK_ROWS):
                place = len(kept) + at // BLOCK_ROWS
                where = (kind, project, session_id, agent, place)
                added = rows[at : at + BLOCK_ROWS]
                self._postings += _add_block(connection, where, added, embedder_id)

    @contextmanager
    def one_transaction(self) -> Iterator[sqlite3.Connection]:
        """Make all writes within a block one transaction."""
        with self._file.lock:
            outermost = not self._file.connection.in_transaction
            with self._file.transaction() as connection:
                try:
                    yield connection
                    if outermost:
                        self._write_postings()
                        connection.execute(
                            "UPDATE about SET value = value + 1 WHERE name = 'generation'"
                        )
                except BaseException:
                    self._postings.clear()
                    raise

    def remove(self, sessions: Iterable[tuple[str, str]], kind: str) -> int:
        """Remove the rows of one kind of sessions (project, session id); return their number."""
        removed = 0
        with self.one_transaction():
            for project, session_id in sessions:
                blocks = dict(
                    self._file.select(
                        "blocks", "block, rows", project=project, session_id=session_id, kind=kind
                    )
                )
                self._drop(list(blocks))
                removed += sum(blocks.values())
        return removed

    def ids(self, kind: str, project: str) -> set[str]:
        """Return the ids of the rows of a project."""
        rows = self._file.select(_ROWS_OF_BLOCKS, "id", kind=kind, project=project)
        return {row_id for (row_id,) in rows}

    def ids_of(self, kind: str, project: str, sessions: Collection[str]) -> dict[str, set[str]]:
        """Return the ids of the rows of some sessions of a project, by session."""
        ids: dict[str, set[str]] = {session_id: set() for session_id in sessions}
        pairs = self._file.rows(
            f"SELECT session_id, id FROM {_ROWS_OF_BLOCKS} WHERE kind = ? AND project = ?"
            " AND session_id IN (SELECT value FROM json_each(?))",
            kind,
            project,
            json.dumps(list(sessions)),
        )
        for session_id, row_id in pairs:
            ids[session_id].add(row_id)
        return ids

    def changed(self, blocks: Iterable[int]) -> set[int]:
        """Return the blocks whose rows are not as they were written, which is unknown for blocks of
        earlier versions."""
        if not self._file.value("SELECT 1 FROM sqlite_master WHERE name = 'digests'"):
            return set()
        noted = self._file.rows(
            "SELECT block, CAST(digest AS BLOB) FROM digests"
            " WHERE block IN (SELECT value FROM json_each(?))",
            json.dumps(list(blocks)),
        )
        connection = self._file.connection
        with self._file.lock, sqlite_errors(self.path, REMEDY):
            return {
                block for block, digest in noted if _digest(connection, block).encode() != digest
            }

    def places(self, kind: str, project: str) -> dict[str, list[int]]:
        """Return the blocks of each session of a project. A block is never changed, and its
        number is never given to another."""
        places: dict[str, list[int]] = {}
        rows = self._file.select("blocks", "session_id, block", "block", kind=kind, project=project)
        for session_id, block in rows:
            places.setdefault(session_id, []).append(block)
        return places

    def holds(self, kind: str) -> bool:
        """Whether there are any rows of a kind."""
        return self._file.find("blocks", "MIN(block)", kind=kind) is not None

    def rows_with_vectors(self, kind: str) -> int:
        """Return the number of rows of a kind in blocks with vectors."""
        rows = self._file.value(
            "SELECT SUM(rows) FROM blocks JOIN vectors USING (block) WHERE kind = ?", kind
        )
        return int(rows or 0)

    def blocks(self, kind: str) -> list[Block]:
        """Return all blocks of a kind, session after session, in reading order."""
        columns = "block, project, session_id, agent, columns"
        rows = self._file.select("blocks", columns, "project, session_id, place", kind=kind)
        return [Block(*row) for row in rows]

    def vectors(self, blocks: Sequence[int]) -> dict[int, tuple[str, bytes]]:
        """Return the embedder and the packed vectors of those of these blocks that have any."""
        rows = self._file.rows(
            "SELECT block, embedder_id, data FROM vectors"
            " WHERE block IN (SELECT value FROM json_each(?))",
            json.dumps(list(blocks)),
        )
        return {block: (embedder_id, data) for block, embedder_id, data in rows}

    def postings(self, term: str) -> list[tuple[int, bytes]]:
        """Return block and packed places of a term."""
        return [
            posting
            for table in _TABLES
            for posting in self._file.select(table, "block, places", term=term)
        ]

    def occurring(self, terms: Iterable[str]) -> list[str]:
        """Return those of the terms that occur in any row."""
        rows = self._file.rows(
            "SELECT value FROM json_each(?)"
            " WHERE EXISTS (SELECT 1 FROM new_postings WHERE term = value)"
            " OR EXISTS (SELECT 1 FROM postings WHERE term = value)",
            json.dumps(list(terms)),
        )
        return [row[0] for row in rows]

    def terms_with(self, prefix: str) -> list[str]:
        """Return the terms that begin so."""
        rows = self._file.rows(_TERMS_WITH, prefix, f"{prefix}\U0010ffff")
        return [row[0] for row in rows]

    def rows(self, places: Sequence[tuple[int, int]]) -> list[IndexedRow | None]:
        """Return the rows at these blocks and positions, None for one that is gone."""
        numbers = [block * BLOCK_ROWS + position for block, position in places]
        by_number = {
            row: IndexedRow(row_id, seal(text), json.loads(metadata))
            for row, row_id, text, metadata in self._file.rows(
                "SELECT row, id, text, metadata FROM rows"
                " WHERE row IN (SELECT value FROM json_each(?))",
                json.dumps(numbers),
            )
        }
        return [by_number.get(row) for row in numbers]

    def rows_of(
        self, kind: str, project: str, session_id: str, first: int, last: int
    ) -> list[IndexedRow]:
        """Return the rows of a kind that a session has of the turns `first` to `last`, in reading
        order."""
        rows = self._file.rows(
            f"SELECT id, text, metadata FROM {_ROWS_OF_BLOCKS}"
            " WHERE kind = ? AND project = ? AND session_id = ?"
            " AND json_extract(metadata, '$.turn_index') BETWEEN ? AND ? ORDER BY place, row",
            kind,
            project,
            session_id,
            first,
            last,
        )
        return [IndexedRow(row_id, seal(text), json.loads(about)) for row_id, text, about in rows]

    def texts(self, kind: str, wanted: Iterable[tuple[str, str, str]]) -> dict[str, RedactedText]:
        """Return the texts of rows (project, session id, id) by id, of those that are there."""
        rows = self._file.rows(_TEXTS, json.dumps(list(wanted)), kind)
        return {row_id: seal(text) for row_id, text in rows}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the index for the length of a block."""
        errors, state = (
            sqlite_errors(self.path, REMEDY),
            transaction(self._file.connection, "DEFERRED"),
        )
        with self._file.lock, errors, state:
            yield

    def about(self, name: str) -> str:
        """Return an entry of the index's metadata: layout, incarnation or generation."""
        return str(self._file.find("about", "value", name=name) or "")

    def _drop(self, blocks: Sequence[int]) -> None:
        if not blocks:
            return
        self._write_postings()  # theirs may be among them
        for block in blocks:
            terms = json.loads(self._file.find("terms_of_blocks", "terms", block=block) or "[]")
            postings = [(term, block) for term in terms]
            for name in _TABLES:  # all are in one of them
                delete = f"DELETE FROM {name} WHERE term = ? AND block = ?"
                if self._file.connection.executemany(delete, postings).rowcount > 0:
                    break
            for table in ("terms_of_blocks", "vectors", "blocks", "digests"):
                self._file.delete(table, block=block)
            first = block * BLOCK_ROWS
            end = first + BLOCK_ROWS
            self._file.write("DELETE FROM rows WHERE row >= ? AND row < ?", first, end)

    def _write_postings(self) -> None:
        """Write the postings of all added blocks in order of terms, so that each page is written
        once a transaction. Many go straight to the large table."""
        if not self._postings:
            return
        connection, many = self._file.connection, len(self._postings) >= _NEW_POSTINGS
        sql = f"INSERT INTO {_TABLES[many]} VALUES (?,?,?)"
        connection.executemany(sql, sorted(self._postings))
        self._postings.clear()
        if self._file.value("SELECT COUNT(*) FROM new_postings") >= _NEW_POSTINGS:
            connection.execute("INSERT INTO postings SELECT * FROM new_postings")
            connection.execute("DELETE FROM new_postings")


def _add_block(
    connection: sqlite3.Connection,
    where: tuple[str, str, str, str, int],
    rows: Sequence[KeywordRow],
    embedder_id: str,
) -> list[tuple[str, int, bytes]]:
    """Write a block without its postings, and return the postings."""
    block = connection.execute(
        "INSERT INTO blocks (kind, project, session_id, agent, place, rows, columns)"
        " VALUES (?,?,?,?,?,?,?)",
        (*where, len(rows), pack_columns(rows)),
    ).lastrowid
    if block is None:
        raise AssertionError("SQLite gave no row number")
    connection.executemany(
        "INSERT INTO rows VALUES (?,?,?,?,?)",
        [
            (block * BLOCK_ROWS + at, row.id, row.row_hash, row.text, json.dumps(row.metadata))
            for at, row in enumerate(rows)
        ],
    )
    vectors = pack_vectors(rows)
    if vectors is not None:
        connection.execute("INSERT INTO vectors VALUES (?,?,?)", (block, embedder_id, vectors))
    postings = [(term, block, places) for term, places in sorted(pack_postings(rows).items())]
    terms = json.dumps([term for term, *_ in postings])
    connection.execute("INSERT INTO terms_of_blocks VALUES (?,?)", (block, terms))
    digest = _digest(connection, block)
    connection.execute("INSERT INTO digests VALUES (?,?)", (block, digest))
    return postings


def _digest(connection: sqlite3.Connection, block: int) -> str:
    """Return the hash of a block's columns, rows and vectors as they lie in the file."""
    digest = blake2b(digest_size=12)
    for sql in (
        "SELECT CAST(columns AS BLOB) FROM blocks WHERE block = ?1",
        "SELECT CAST(id AS BLOB), CAST(row_hash AS BLOB), CAST(text AS BLOB),"
        f" CAST(metadata AS BLOB) FROM rows WHERE row >= ?1 * {BLOCK_ROWS}"
        f" AND row < (?1 + 1) * {BLOCK_ROWS} ORDER BY row",
        "SELECT CAST(data AS BLOB) FROM vectors WHERE block = ?1",
    ):
        for values in connection.execute(sql, (block,)):
            for value in values:
                digest.update(b"-" if value is None else b"%d:" % len(value) + value)
    return digest.hexdigest()
