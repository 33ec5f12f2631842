"""The lake: zstd Parquet, one file a session and table, replaced by atomic rename.

    <lake>/<table>/project=<project>/<session>.parquet

It accepts and returns redacted text only: a row whose model says `RedactedText` and
that holds a plain `str` is refused before anything is written.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from memory_assets.errors import DamagedFile, NotFound, StoreError
from memory_assets.redacted_text import RedactedText, require_redacted, seal
from memory_assets.stores.schemas import Table

_PARTITION_PREFIX = "project="
_STAGING_SUFFIX = ".staging"
_BATCH_ROWS = 2_000


@dataclasses.dataclass(frozen=True)
class FileFacts:
    """What was written: rows, bytes on disk, and a hash of the content."""

    rows: int
    bytes: int
    output_hash: str


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
        return self.partition_dir(table, project) / f"{_encoded(session_id)}.parquet"

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
        return sorted(unquote(path.stem) for path in directory.glob("*.parquet"))

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
        """Replace a session's file by `rows` (instances of the table's model).

        Rows are consumed and written a batch at a time, so memory stays flat however
        long the session. `extra` fills the table's written columns; `footer`, looked at
        after the last row, is kept as
        Parquet metadata. The new file is complete before it takes the old one's place;
        without any rows the old one is removed.

        Raises:
            TypeError: a text is not redacted.
            StoreError: the directory cannot be written; the old file is untouched.
        """
        target = self.path(table, project, session_id)
        staging = target.with_name(f"{target.name}.{os.getpid()}{_STAGING_SUFFIX}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                facts = _write_batches(table, staging, rows, footer or {}, extra or {})
                if facts.rows:
                    staging.replace(target)
                else:
                    target.unlink(missing_ok=True)
            finally:
                staging.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot write {target}: {error.strerror or type(error).__name__}. "
                "Free space or correct the permissions, then run the ingest again."
            ) from error
        return facts

    def read(
        self, table: Table, project: str, session_id: str, columns: list[str] | None = None
    ) -> pa.Table:
        """Return a session's rows as an Arrow table.

        Raises:
            NotFound: the session has no file in this table.
            StoreError: the file is not readable as Parquet.
        """
        path = self.path(table, project, session_id)
        try:
            return pq.ParquetFile(path).read(columns=columns)
        except FileNotFoundError:
            raise NotFound(f"no {table.name} of session {session_id} in {project}") from None
        except (pa.ArrowInvalid, OSError) as error:
            raise _damaged(path, project, error) from None

    def read_footer(
        self, table: Table, project: str, session_id: str
    ) -> tuple[FileFacts, dict[str, str]]:
        """Return what a session's file says of itself, without reading its rows."""
        path = self.path(table, project, session_id)
        try:
            metadata = pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise _damaged(path, project, error) from None
        footer = {
            name.decode(): value.decode()
            for name, value in (metadata.metadata or {}).items()
            if name != b"ARROW:schema"
        }
        facts = FileFacts(metadata.num_rows, path.stat().st_size, footer.get("output_hash", ""))
        return facts, footer

    def read_rows(self, table: Table, project: str, session_id: str) -> list[Any]:
        """Return a session's rows as instances of the table's model, in file order."""
        return rows_from_arrow(table, self.read(table, project, session_id))

    def read_texts(
        self, table: Table, project: str, session_id: str
    ) -> list[tuple[str, str, RedactedText]]:
        """Return (id, content_hash, text) of each row of a session."""
        rows = self.read(table, project, session_id, ["id", "content_hash", "text"])
        return [(row["id"], row["content_hash"], seal(row["text"])) for row in rows.to_pylist()]

    def read_vectors(self, table: Table, project: str, session_id: str) -> Vectors:
        """Return a session's rows of an embeddings table."""
        rows = self.read(table, project, session_id)
        flat = pc.list_flatten(rows["vector"]).to_numpy()
        names: dict[str, list[Any]] = rows.drop_columns(["vector"]).to_pydict()
        return Vectors(
            ids=names["id"],
            content_hashes=names["content_hash"],
            embedder_ids=names["embedder_id"],
            vectors=flat.reshape(len(rows), -1).astype(np.float32, copy=False),
        )

    def read_redacted_values(self, table: Table, project: str, session_id: str) -> Iterator[str]:
        """Yield each distinct value of each column of free text, as it lies on disk."""
        names = list(redacted_columns(table.model))
        rows = self.read(table, project, session_id, names)
        for name in names:
            column: Any = rows[name]
            while pa.types.is_list(column.type):
                column = pc.list_flatten(column)
            if pa.types.is_struct(column.type):
                column = pc.struct_field(column, "text")
            yield from pc.unique(column).to_pylist()

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
        self.path(table, project, session_id).unlink(missing_ok=True)

    def remove_session(self, project: str, session_id: str) -> int:
        """Remove a session's files of every table that has a directory here, and what
        killed writers left of them; return how many files there were."""
        name = re.escape(f"{_encoded(session_id)}.parquet")
        own = re.compile(rf"{name}(\.\d+{re.escape(_STAGING_SUFFIX)})?")
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
        """Replace what a session's file says of itself; its rows stay as they are."""
        path = self.path(table, project, session_id)
        rows = self.read(table, project, session_id)
        kept = {
            name: value
            for name, value in (rows.schema.metadata or {}).items()
            if name == b"ARROW:schema"
        }
        staging = path.with_name(f"{path.name}.{os.getpid()}{_STAGING_SUFFIX}")
        try:
            metadata = {**kept, **{name.encode(): text.encode() for name, text in footer.items()}}
            amended = rows.replace_schema_metadata(metadata)
            pq.write_table(amended, staging, compression="zstd", compression_level=3)
            staging.replace(path)
        finally:
            staging.unlink(missing_ok=True)

    def size(self, table: Table, project: str) -> int:
        """Return the bytes on disk of a project's files of one table."""
        directory = self.partition_dir(table, project)
        return sum(path.stat().st_size for path in directory.glob("*.parquet"))


def rows_from_arrow(table: Table, arrow: pa.Table) -> list[Any]:
    """Return Arrow rows as instances of the table's model; free text is sealed."""
    converters = _readers(table.model)
    columns = [
        [convert(value) for value in arrow.column(name).to_pylist()]
        for name, convert in converters.items()
    ]
    model = table.model
    return [model(*values) for values in zip(*columns, strict=True)]


def _damaged(path: Path, project: str, error: Exception) -> DamagedFile:
    return DamagedFile(
        f"{path} is damaged ({type(error).__name__}). Move it away and run "
        f"`memory ingest --full --project={project}`."
    )


def _encoded(name: str) -> str:
    encoded = quote(name, safe="")
    return f"%2E{encoded[1:]}" if encoded.startswith(".") else encoded


def _write_batches(
    table: Table,
    path: Path,
    rows: Iterable[Any],
    footer: Mapping[str, str],
    extra: Mapping[str, Sequence[object]],
) -> FileFacts:
    content = blake2b(digest_size=16)
    written = 0
    iterator = iter(rows)
    with pq.ParquetWriter(path, table.schema, compression="zstd", compression_level=3) as writer:
        while batch := list(islice(iterator, _BATCH_ROWS)):
            part = {name: values[written : written + len(batch)] for name, values in extra.items()}
            arrow = _to_arrow(table, batch, part)
            _add_content(content, table, arrow)
            writer.write_table(arrow)
            written += len(batch)
        output_hash = content.hexdigest()
        writer.add_key_value_metadata({**footer, "output_hash": output_hash})
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return FileFacts(written, path.stat().st_size, output_hash)


def _to_arrow(table: Table, rows: Sequence[Any], extra: Mapping[str, Sequence[object]]) -> pa.Table:
    redacted = redacted_columns(table.model)
    columns: list[pa.Array[Any]] = []
    for field in table.schema:
        values: Sequence[object]
        if field.name in table.written_columns:
            values = extra[field.name]
        else:
            values = [getattr(row, field.name) for row in rows]
            texts_of = redacted.get(field.name)
            if texts_of is not None:
                require_redacted(texts_of(values))
        if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
            values = [_as_structs(items) for items in values]
        columns.append(pa.array(values, type=field.type))
    return pa.Table.from_arrays(columns, schema=table.schema)


def _as_structs(items: Any) -> list[dict[str, Any]]:
    return [dataclasses.asdict(item) for item in items]


def _add_content(content: blake2b, table: Table, arrow: pa.Table) -> None:
    kept = [name for name in arrow.column_names if name not in table.written_columns]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, arrow.select(kept).schema) as stream:
        stream.write_table(arrow.select(kept))
    content.update(sink.getvalue())


@cache
def redacted_columns(model: type) -> dict[str, Any]:
    """Map each column of redacted text to a function that yields its texts."""
    found: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(model).items():
        if hint is RedactedText:
            found[name] = iter
        elif typing.get_origin(hint) is tuple:
            inner = typing.get_args(hint)[0]
            if inner is RedactedText:
                found[name] = _flatten
            elif dataclasses.is_dataclass(inner):
                found[name] = _flatten_errors
    return found


def _flatten(values: Sequence[Sequence[object]]) -> Iterator[object]:
    return (text for value in values for text in value)


def _flatten_errors(values: Sequence[Sequence[Any]]) -> Iterator[object]:
    return (error.text for value in values for error in value)


@cache
def _readers(model: type) -> dict[str, Any]:
    """Map each field of a model to the function that restores it from Arrow."""
    readers: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(model).items():
        if hint is RedactedText:
            readers[name] = seal
        elif typing.get_origin(hint) is tuple:
            inner = typing.get_args(hint)[0]
            readers[name] = _tuple_reader(inner)
        else:
            readers[name] = _as_is
    return readers


def _as_is(value: Any) -> Any:
    return value


def _tuple_reader(inner: type) -> Any:
    if inner is RedactedText:
        return lambda values: tuple(seal(value) for value in values or ())
    if dataclasses.is_dataclass(inner):
        readers = _readers(inner)
        return lambda values: tuple(
            inner(**{name: read(value[name]) for name, read in readers.items()})
            for value in values or ()
        )
    return lambda values: tuple(values or ())
