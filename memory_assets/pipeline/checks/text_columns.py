"""Every string of an Arrow table, however deep it is nested, with the row that it is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Rows = npt.NDArray[np.int64]
Place = TypeVar("Place")
_FEW = 64
"""Fewer values are read in Python, which is cheaper than calls of Arrow; a turn has few rows."""


@dataclass(frozen=True)
class TextColumn:
    """The distinct strings of one column: `name` is its path (`errors[].text`), and
    `rows[i]` the first row of the table that has `values[i]`."""

    name: str
    values: list[str | bytes]
    rows: list[int]


def batches(
    values: Iterable[tuple[Place, bytes]], size: int
) -> Iterator[list[tuple[Place, bytes]]]:
    """Yield values, each with its place, in lists of at least `size` bytes; the last is shorter."""
    batch: list[tuple[Place, bytes]] = []
    held = 0
    for place, value in values:
        batch.append((place, value))
        held += len(value)
        if held >= size:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def text_columns(table: pa.Table) -> Iterator[TextColumn]:
    """Yield the columns of `table` that hold strings or bytes: plain ones, and those in
    lists, maps and structs."""
    whole = table.combine_chunks()
    for name in whole.column_names:
        column: Any = whole[name]
        array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        yield from _texts(name, array, np.arange(len(array), dtype=np.int64))


def holds_text(type_: pa.DataType) -> bool:
    """Whether a value of this type can contain strings or bytes."""
    empty: Any = pa.array([], type_)
    return next(_texts("", empty, np.empty(0, dtype=np.int64)), None) is not None


def _texts(name: str, array: Any, rows: Rows) -> Iterator[TextColumn]:
    type_ = array.type
    if isinstance(array, pa.ExtensionArray):
        yield from _texts(name, array.storage, rows)
    elif pa.types.is_dictionary(type_):
        yield from _texts(name, array.dictionary_decode(), rows)
    elif pa.types.is_map(type_):
        pairs = pa.list_(pa.struct([("key", type_.key_type), ("value", type_.item_type)]))
        yield from _texts(name, array.cast(pairs), rows)
    elif pa.types.is_struct(type_):
        for field in type_:
            yield from _texts(f"{name}.{field.name}", pc.struct_field(array, field.name), rows)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        parents = pc.list_parent_indices(array).to_numpy()
        yield from _texts(f"{name}[]", pc.list_flatten(array), rows[parents])
    elif pa.types.is_fixed_size_list(type_):
        if holds_text(type_.value_type):
            parents = pc.list_parent_indices(array).to_numpy()
            yield from _texts(f"{name}[]", pc.list_flatten(array), rows[parents])
    elif _is_text(type_):
        yield _distinct(name, array, rows)


def _is_text(type_: pa.DataType) -> bool:
    plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    return type_ in plain or pa.types.is_fixed_size_binary(type_)


def _distinct(name: str, array: Any, rows: Rows) -> TextColumn:
    if len(array) < _FEW:
        first: dict[str | bytes, int] = {}
        for value, row in zip(array.to_pylist(), rows.tolist(), strict=True):
            if value is not None:
                first.setdefault(value, row)
        return TextColumn(name, list(first), list(first.values()))
    encoded = array.dictionary_encode()
    indices = encoded.indices
    at = np.flatnonzero(indices.is_valid().to_numpy(zero_copy_only=False))
    _, places = np.unique(indices.drop_null().to_numpy(), return_index=True)
    return TextColumn(name, encoded.dictionary.to_pylist(), rows[at[places]].tolist())
