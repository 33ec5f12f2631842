"""Rows of the lake: from a table's model to Arrow and back, with redacted text only."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property
from hashlib import blake2b
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import pyarrow as pa

from memory_assets.models import PLAIN_TEXTS
from memory_assets.redacted_text import RedactedText, require_redacted, seal
from memory_assets.stores.lake.schemas import Table

BATCH_ROWS = 2_000
_STREAM = pa.ipc.IpcWriteOptions()
"""The defaults; without them Arrow asks the environment each time."""


OUTPUT_HASH = "output_hash"
"""Names the hash of a session's rows in their footer."""


@dataclasses.dataclass(frozen=True)
class FileFacts:
    """The number of a session's rows, and a hash of their content."""

    rows: int
    output_hash: str


@dataclasses.dataclass(frozen=True)
class ArrowRows:
    """A session's rows of a table, ready to be written, with their footer."""

    parts: Sequence[pa.Table]
    footer: Mapping[str, str]
    facts: FileFacts

    @cached_property
    def nbytes(self) -> int:
        """The bytes of the rows in memory; on disk they are about a quarter of that."""
        return sum(part.nbytes for part in self.parts)


@dataclasses.dataclass(frozen=True)
class Stored:
    """Rows in Arrow that were read from the lake, and so are redacted."""

    rows: pa.Table


def arrow_rows(
    table: Table,
    rows: Iterable[Any],
    *,
    footer: Mapping[str, str] | None = None,
    extra: Mapping[str, Sequence[object]] | None = None,
) -> ArrowRows:
    """Return rows (instances of the table's model, or `Stored`) in Arrow tables of `BATCH_ROWS`.
    `extra` fills the table's written columns; `footer` is kept as Parquet metadata.

    Raises:
        TypeError: a text is not redacted.
    """
    content = blake2b(digest_size=16)
    parts: list[pa.Table] = []
    for part in in_batches(_arrow_parts(table, rows, extra or {})):
        whole = part.combine_chunks()  # equal rows give equal bytes, however they came here
        _add_content(content, table, whole)
        parts.append(whole)
    facts = FileFacts(sum(map(len, parts)), content.hexdigest())
    return ArrowRows(parts, {**(footer or {}), OUTPUT_HASH: facts.output_hash}, facts)


def _arrow_parts(
    table: Table, rows: Iterable[Any], extra: Mapping[str, Sequence[object]]
) -> Iterator[pa.Table]:
    written = 0
    batch: list[Any] = []

    def converted() -> pa.Table:
        nonlocal written, batch
        end = written + len(batch)
        part = _to_arrow(
            table, batch, {name: column[written:end] for name, column in extra.items()}
        )
        written, batch = end, []
        return part

    for row in rows:
        if isinstance(row, Stored):
            if batch:
                yield converted()
            yield row.rows
            continue
        batch.append(row)
        if len(batch) == BATCH_ROWS:
            yield converted()
    if batch:
        yield converted()


def in_batches(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of these tables in tables of `BATCH_ROWS`, one for each row group."""
    waiting: list[pa.Table] = []
    waiting_rows = 0
    for part in parts:
        while waiting_rows + len(part) >= BATCH_ROWS:
            room = BATCH_ROWS - waiting_rows
            waiting.append(part.slice(0, room).replace_schema_metadata(None))
            yield pa.concat_tables(waiting)
            part, waiting, waiting_rows = part.slice(room), [], 0
        if len(part):
            waiting.append(part.replace_schema_metadata(None))
            waiting_rows += len(part)
    if waiting:
        yield pa.concat_tables(waiting)


def rows_from_arrow(table: Table, arrow: pa.Table) -> list[Any]:
    """Return Arrow rows as instances of the table's model; free text is sealed, and a field without
    a column is empty."""
    columns: list[Iterable[Any]] = []
    for name, convert in _readers(table.model).items():
        if name not in arrow.column_names:
            empty = _empty(table.schema.field(name))
            columns.append(repeat(empty if convert is None else convert(empty), len(arrow)))
            continue
        column = arrow.column(name)
        values = _times(column) if pa.types.is_timestamp(column.type) else column.to_pylist()
        columns.append(values if convert is None else map(convert, values))
    return list(map(table.model, *columns))


def _times(column: pa.ChunkedArray[Any]) -> list[datetime | None]:
    """Return the values of a column of times; `to_pylist` takes seven times as long."""
    naive: list[datetime | None] = column.to_numpy().tolist()
    return [at and at.replace(tzinfo=UTC) for at in naive]


def with_schema(part: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a schema. Rows of an earlier version lack some: they get
    empty values until they are made again."""
    if part.column_names == schema.names:
        return part
    columns = [
        part[field.name]
        if field.name in part.column_names
        else pa.array([_empty(field)] * len(part), type=field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _empty(field: pa.Field[Any]) -> Any:
    """Return the value that a column has in rows written before there was such a column."""
    kind = field.type
    if field.nullable:
        return None
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_list(kind):
        return []
    return "" if pa.types.is_string(kind) else 0


def texts_from_arrow(arrow: pa.Table) -> list[tuple[str, str, RedactedText]]:
    """Return (id, content_hash, text) of each row; the text is sealed."""
    columns = (arrow[name].to_pylist() for name in ("id", "content_hash"))
    return list(zip(*columns, texts_of(arrow), strict=True))


def texts_of(arrow: pa.Table, column: str = "text") -> list[RedactedText]:
    """Return the text of each row, sealed."""
    texts: list[Any] = arrow[column].to_pylist()
    return list(map(seal, texts))


def _to_arrow(table: Table, rows: Sequence[Any], extra: Mapping[str, Sequence[Any]]) -> pa.Table:
    redacted = redacted_columns(table.model)
    columns: list[pa.Array[Any]] = []
    for name, kind, holds_structs in _columns(table):
        values: Sequence[Any]
        if name in table.written_columns:
            values = extra[name]
        else:
            values = list(map(attrgetter(name), rows))
            texts_of = redacted.get(name)
            if texts_of is not None:
                require_redacted(texts_of(values))
        if holds_structs:
            values = [[dataclasses.asdict(item) for item in items] for items in values]
        columns.append(pa.array(values, type=kind))
    return pa.Table.from_arrays(columns, schema=table.schema)


@cache
def _columns(table: Table) -> list[tuple[str, pa.DataType, bool]]:
    """Return name and type of each column, and whether it holds lists of structs."""
    return [
        (
            field.name,
            field.type,
            pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type),
        )
        for field in table.schema
    ]


def _add_content(content: blake2b, table: Table, arrow: pa.Table) -> None:
    kept = arrow.select([name for name in arrow.column_names if name not in table.written_columns])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, kept.schema, options=_STREAM) as stream:
        stream.write_table(kept)
    content.update(sink.getvalue())


@cache
def redacted_columns(model: type) -> dict[str, Callable[[Iterable[Any]], Iterable[object]]]:
    """Map each column of redacted text to a function that yields the texts of its values."""
    columns: dict[str, Callable[[Iterable[Any]], Iterable[object]]] = {}
    for name, hint in typing.get_type_hints(model).items():
        inner = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else None
        if hint is RedactedText:
            columns[name] = iter
        elif inner is RedactedText:
            columns[name] = chain.from_iterable
        elif dataclasses.is_dataclass(inner):
            columns[name] = lambda values: (item.text for value in values for item in value)
    return columns


def searched_columns(model: type) -> list[str]:
    """Return the columns that are searched for what must not be stored: of redacted text, and of
    strings that were redacted."""
    return [*redacted_columns(model), *(name for name in PLAIN_TEXTS if name in _readers(model))]


@cache
def _readers(model: type) -> dict[str, Callable[[Any], Any] | None]:
    """Map each field of a model to the function that restores it from Arrow, None for one that
    needs none."""
    return {name: _reader(hint) for name, hint in typing.get_type_hints(model).items()}


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    if hint is RedactedText:
        return seal
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        readers = _readers(hint)
        return lambda row: hint(
            **{name: read(row[name]) if read else row[name] for name, read in readers.items()}
        )
    if typing.get_origin(hint) is tuple:
        read_item = _reader(typing.get_args(hint)[0])
        return lambda values: tuple(map(read_item, values or ()) if read_item else values or ())
    return None
