"""Writing and reading one Parquet file of the lake."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.stores.lake.rows import in_batches, with_schema

STAGING = re.compile(r"\.?(?P<of>.+\.parquet)\.\d+\.staging")
"""A file that is being written. Programs that read a directory of Parquet files skip names that
begin with a dot; former versions wrote them without."""
_VECTORS = frozenset({"vector.list.element"})
_LONG = _VECTORS | {"text"}
"""Columns that are most of a file."""


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield the name of a file to write before it replaces `path`; it is removed afterwards."""
    staging = path.with_name(f".{path.name}.{os.getpid()}.staging")
    staging.unlink(missing_ok=True)  # it may be a link to another file
    try:
        yield staging
    finally:
        staging.unlink(missing_ok=True)


def write_file(
    path: Path, schema: pa.Schema, parts: Iterable[pa.Table], footer: Mapping[str, str]
) -> None:
    """Write rows to a Parquet file, down to the disk."""
    with pq.ParquetWriter(path, schema, **_encoding(schema)) as writer:
        for part in in_batches(with_schema(part, schema) for part in parts):
            writer.write_table(part)
        writer.add_key_value_metadata(dict(footer))
    with path.open("rb") as file:
        os.fsync(file.fileno())


@cache
def _encoding(schema: pa.Schema) -> dict[str, Any]:
    """Return the encoding of columns: long ones, which are most of a file, with zstd, others with
    snappy and dictionaries, without statistics, which no reader of one session uses. Page checksums
    turn a byte that changed on the disk into an error.

    Most sessions are small: zstd and statistics of all columns took nearly half the time of writing
    and reading their files, and a third of the bytes.
    """
    leaves = column_names(schema)
    return {
        "compression": {leaf: "zstd" if leaf in _LONG else "snappy" for leaf in leaves},
        "compression_level": {leaf: 3 for leaf in leaves if leaf in _LONG} or None,
        "use_dictionary": [leaf for leaf in leaves if leaf not in _LONG],
        "use_byte_stream_split": [leaf for leaf in leaves if leaf in _VECTORS],
        "write_statistics": False,
        "write_page_checksum": True,
    }


def column_names(schema: pa.Schema) -> list[str]:
    """Return the names that Parquet gives to columns."""
    return [leaf for field in schema for leaf in _leaves(field.name, field.type)]


def names_in(metadata: pq.FileMetaData) -> list[str]:
    """Return the names that a file gives to its columns."""
    schema = metadata.schema
    return [schema.column(number).path for number in range(len(schema))]


def _leaves(name: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the names that Parquet gives to the columns of a field."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(f"{name}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{name}.{field.name}", field.type)
    else:
        yield name


def without_metadata(table: pa.Table) -> pa.Table:
    """Return a table without the metadata of its file."""
    return table.replace_schema_metadata(None)


def footer_of(metadata: pq.FileMetaData) -> dict[str, str]:
    """Return the footer metadata of a file as text."""
    return {name.decode(): value.decode() for name, value in (metadata.metadata or {}).items()}
