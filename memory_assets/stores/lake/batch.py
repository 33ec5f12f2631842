"""Writing many sessions of a project: small ones are collected and written together.

Until `publish`, what is collected is nowhere on disk: no product may be noted before.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import OUTPUT_HASH, FileFacts, Footer
from memory_assets.stores.lake.partition import SEGMENT_BYTES, Small
from memory_assets.stores.lake.rows import arrow_batches
from memory_assets.stores.lake.schemas import Table

SMALL_SESSION_BYTES = 1 << 20
"""Bytes in memory up to which a session shares a segment; about a quarter of it on disk."""
_MOST_SECONDS = 5.0
"""Time after which collected sessions are published, so that an interruption loses little work."""


@dataclass(frozen=True)
class ArrowRows:
    """A session's rows of a table as they are to be written, with their footer; the bytes of
    `facts` are those in memory."""

    parts: Sequence[pa.Table]
    footer: Mapping[str, str]
    facts: FileFacts


class Unwritten:
    """Keeps the rows that a session has in some tables."""

    def __init__(self) -> None:
        self.rows: dict[Table, ArrowRows] = {}

    def write(
        self,
        table: Table,
        session_id: str,
        rows: Iterable[Any],
        *,
        footer: Footer = dict,
        extra: Mapping[str, Sequence[object]] | None = None,
    ) -> FileFacts:
        """Replace a session's rows by `rows`, as `Lake.write` does; `put` says when.

        Raises:
            TypeError, StoreError: as `Lake.write` does.
        """
        content = blake2b(digest_size=16)
        parts = list(arrow_batches(table, rows, extra or {}, content))
        size = sum(part.nbytes for part in parts)
        facts = FileFacts(sum(map(len, parts)), size, content.hexdigest())
        return self.put(table, session_id, ArrowRows(parts, footer(), facts))

    def put(self, table: Table, session_id: str, rows: ArrowRows) -> FileFacts:
        """Keep a session's rows."""
        self.rows[table] = rows
        return rows.facts


class Batch(Unwritten):
    """Writes sessions of one project to some tables. `full` when it should be published."""

    def __init__(self, lake: Lake, project: str, *tables: Table) -> None:
        self._lake = lake
        self._project = project
        self._collected: dict[Table, dict[str, Small]] = {table: {} for table in tables}
        self._bytes = 0
        self._since = 0.0
        for table in tables:
            lake.partition(table, project).tidy()

    @property
    def full(self) -> bool:
        """Whether what is collected makes a segment, or waits for long."""
        waited = time.monotonic() - self._since
        return self._bytes >= SEGMENT_BYTES or (self._bytes > 0 and waited > _MOST_SECONDS)

    def put(self, table: Table, session_id: str, rows: ArrowRows) -> FileFacts:
        """Replace a session's rows: now, if there are many, else when the batch is published. The
        bytes of a session that is collected are those in memory."""
        facts, footer = rows.facts, {**rows.footer, OUTPUT_HASH: rows.facts.output_hash}
        if facts.bytes > SMALL_SESSION_BYTES:
            partition = self._lake.partition(table, self._project)
            return partition.write(session_id, rows.parts, lambda: footer, facts.output_hash)
        self._collected[table][session_id] = (rows.parts, footer)
        self._since = self._since if self._bytes else time.monotonic()
        self._bytes += facts.bytes
        return facts

    def discard(self, session_id: str) -> None:
        """Drop what is collected of a session, which failed."""
        for sessions in self._collected.values():
            sessions.pop(session_id, None)

    def publish(self) -> dict[tuple[str, str], int]:
        """Write what is collected, a segment a table; return the bytes on disk of each session's
        rows, by table and session.

        Raises:
            StoreError, DamagedFile: not all is written; it is to be made again.
        """
        sizes: dict[tuple[str, str], int] = {}
        for table, sessions in self._collected.items():
            if sessions:
                size = self._lake.partition(table, self._project).publish(sessions)
                held = {name: _bytes(small) for name, small in sessions.items()}
                total = max(sum(held.values()), 1)
                sizes |= {(table.name, name): size * own // total for name, own in held.items()}
                sessions.clear()
        self._bytes = 0
        return sizes

    def compact(self) -> None:
        """Pack small segments together, if there are many."""
        for table in self._collected:
            self._lake.partition(table, self._project).compact()


def _bytes(small: Small) -> int:
    return sum(part.nbytes for part in small[0])
