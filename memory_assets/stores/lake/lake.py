"""The lake: Parquet, one file a session and table, replaced by atomic rename.

    <lake>/<table>/project=<project>/<session>.parquet

A big file may have a tail (`files.py`); `Lake` reads the two as one. It accepts and returns
redacted text only: a row with a plain `str` where its model says `RedactedText` is refused before
anything is written.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.errors import DamagedFile, NotFound, StoreError, environment
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.lake import files as lake_files
from memory_assets.stores.lake.files import FileFacts, Footer, SessionRows
from memory_assets.stores.lake.rows import (
    arrow_batches,
    redacted_columns,
    rows_from_arrow,
    texts_from_arrow,
    with_other_ids,
)
from memory_assets.stores.lake.schemas import EMBEDDING_DIMENSION, Table

__all__ = ["FileFacts", "Lake", "Vectors", "redacted_columns", "redacted_values", "rows_from_arrow"]

_PARTITION_PREFIX = "project="
_TAIL = ".tail"


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

    def path(self, table: Table, project: str, session_id: str) -> Path:
        """Return where a session's file is; names are percent-encoded where needed,
        so no project or session name can lead outside the lake."""
        return self.partition_dir(table, project) / f"{_encoded_session(session_id)}.parquet"

    def files(self, table: Table, project: str, session_id: str) -> list[Path]:
        """Return the files that hold a session's rows: none, one, or it and its tail."""
        path = self.path(table, project, session_id)
        return [each for each in (path, lake_files.tail_path(path)) if each.exists()]

    def partition_dir(self, table: Table, project: str) -> Path:
        """Return the directory of a project's files of one table."""
        return self.root / table.name / f"{_PARTITION_PREFIX}{_encoded(project)}"

    def lock_path(self, project: str) -> Path:
        """Return the file whose lock a writer of this project holds."""
        return self.root / "locks" / f"{_encoded(project)}.lock"

    def projects(self, table: Table) -> list[str]:
        """Return the projects that have a directory in this table, sorted."""
        directory = self.root / table.name
        if not directory.is_dir():
            return []
        names = (entry.name for entry in os.scandir(directory) if entry.is_dir())
        prefix = _PARTITION_PREFIX
        return sorted(unquote(name.removeprefix(prefix)) for name in names if prefix in name)

    def sessions(self, table: Table, project: str) -> list[str]:
        """Return the sessions of a project that have a file in this table, sorted."""
        directory = self.partition_dir(table, project)
        if not directory.is_dir():
            return []
        names = (entry.name for entry in os.scandir(directory))
        return sorted(
            unquote(name.removesuffix(lake_files.SUFFIX))
            for name in names
            if name.endswith(lake_files.SUFFIX) and not name.endswith(lake_files.TAIL_SUFFIX)
        )

    def write(
        self,
        table: Table,
        project: str,
        session_id: str,
        rows: Iterable[Any],
        *,
        footer: Footer = dict,
        extra: Mapping[str, Sequence[object]] | None = None,
        keep: int = 0,
    ) -> FileFacts:
        """Replace a session's rows after the first `keep` by `rows` (instances of the
        table's model).

        Rows are consumed and written a batch at a time, so memory stays flat however
        long the session. `extra` fills the table's written columns; what `footer` returns
        after the last row is kept as Parquet metadata. The new file is complete before it
        takes the old one's place; without any rows the old one is removed.

        The hash of a file written whole is of its content. With `keep` it is chained, of
        the hash before, `keep` and the new rows: a changed file has another hash, but two files
        with equal rows need not have equal hashes.

        Raises:
            TypeError: a text is not redacted.
            StoreError: the directory cannot be written; the old file is untouched.
            NotFound, DamagedFile: there is no usable file of which rows could be kept.
        """
        path = self.path(table, project, session_id)
        content = blake2b(digest_size=16)
        if keep:
            before, _ = self.read_footer(table, project, session_id)
            content.update(f"{before.output_hash}\0{keep}\0".encode())
        parts = arrow_batches(table, rows, extra or {}, content)
        with _written(path, project):
            path.parent.mkdir(parents=True, exist_ok=True)
            if keep:
                return lake_files.write_after(path, table.schema, keep, parts, footer, content)
            return lake_files.write_whole(path, table.schema, parts, footer, content)

    def read(
        self,
        table: Table,
        project: str,
        session_id: str,
        columns: list[str] | None = None,
        *,
        skip: int = 0,
    ) -> pa.Table:
        """Return a session's rows after the first `skip` as an Arrow table; costs the row
        groups that hold them.

        Raises:
            NotFound: the session has no file in this table.
            StoreError: the file is not readable as Parquet.
        """
        with self.opened(table, project, session_id) as rows:
            return rows.read(columns, skip)

    @contextmanager
    def opened(self, table: Table, project: str, session_id: str) -> Iterator[SessionRows]:
        """Give a session's file, open for reading; raises as `read` does."""
        path = self.path(table, project, session_id)
        try:
            with lake_files.opened(path) as rows:
                yield rows
        except FileNotFoundError:
            raise NotFound(f"no {table.name} of session {session_id} in {project}") from None
        except (pa.ArrowInvalid, OSError) as error:
            cause = environment(error) if isinstance(error, OSError) and error.errno else None
            if cause is not None:
                raise StoreError(f"cannot read {path}: {cause.reason}; {cause.remedy}") from error
            raise _damaged(path, project, error) from None

    def read_footer(
        self, table: Table, project: str, session_id: str
    ) -> tuple[FileFacts, dict[str, str]]:
        """Return facts and footer of a session's file, without reading its rows."""
        with self.opened(table, project, session_id) as rows:
            return rows.facts, rows.footer

    def read_rows(self, table: Table, project: str, session_id: str, *, skip: int = 0) -> list[Any]:
        """Return a session's rows as instances of the table's model, in file order."""
        return rows_from_arrow(table, self.read(table, project, session_id, skip=skip))

    def read_texts(
        self, table: Table, project: str, session_id: str, *, skip: int = 0
    ) -> list[tuple[str, str, RedactedText]]:
        """Return (id, content_hash, text) of each row of a session."""
        columns = ["id", "content_hash", "text"]
        return texts_from_arrow(self.read(table, project, session_id, columns, skip=skip))

    def read_vectors(
        self, table: Table, project: str, session_id: str, *, skip: int = 0
    ) -> Vectors:
        """Return a session's rows of an embeddings table."""
        rows = self.read(table, project, session_id, skip=skip)
        flat = pc.list_flatten(rows["vector"]).to_numpy()
        names: dict[str, list[Any]] = rows.drop_columns(["vector"]).to_pydict()
        return Vectors(
            ids=names["id"],
            content_hashes=names["content_hash"],
            embedder_ids=names["embedder_id"],
            vectors=flat.reshape(len(rows), EMBEDDING_DIMENSION).astype(np.float32, copy=False),
        )

    def read_redacted_values(
        self, table: Table, project: str, session_id: str, *, skip: int = 0
    ) -> Iterator[str]:
        """Yield each distinct value of each column of free text, as it lies on disk."""
        names = list(redacted_columns(table.model))
        yield from redacted_values(table, self.read(table, project, session_id, names, skip=skip))

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

    def delete(self, table: Table, project: str, session_id: str) -> None:
        """Remove a session's file of one table, if it is there."""
        lake_files.remove(self.path(table, project, session_id))

    def remove_session(self, project: str, session_id: str) -> int:
        """Remove a session's files of every table that has a directory here, and what
        killed writers left of them; return how many files there were."""
        return self._remove(project, session_id, "?")

    def remove_leftovers(self, project: str, session_id: str) -> int:
        """Remove what killed writers left of a session's files; return how many there were."""
        return self._remove(project, session_id, "")

    def _remove(self, project: str, session_id: str, whole_too: str) -> int:
        name, end = re.escape(_encoded_session(session_id)), re.escape(lake_files.STAGING_SUFFIX)
        own = re.compile(rf"{name}({re.escape(_TAIL)})?\.parquet(\.\d+{end}){whole_too}")
        removed = 0
        for directory in self._directories_of(project):
            for path in list(directory.iterdir()):
                if own.fullmatch(path.name):
                    path.unlink()
                    removed += 1
        return removed

    def remove_project(self, project: str) -> None:
        """Remove a project's directories, which hold no session any more, and its lock."""
        for directory in self._directories_of(project):
            directory.rmdir()
        self.lock_path(project).unlink(missing_ok=True)

    def _directories_of(self, project: str) -> list[Path]:
        return sorted(self.root.glob(f"*/{glob.escape(_PARTITION_PREFIX + _encoded(project))}"))

    def amend_footer(
        self, table: Table, project: str, session_id: str, footer: Mapping[str, str]
    ) -> None:
        """Replace the footer of a session's file; its rows stay as they are."""
        path = self.path(table, project, session_id)
        with self.opened(table, project, session_id) as rows, _written(path, project):
            parts, output_hash = rows.parts(0, None), footer["output_hash"]
            lake_files.write_whole(path, table.schema, parts, lambda: footer, output_hash)

    def replace_ids(
        self,
        table: Table,
        project: str,
        session_id: str,
        columns: Sequence[str],
        replaced: Callable[[str], str],
        footer: Mapping[str, str],
    ) -> None:
        """Write a session's file with what `replaced` returns for each value of some columns,
        and with `footer` added to its footer, unless nothing changes.

        Raises:
            NotFound, DamagedFile: there is no usable file.
            StoreError: it cannot be written; it is as it was.
        """
        path = self.path(table, project, session_id)
        with self.opened(table, project, session_id) as rows:
            ids = rows.read(list(columns))
            found = {value for name in columns for value in pc.unique(ids[name]).to_pylist()}
            new = {value: replaced(value) for value in found if value}
            changes = {value: other for value, other in new.items() if other != value}
            if not (changes or footer):
                return
            content = blake2b(digest_size=16)
            parts = with_other_ids(table, rows.parts(0, None), columns, changes, content)
            whole = {**rows.footer, **footer}
            with _written(path, project):
                lake_files.write_whole(path, table.schema, parts, lambda: whole, content)


def redacted_values(table: Table, rows: pa.Table) -> Iterator[str]:
    """Yield each distinct value of each column of free text in rows that were read."""
    for name in redacted_columns(table.model):
        column: Any = rows[name]
        while pa.types.is_list(column.type):
            column = pc.list_flatten(column)
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, "text")
        yield from pc.unique(column).to_pylist()


@contextmanager
def _written(path: Path, project: str) -> Iterator[None]:
    """Translate the errors of writing a file in a block."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise _damaged(path, project, error) from None
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or type(error).__name__}. "
            "Free space or correct the permissions, then run the ingest again."
        ) from error


def _damaged(path: Path, project: str, error: Exception) -> DamagedFile:
    return DamagedFile(
        f"{path} is damaged ({type(error).__name__}). Move it away and run "
        f"`memory ingest --full --project={project}`."
    )


def _encoded(name: str) -> str:
    encoded = quote(name, safe="")
    return f"%2E{encoded[1:]}" if encoded.startswith(".") else encoded


def _encoded_session(session_id: str) -> str:
    """Return a session's file name; none looks like that of another one's tail."""
    encoded = _encoded(session_id)
    return f"{encoded.removesuffix(_TAIL)}%2Etail" if encoded.endswith(_TAIL) else encoded
