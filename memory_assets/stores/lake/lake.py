"""The lake: Parquet files by table and project, replaced by atomic rename.

    <lake>/<table>/project=<project>/segment+<number>.parquet   sessions (`segments.py`)

Where a session is makes no difference to those who read it here; `Lake` accepts and returns
redacted text only: a row with a plain `str` where its model says `RedactedText` is refused before
anything is written.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from memory_assets.errors import NotFound
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.lake.parquet_files import FileFacts, Footer, SessionRows
from memory_assets.stores.lake.partition import NAME, Partition, encoded, reading
from memory_assets.stores.lake.rows import (
    arrow_batches,
    redacted_columns,
    rows_from_arrow,
    texts_from_arrow,
    texts_of,
)
from memory_assets.stores.lake.schemas import EMBEDDING_DIMENSION, Table
from memory_assets.stores.lake.segments import HASHED, SegmentCache

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
        return _partition_dir(self.root, table.name, project)

    def lock_path(self, project: str) -> Path:
        """Return the file whose lock a writer of this project holds."""
        return self.root / "locks" / f"{encoded(project)}.lock"

    def projects(self, table: Table) -> list[str]:
        """Return the projects that have a directory in this table, sorted."""
        directory = self.root / table.name
        if not directory.is_dir():
            return []
        names = (entry.name for entry in os.scandir(directory) if entry.is_dir())
        found = (_project_of(directory / name) for name in names if _PARTITION_PREFIX in name)
        return sorted(project for project in found if project is not None)

    def sessions(self, table: Table, project: str) -> list[str]:
        """Return the sessions of a project that have rows in this table, sorted."""
        return sorted(self.partition(table, project).stamps())

    def write(
        self,
        table: Table,
        project: str,
        session_id: str,
        rows: Iterable[Any],
        *,
        footer: Footer = dict,
        extra: Mapping[str, Sequence[object]] | None = None,
    ) -> FileFacts:
        """Replace a session's rows by `rows` (instances of the table's model), in a segment of its
        own.

        Rows are consumed and written a batch at a time, so memory stays flat however
        long the session. `extra` fills the table's written columns; what `footer` returns
        after the last row is kept as Parquet metadata. The new file is complete before it
        takes the old one's place; without any rows the old one is removed.

        Raises:
            TypeError: a text is not redacted.
            StoreError: the directory cannot be written; the old file is untouched.
        """
        content = blake2b(digest_size=16)
        parts = arrow_batches(table, rows, extra or {}, content)
        return self.partition(table, project).write(session_id, parts, footer, content)

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
            with reading(rows.path, project):
                yield rows

    def read_footer(
        self, table: Table, project: str, session_id: str
    ) -> tuple[FileFacts, dict[str, str]]:
        """Return facts and footer of a session's file, without reading its rows."""
        with self.opened(table, project, session_id) as rows:
            return rows.facts, dict(rows.footer)

    def read_rows(self, table: Table, project: str, session_id: str) -> list[Any]:
        """Return a session's rows as instances of the table's model, in file order."""
        return rows_from_arrow(table, self.read(table, project, session_id))

    def read_texts(
        self, table: Table, project: str, session_id: str
    ) -> list[tuple[str, str, RedactedText]]:
        """Return (id, content_hash, text) of each row of a session."""
        columns = ["id", "content_hash", "text"]
        return texts_from_arrow(self.read(table, project, session_id, columns))

    def read_contexts(
        self, table: Table, project: str, session_id: str
    ) -> dict[str, tuple[int, RedactedText]]:
        """Return by content hash how many characters of the texts of a session are embedded, and
        with what; empty for a table whose texts are embedded whole and alone."""
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
        names = list(redacted_columns(table.model))
        yield from redacted_values(table, self.read(table, project, session_id, names))

    def read_partition(
        self, table: Table, project: str, columns: list[str] | None = None
    ) -> pa.Table:
        """Return all rows of a project, session by session; empty when there are none."""
        parts = [
            self.read(table, project, session, columns) for session in self.sessions(table, project)
        ]
        schema = table.schema
        if columns is not None:
            schema = pa.schema([table.schema.field(name) for name in columns])
        stripped = [part.replace_schema_metadata(None).cast(schema) for part in parts]
        return pa.concat_tables(stripped) if stripped else schema.empty_table()

    def select(
        self,
        table: Table,
        project: str,
        among: list[str],
        pick: Callable[[pa.Table], pa.Array[Any]],
        columns: list[str] | None = None,
    ) -> list[pa.Table]:
        """Return the rows of a project that `pick` chooses, file by file and so much faster than
        session by session; see `Partition.select`."""
        return self.partition(table, project).select(among, pick, columns)

    def delete(self, table: Table, project: str, *session_ids: str) -> None:
        """Remove the rows of sessions in one table, if there are any."""
        self.partition(table, project).remove(session_ids)

    def remove_sessions(self, project: str, session_ids: Collection[str]) -> int:
        """Remove sessions from every table that has a directory here, and what killed writers
        left; return how many files had them."""
        return sum(each.remove(session_ids) for each in self._partitions_of(project))

    def remove_leftovers(self, project: str) -> None:
        """Remove what killed writers of a project left."""
        self.remove_sessions(project, ())

    def remove_project(self, project: str) -> None:
        """Remove a project's directories, whatever is in them, and its lock. Of one that is a link
        only the link goes: what else is where it leads is not ours."""
        for directory in self._directories_of(project):
            if directory.is_symlink():
                directory.unlink()
            else:
                shutil.rmtree(directory)
        self.lock_path(project).unlink(missing_ok=True)

    def _directories_of(self, project: str) -> list[Path]:
        return sorted(self.root.glob(f"*/{glob.escape(_PARTITION_PREFIX + encoded(project))}"))

    def _partitions_of(self, project: str) -> Iterator[Partition]:
        """Yield the partitions of a project, to remove from: those of unknown tables, too."""
        for directory in self._directories_of(project):
            table = Table(directory.parent.name, object)
            yield Partition(directory, table, project, self._cache)

    def amend_footer(
        self, table: Table, project: str, session_id: str, footer: Mapping[str, str]
    ) -> None:
        """Replace the footer of a session; its rows stay as they are."""
        with self.opened(table, project, session_id) as rows:
            self.partition(table, project).write(
                session_id, rows.parts(0, None), lambda: footer, footer["output_hash"]
            )


@lru_cache(maxsize=1024)  # asked for some 200 times for one more turn
def _partition_dir(root: Path, table: str, project: str) -> Path:
    return root / table / f"{_PARTITION_PREFIX}{encoded(project)}"


def _project_of(directory: Path) -> str | None:
    """Return whose directory this is; None if nothing was written to it yet."""
    name = directory.name.removeprefix(_PARTITION_PREFIX)
    if HASHED not in name:
        return unquote(name)
    try:
        return (directory / NAME).read_text("utf-8")
    except FileNotFoundError:
        return None


def redacted_values(table: Table, rows: pa.Table) -> Iterator[str]:
    """Yield each distinct value of each column of free text in rows that were read."""
    import pyarrow.compute as pc

    for name in redacted_columns(table.model):
        column: Any = rows[name]
        while pa.types.is_list(column.type):
            column = pc.list_flatten(column)
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, "text")
        yield from pc.unique(column).to_pylist()
