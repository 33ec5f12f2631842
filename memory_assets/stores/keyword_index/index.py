"""The keyword index: one SQLite file, made from the lake, disposable, of our own layout.

Why not FTS5, tantivy or bm25s: ranking weighs a term's occurrences in a turn together with
those in its neighbours, which needs the postings themselves (docs/retrieval.md has the
measurements). One process writes at a time; others read meanwhile (SQLite's WAL). Texts,
metadata and vectors of the rows lie beside the postings, so that an answer needs neither
the lake nor Chroma.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.redacted_text import RedactedText, require_redacted, seal
from memory_assets.stores.keyword_index.blocks import (
    BLOCK_ROWS,
    KeywordRow,
    pack_columns,
    pack_postings,
    pack_vectors,
)
from memory_assets.stores.sqlite_files import compact


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
        self._connection = connection
        self._lock = threading.RLock()
        self._together = False
        self._postings: list[tuple[str, int, bytes]] = []

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def incarnation(self) -> str:
        """A random id of the index; a new index has another."""
        return self.about("incarnation")

    @property
    def generation(self) -> int:
        """The number of changes so far."""
        return int(self.about("generation") or 0)

    def kept_rows(
        self, kind: str, project: str, session_id: str, row_hashes: Sequence[str]
    ) -> tuple[list[int], int]:
        """Return the leading blocks of a session that hold just the rows wanted first, and
        how many rows those are."""
        kept: list[int] = []
        at = 0
        for block, rows in self._select(
            "SELECT block, rows FROM blocks WHERE kind = ? AND project = ? AND session_id = ?"
            " ORDER BY place",
            kind,
            project,
            session_id,
        ):
            held = self._select(
                "SELECT row_hash FROM rows WHERE row >= ? AND row < ? ORDER BY row",
                block * BLOCK_ROWS,
                (block + 1) * BLOCK_ROWS,
            )
            wanted = list(row_hashes[at : at + rows])
            last = at + rows == len(row_hashes)
            if [row[0] for row in held] != wanted or (rows < BLOCK_ROWS and not last):
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
        """Make a session's rows the kept blocks and these rows after them, in one transaction.

        Raises:
            TypeError: a text is not redacted.
        """
        require_redacted([row.text for row in rows])
        with self._transaction() as connection:
            there = [
                block
                for (block,) in connection.execute(
                    "SELECT block FROM blocks WHERE kind = ? AND project = ? AND session_id = ?",
                    (kind, project, session_id),
                )
            ]
            self._drop(sorted(set(there) - set(kept)))
            for at in range(0, len(rows), BLOCK_ROWS):
                place = len(kept) + at // BLOCK_ROWS
                where = (kind, project, session_id, agent, place)
                added = rows[at : at + BLOCK_ROWS]
                self._postings += _add_block(connection, where, added, embedder_id)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make what is written within a block one transaction: seen at once, or not at all."""
        with self._transaction():
            outer, self._together = self._together, True
            try:
                yield
            finally:
                self._together = outer

    def remove(self, sessions: Iterable[tuple[str, str]], kind: str | None = None) -> int:
        """Remove the rows of sessions (project, session id), of one kind or of all; return
        how many there were."""
        removed = 0
        with self._transaction() as connection:
            for project, session_id in sessions:
                found = [
                    (block, rows)
                    for block, rows in connection.execute(
                        "SELECT block, rows FROM blocks WHERE project = ? AND session_id = ?"
                        " AND (? IS NULL OR kind = ?)",
                        (project, session_id, kind, kind),
                    )
                ]
                self._drop([block for block, _ in found])
                removed += sum(rows for _, rows in found)
        return removed

    def erase(self, sessions: Sequence[tuple[str, str]], kinds: Iterable[str]) -> int:
        """Remove the rows of sessions, of these kinds, so that no byte of them stays in the
        file; return how many there were."""
        removed = sum(self.remove(sessions, kind) for kind in kinds)
        compact(self.path)
        return removed

    def ids(self, kind: str, project: str, session_id: str | None = None) -> set[str]:
        """Return the ids of the rows of a project, or of one session."""
        rows = self._select(
            "SELECT r.id FROM blocks b JOIN rows r ON r.row >= b.block * 64"
            " AND r.row < b.block * 64 + 64 WHERE b.kind = ? AND b.project = ?"
            " AND (? IS NULL OR b.session_id = ?)",
            kind,
            project,
            session_id,
            session_id,
        )
        return {row[0] for row in rows}

    def holds(self, kind: str) -> bool:
        """Whether there are any rows of a kind."""
        return bool(self._select("SELECT 1 FROM blocks WHERE kind = ? LIMIT 1", kind))

    def sessions(self, kind: str, project: str) -> set[str]:
        """Return the sessions of a project that have rows."""
        rows = self._select(
            "SELECT DISTINCT session_id FROM blocks WHERE kind = ? AND project = ?", kind, project
        )
        return {row[0] for row in rows}

    def blocks(self, kind: str) -> list[Block]:
        """Return all blocks of a kind, session after session, in reading order."""
        rows = self._select(
            "SELECT block, project, session_id, agent, columns FROM blocks WHERE kind = ?"
            " ORDER BY project, session_id, place",
            kind,
        )
        return [Block(*row) for row in rows]

    def vectors(self, blocks: Sequence[int]) -> dict[int, tuple[str, bytes]]:
        """Return the embedder and the packed vectors of those of these blocks that have any."""
        found: dict[int, tuple[str, bytes]] = {}
        wanted = set(blocks)
        sql = "SELECT block, embedder_id, data FROM vectors"
        if len(wanted) < 200:
            sql += f" WHERE block IN ({','.join('?' * len(wanted))})"
            rows = self._select(sql, *sorted(wanted))
        else:
            rows = self._select(sql)
        for block, embedder_id, data in rows:
            if block in wanted:
                found[block] = (embedder_id, data)
        return found

    def postings(self, term: str) -> list[tuple[int, bytes]]:
        """Return block and packed places of a term."""
        return self._select("SELECT block, places FROM postings WHERE term = ?", term)

    def terms_with(self, prefix: str) -> list[str]:
        """Return the terms that begin so."""
        rows = self._select(
            "SELECT DISTINCT term FROM postings WHERE term >= ? AND term < ?",
            prefix,
            f"{prefix}\U0010ffff",
        )
        return [row[0] for row in rows]

    def rows(self, places: Sequence[tuple[int, int]]) -> list[IndexedRow | None]:
        """Return the rows at these blocks and positions, None for one that is gone."""
        wanted = [block * BLOCK_ROWS + position for block, position in places]
        marks = ",".join("?" * len(wanted))
        found = {
            row: IndexedRow(row_id, seal(text), json.loads(metadata))
            for row, row_id, text, metadata in self._select(
                f"SELECT row, id, text, metadata FROM rows WHERE row IN ({marks})", *wanted
            )
        }
        return [found.get(row) for row in wanted]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the index for the length of a block."""
        with self._lock, sqlite_errors(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    def about(self, name: str) -> str:
        """Return an entry of the index's metadata: layout, incarnation or generation."""
        rows = self._select("SELECT value FROM about WHERE name = ?", name)
        return str(rows[0][0]) if rows else ""

    def _select(self, sql: str, *parameters: object) -> list[Any]:
        with self._lock, sqlite_errors(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def _drop(self, blocks: Sequence[int]) -> None:
        if blocks:
            self._write_postings()  # theirs may be among them
            _drop_blocks(self._connection, blocks)

    def _write_postings(self) -> None:
        """Write the postings of all that was added, term after term: the same pages of the
        table once a transaction."""
        self._connection.executemany("INSERT INTO postings VALUES (?,?,?)", sorted(self._postings))
        self._postings.clear()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, sqlite_errors(self.path):
            if self._together:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._write_postings()
                self._connection.execute(
                    "UPDATE about SET value = value + 1 WHERE name = 'generation'"
                )
            except BaseException:
                self._postings.clear()
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _add_block(
    connection: sqlite3.Connection,
    where: tuple[str, str, str, str, int],
    rows: Sequence[KeywordRow],
    embedder_id: str,
) -> list[tuple[str, int, bytes]]:
    """Write a block but for its postings, and return these."""
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
    return postings


def _drop_blocks(connection: sqlite3.Connection, blocks: Sequence[int]) -> None:
    for block in blocks:
        held = connection.execute("SELECT terms FROM terms_of_blocks WHERE block = ?", (block,))
        for (terms,) in held.fetchall():
            connection.executemany(
                "DELETE FROM postings WHERE term = ? AND block = ?",
                [(term, block) for term in json.loads(terms)],
            )
        for table in ("terms_of_blocks", "vectors", "blocks"):
            connection.execute(f"DELETE FROM {table} WHERE block = ?", (block,))
        connection.execute(
            "DELETE FROM rows WHERE row >= ? AND row < ?",
            (block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS),
        )


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as errors of this project."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the StoreError for an error of SQLite."""
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return StoreBusy(f"{path} is locked by another process; wait for it or stop it")
    return StoreError(
        f"cannot use {path} ({type(error).__name__}). Delete it and run `memory ingest`, "
        "which makes it from the lake."
    )
