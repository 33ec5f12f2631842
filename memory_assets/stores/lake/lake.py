"""The lake: Parquet files by table and project, replaced by atomic rename.

    <lake>/<table>/project=<project>/segment+<number>.parquet   sessions (`segments.py`)

`Lake` accepts and returns redacted text only: a row with a plain `str` where its model says
`RedactedText` is refused before anything is written. `LakeBatch` collects small sessions and writes
them together; until `publish` they are not on disk, and their products must not be noted.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from memory_assets.errors import NotFound, StoreError
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.files.shared import locked
from memory_assets.stores.lake.own_files import move_own_files
from memory_assets.stores.lake.partition import (
    NAME,
    SEGMENT_BYTES,
    Partition,
    encoded_name,
    reading,
)
from memory_assets.stores.lake.rows import (
    ArrowRows,
    FileFacts,
    arrow_rows,
    redacted_columns,
    rows_from_arrow,
    searched_columns,
    texts_from_arrow,
    texts_of,
    with_schema,
)
from memory_assets.stores.lake.schemas import EMBEDDING_DIMENSION, TABLES, Table
from memory_assets.stores.lake.segments import HASHED, SegmentCache, SessionRows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


__all__ = ["FileFacts", "Lake", "Vectors", "redacted_columns", "redacted_values", "rows_from_arrow"]

_PARTITION_PREFIX = "project="


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Rows of an embeddings table; `vectors` is (rows, dimension) float32."""

    ids: list[str]
    content_hashes: list[str]
    embedder_ids: list[str]
    vectors: npt.NDArray[np.float32]


class Lake:
    """Reads and writes the tables under one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cache = SegmentCache()

    def partition(self, table: Table, project: str) -> Partition:
        """Return the files of one table of a project."""
        return Partition(self.partition_dir(table, project), table, project, self._cache)

    def file(self, table: Table, project: str, session_id: str) -> Path | None:
        """Return the file that has a session's rows, None if it has none."""
        return self.partition(table, project).file(session_id)

    def partition_dir(self, table: Table, project: str) -> Path:
        """Return the directory of a project's files of one table."""
        return self.root / table.name / f"{_PARTITION_PREFIX}{encoded_name(project)}"

    def lock_path(self, project: str) -> Path:
        """Return the file whose lock a writer of this project holds."""
        return self.root / "locks" / f"{encoded_name(project)}.lock"

    def projects(self, table: Table) -> list[str]:
        """Return the projects that have a directory in this table, sorted."""
        directory = self.root / table.name
        if not directory.is_dir():
            return []
        names = (entry.name for entry in os.scandir(directory) if entry.is_dir())
        partitions = (_project_in(directory / name) for name in names if _PARTITION_PREFIX in name)
        return sorted(project for project in partitions if project is not None)

    def all_projects(self) -> list[str]:
        """Return the projects that have a directory in any table, sorted."""
        return sorted({project for table in TABLES.values() for project in self.projects(table)})

    def sessions(self, table: Table, project: str) -> list[str]:
        """Return the sessions of a project that have rows in this table, sorted."""
        return sorted(self.partition(table, project).entries())

    def write(
        self,
        table: Table,
        project: str,
        session_id: str,
        rows: Iterable[Any],
        *,
        footer: Mapping[str, str] | None = None,
        extra: Mapping[str, Sequence[object]] | None = None,
    ) -> FileFacts:
        """Replace a session's rows by `rows` (as `arrow_rows` takes them), in a segment of its own.
        The new file is complete before it takes the old one's place; without any rows the old one
        is removed.

        Raises:
            TypeError: a text is not redacted.
            StoreError: the directory cannot be written; the old file is untouched.
        """
        arrow = arrow_rows(table, rows, footer=footer, extra=extra)
        self.partition(table, project).publish({session_id: arrow})
        return arrow.facts

    def read(
        self,
        table: Table,
        project: str,
        session_id: str,
        columns: list[str] | None = None,
    ) -> pa.Table:
        """Return a session's rows as an Arrow table.

        Raises:
            NotFound: the session has no file in this table.
            StoreError: the file is not readable as Parquet.
        """
        with self.opened(table, project, session_id) as rows:
            return rows.read(columns)

    @contextmanager
    def opened(self, table: Table, project: str, session_id: str) -> Iterator[SessionRows]:
        """Give a session's file, open for reading; raises as `read` does."""
        partition = self.partition(table, project)
        with ExitStack() as files:
            try:
                with reading(partition.directory, project):
                    rows = partition.open_rows(session_id, files)
            except FileNotFoundError:
                raise NotFound(f"no {table.name} of session {session_id} in {project}") from None
            with reading(rows.opened.segment.path, project):
                yield rows

    def read_footer(
        self, table: Table, project: str, session_id: str
    ) -> tuple[FileFacts, dict[str, str]]:
        """Return facts and footer of a session's file, without reading its rows."""
        with self.opened(table, project, session_id) as rows:
            return rows.facts, dict(rows.entry.footer)

    def read_rows(self, table: Table, project: str, session_id: str) -> list[Any]:
        """Return a session's rows as instances of the table's model, in file order."""
        rows = self.read(table, project, session_id)
        try:
            return rows_from_arrow(table, rows)
        except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise _columns_error(table, project) from error

    def read_texts(
        self, table: Table, project: str, session_id: str
    ) -> list[tuple[str, str, RedactedText]]:
        """Return (id, content_hash, text) of each row of a session."""
        columns = ["id", "content_hash", "text"]
        return texts_from_arrow(self.read(table, project, session_id, columns))

    def read_contexts(
        self, table: Table, project: str, session_id: str
    ) -> dict[str, tuple[int, RedactedText]]:
        """Return, by content hash of a session's texts, the number of characters that are embedded,
        and their context; {} for a table whose texts are embedded whole and alone."""
        if "context" not in table.schema.names:
            return {}
        rows = self.read(table, project, session_id, ["content_hash", "embedded", "context"])
        hashes: list[Any] = rows["content_hash"].to_pylist()
        lengths: list[Any] = rows["embedded"].to_pylist()
        embedded = zip(lengths, texts_of(rows, "context"), strict=True)
        return dict(zip(hashes, embedded, strict=True))

    def read_vectors(self, table: Table, project: str, session_id: str) -> Vectors:
        """Return a session's rows of an embeddings table."""
        # numpy takes .09 s and these functions .03, and few who read need them.
        import numpy as np
        import pyarrow.compute as pc

        rows = self.read(table, project, session_id)
        flat = pc.list_flatten(rows["vector"]).to_numpy()
        names: dict[str, list[Any]] = rows.drop_columns(["vector"]).to_pydict()
        return Vectors(
            ids=names["id"],
            content_hashes=names["content_hash"],
            embedder_ids=names["embedder_id"],
            vectors=flat.reshape(len(rows), EMBEDDING_DIMENSION).astype(np.float32, copy=False),
        )

    def read_redacted_values(self, table: Table, project: str, session_id: str) -> Iterator[str]:
        """Yield each distinct value of each column of free text, as it lies on disk."""
        names = searched_columns(table.model)
        yield from redacted_values(table, self.read(table, project, session_id, names))

    def read_partition(
        self, table: Table, project: str, columns: list[str] | None = None
    ) -> pa.Table:
        """Return all rows of a project, session by session; empty when there are none. Those of an
        earlier version have empty values in columns that it did not have."""
        parts = self.partition(table, project).read(columns)
        schema = table.schema
        if columns is not None:
            schema = pa.schema([table.schema.field(name) for name in columns])
        try:
            alike = [with_schema(part, schema).cast(schema) for part in parts]
        except (pa.ArrowException, ValueError) as error:
            raise _columns_error(table, project) from error
        return pa.concat_tables(alike) if alike else schema.empty_table()

    def select(
        self,
        table: Table,
        project: str,
        among: list[str],
        pick: Callable[[pa.Table], pa.Array[Any]] | None,
        columns: list[str] | None = None,
    ) -> list[pa.Table]:
        """Return the rows of a project that `pick` chooses, file by file, which is much faster than
        by session; see `Partition.select`."""
        return self.partition(table, project).select(among, pick, columns)

    def unordered(self, table: Table, project: str, columns: list[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of all sessions of a project, in no order."""
        for part in self.select(table, project, [], None, columns):
            yield from part.to_pylist()

    def delete(self, table: Table, project: str, *session_ids: str) -> None:
        """Remove the rows of sessions in one table, if there are any."""
        self.partition(table, project).remove(session_ids)

    def remove_sessions(self, project: str, session_ids: Collection[str]) -> int:
        """Remove sessions from all tables, and unfinished files of killed writers; return the
        number of files that had them."""
        removed = 0
        for directory in self._directories_of(project):  # also of unknown tables
            table = Table(directory.parent.name, object)
            removed += Partition(directory, table, project, self._cache).remove(session_ids)
        return removed

    @contextmanager
    def all_locked(self, seconds: float) -> Iterator[None]:
        """Hold the locks of all projects here for a block.

        Raises:
            StoreBusy: other processes hold one for longer than `seconds`.
            StoreError: the directory cannot be written.
        """
        with ExitStack() as locks:
            for project in self.all_projects():
                busy = (
                    f"another process is at work on project {project} in {self.root}, whose "
                    "catalogue is missing or of an earlier version, and can be made or moved over "
                    "only alone; wait for it, or end it, then try again"
                )
                locks.enter_context(locked(self.lock_path(project), seconds, busy))
            yield

    def move_own_files(self) -> None:
        """Move files of versions up to 0.3.0 into segments; the caller holds all locks. Raises
        `DamagedFile`."""
        for table in TABLES.values():
            for project in self.projects(table):
                move_own_files(self.partition(table, project))

    def remove_project(self, project: str) -> None:
        """Remove a project's directories with all files, and its lock. If a directory is a link,
        only the link is removed."""
        for directory in self._directories_of(project):
            if directory.is_symlink():
                directory.unlink()
            else:
                shutil.rmtree(directory)
        self.lock_path(project).unlink(missing_ok=True)

    def _directories_of(self, project: str) -> list[Path]:
        return sorted(self.root.glob(f"*/{glob.escape(_PARTITION_PREFIX + encoded_name(project))}"))

    def amend_footer(
        self, table: Table, project: str, session_id: str, footer: Mapping[str, str]
    ) -> None:
        """Replace the footer of a session; its rows stay as they are."""
        with self.opened(table, project, session_id) as rows:
            amended = ArrowRows(list(rows.parts()), footer, rows.facts)
        self.partition(table, project).publish({session_id: amended})


def _project_in(directory: Path) -> str | None:
    """Return the project of a directory; None if nothing was written to it yet."""
    name = directory.name.removeprefix(_PARTITION_PREFIX)
    if HASHED not in name:
        return unquote(name)
    try:
        return (directory / NAME).read_text("utf-8")
    except FileNotFoundError:
        return None


def _columns_error(table: Table, project: str) -> StoreError:
    return StoreError(
        f"{table.name} of {project} has rows with other columns, of a version before or damaged; "
        f"run `memory ingest --full --project={project}`"
    )


def redacted_values(table: Table, rows: pa.Table) -> Iterator[str]:
    """Yield each distinct value of each column of free text in rows that were read."""
    import pyarrow.compute as pc

    for name in searched_columns(table.model):
        column: Any = rows[name]
        while pa.types.is_list(column.type):
            column = pc.list_flatten(column)
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, "text")
        yield from pc.unique(column).to_pylist()


SMALL_SESSION_BYTES = 1 << 20
"""Bytes in memory up to which a session shares a segment; about a quarter of it on disk."""
_MOST_SECONDS = 5.0
"""Time after which collected sessions are published, to bound the work that a kill loses."""


class LakeBatch:
    """Writes sessions of one project to some tables. `full` when it should be published."""

    def __init__(self, lake: Lake, project: str, *tables: Table) -> None:
        self._lake = lake
        self._project = project
        self._collected: dict[Table, dict[str, ArrowRows]] = {table: {} for table in tables}
        self._bytes = 0
        self._since = 0.0
        for table in tables:
            lake.partition(table, project).tidy()

    @property
    def full(self) -> bool:
        """Whether what is collected makes a segment, or waits for long."""
        waited = time.monotonic() - self._since
        return self._bytes >= SEGMENT_BYTES or (self._bytes > 0 and waited > _MOST_SECONDS)

    def put(self, table: Table, session_id: str, rows: ArrowRows) -> None:
        """Replace a session's rows: now, if there are many, else when the batch is published."""
        if rows.nbytes > SMALL_SESSION_BYTES:
            self._lake.partition(table, self._project).publish({session_id: rows})
            return
        self._collected[table][session_id] = rows
        self._since = self._since if self._bytes else time.monotonic()
        self._bytes += rows.nbytes

    def discard(self, session_id: str) -> None:
        """Drop what is collected of a session, which failed."""
        for sessions in self._collected.values():
            sessions.pop(session_id, None)

    def publish(self) -> None:
        """Write what is collected, a segment a table.

        Raises:
            StoreError, DamagedFile: not all is written; it is to be made again.
        """
        for table, sessions in self._collected.items():
            if sessions:
                self._lake.partition(table, self._project).publish(sessions)
                sessions.clear()
        self._bytes = 0

    def compact(self) -> None:
        """Pack small segments together, if there are many."""
        for table in self._collected:
            self._lake.partition(table, self._project).compact()
