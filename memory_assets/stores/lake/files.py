"""One session's file of one table on disk: a base, and a tail where the base is big.

    <session>.parquet        the rows as last written whole
    <session>.tail.parquet   what replaces everything after the first `keep` rows of the base

So appending to a long session costs only what is added. The tail names the base that it
belongs to. A tail that names another base is left from before the base was rewritten, and is
ignored. Both are replaced by atomic rename, the base first.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.stores.lake.rows import BATCH_ROWS

Footer = Callable[[], Mapping[str, str]]
"""Returns a file's footer metadata; called after the last row."""

SUFFIX = ".parquet"
TAIL_SUFFIX = ".tail.parquet"
STAGING_SUFFIX = ".staging"
TAIL_FROM_BYTES = 1 << 20
"""A smaller base is rewritten whole, which costs less than a second file."""
MOST_TAIL_BYTES = 1 << 20
"""A tail that has outgrown this is merged into its base."""
_VECTORS = frozenset({"vector.list.element"})
_LONG = _VECTORS | {"text"}
"""Columns that are most of a file."""

_OUTPUT_HASH = "output_hash"
_GENERATION = "generation"
_TAIL_OF = "tail_of"
_KEEP = "keep"
_OWN = frozenset({_GENERATION, _TAIL_OF, _KEEP, "ARROW:schema"})


@dataclass(frozen=True)
class FileFacts:
    """Rows of a file, its bytes on disk, and a hash of its content."""

    rows: int
    bytes: int
    output_hash: str


class SessionRows:
    """The rows of a session's file, base and tail as one; made by `opened`."""

    def __init__(self, base: pq.ParquetFile, tail: pq.ParquetFile | None, size: int) -> None:
        self._base, self._tail, self._size = base, tail, size
        self._base_footer = _footer(base)
        self._tail_footer = {} if tail is None else _footer(tail)
        self.of_base = int(self._tail_footer.get(_KEEP, base.metadata.num_rows))

    @property
    def footer(self) -> dict[str, str]:
        """The footer metadata; that of the tail, if there is one."""
        footer = self._tail_footer or self._base_footer
        return {name: value for name, value in footer.items() if name not in _OWN}

    @property
    def base_name(self) -> str:
        """The name by which a tail refers to this base."""
        return self._base_footer.get(_GENERATION) or self._base_footer.get(_OUTPUT_HASH, "")

    @property
    def facts(self) -> FileFacts:
        """Rows, bytes and hash."""
        rows = self.of_base + (self._tail.metadata.num_rows if self._tail else 0)
        return FileFacts(rows, self._size, self.footer.get(_OUTPUT_HASH, ""))

    def read(self, columns: list[str] | None = None, skip: int = 0) -> pa.Table:
        """Return the rows from `skip` on; reads only their row groups."""
        parts = list(self.parts(skip, None, columns))
        if parts:
            return parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        empty = self._base.schema_arrow.empty_table()
        return empty if columns is None else empty.select(columns)

    def parts(
        self, start: int, end: int | None, columns: list[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield rows `start` to `end` (None: the last) in order, a row group at a time."""
        end = self.facts.rows if end is None else end
        yield from _slices(self._base, start, min(end, self.of_base), columns)
        if self._tail is not None:
            first = max(start - self.of_base, 0)
            yield from _slices(self._tail, first, end - self.of_base, columns)


@contextmanager
def opened(path: Path) -> Iterator[SessionRows]:
    """Give the rows of the session whose base is at `path`.

    Raises:
        FileNotFoundError: there is no base.
        pa.ArrowInvalid, OSError: one of the files is not readable as Parquet.
    """
    # The tail first: a base that is replaced after that does not fit it, and is newer.
    with ExitStack() as files:
        try:
            tail, tail_bytes = _open(tail_path(path), files)
        except FileNotFoundError:
            tail, tail_bytes = None, 0
        base, base_bytes = _open(path, files)
        rows = SessionRows(base, None, base_bytes)
        if tail is not None and _footer(tail).get(_TAIL_OF) == rows.base_name:
            rows = SessionRows(base, tail, base_bytes + tail_bytes)
        yield rows


def tail_path(path: Path) -> Path:
    """Return where the tail of the base at `path` is, or would be."""
    return path.with_name(path.name.removesuffix(SUFFIX) + TAIL_SUFFIX)


def remove(path: Path) -> None:
    """Remove a session's file, if it is there."""
    path.unlink(missing_ok=True)
    tail_path(path).unlink(missing_ok=True)


def write_whole(
    path: Path,
    schema: pa.Schema,
    parts: Iterable[pa.Table],
    footer: Footer,
    content: blake2b | str,
) -> FileFacts:
    """Replace a session's file by a base of these rows; without any, remove it.

    `content` is looked at, and `footer` called, after the last row.
    """
    staging = _staging(path)
    try:
        rows = _write(staging, schema, parts, footer, content, {_GENERATION: secrets.token_hex(8)})
        facts = FileFacts(rows, staging.stat().st_size, _hex(content))
        if rows:
            staging.replace(path)
        else:
            path.unlink(missing_ok=True)
        tail_path(path).unlink(missing_ok=True)
    finally:
        staging.unlink(missing_ok=True)
    return facts


def write_after(
    path: Path,
    schema: pa.Schema,
    keep: int,
    parts: Iterable[pa.Table],
    footer: Footer,
    content: blake2b,
) -> FileFacts:
    """Replace the rows after the first `keep` of a session's file by these.

    Raises:
        FileNotFoundError: there is no base.
        pa.ArrowInvalid, OSError: a file is not readable as Parquet.
        ValueError: it has fewer rows than `keep`.
    """
    with opened(path) as before:
        if before.facts.rows < keep:
            raise ValueError(f"{path.name} has {before.facts.rows} rows, {keep} are to be kept")
        if path.stat().st_size <= TAIL_FROM_BYTES:
            return write_whole(path, schema, chain(before.parts(0, keep), parts), footer, content)
        of_base = min(keep, before.of_base)
        staging = _staging(tail_path(path))
        own = {_TAIL_OF: before.base_name, _KEEP: str(of_base)}
        try:
            kept = before.parts(of_base, keep)
            rows = _write(staging, schema, chain(kept, parts), footer, content, own)
            if staging.stat().st_size > MOST_TAIL_BYTES:
                with pq.ParquetFile(staging) as tail:
                    merged = chain(before.parts(0, of_base), _slices(tail, 0, rows, None))
                    return write_whole(path, schema, merged, footer, content)
            staging.replace(tail_path(path))
        finally:
            staging.unlink(missing_ok=True)
    size = path.stat().st_size + tail_path(path).stat().st_size
    return FileFacts(of_base + rows, size, _hex(content))


def _write(
    staging: Path,
    schema: pa.Schema,
    parts: Iterable[pa.Table],
    footer: Footer,
    content: blake2b | str,
    own: Mapping[str, str],
) -> int:
    rows = 0
    with pq.ParquetWriter(staging, schema, **_encoding(schema)) as writer:
        for part in _regrouped(parts):
            writer.write_table(part)
            rows += len(part)
        writer.add_key_value_metadata({**footer(), _OUTPUT_HASH: _hex(content), **own})
    with staging.open("rb") as file:
        os.fsync(file.fileno())
    return rows


@cache
def _encoding(schema: pa.Schema) -> dict[str, Any]:
    """Return how columns are written: long ones, which are most of a file, with zstd, all else
    with snappy and by dictionary, without statistics, which no reader of one session's file uses.

    Most sessions are small: what zstd sets up for each column, and two bounds of each, took
    nearly half the time of writing and reading such a file, and a third of its bytes.
    """
    leaves = [leaf for field in schema for leaf in _leaves(field.name, field.type)]
    return {
        "compression": {leaf: "zstd" if leaf in _LONG else "snappy" for leaf in leaves},
        "compression_level": {leaf: 3 for leaf in leaves if leaf in _LONG} or None,
        "use_dictionary": [leaf for leaf in leaves if leaf not in _LONG],
        "use_byte_stream_split": [leaf for leaf in leaves if leaf in _VECTORS],
        "write_statistics": False,
    }


def _leaves(name: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the names that Parquet gives to the columns of a field."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(f"{name}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{name}.{field.name}", field.type)
    else:
        yield name


def _regrouped(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of these tables in tables of `BATCH_ROWS`, one for each row group."""
    waiting: list[pa.Table] = []
    held = 0
    for part in parts:
        while held + len(part) >= BATCH_ROWS:
            room = BATCH_ROWS - held
            waiting.append(_bare(part.slice(0, room)))
            yield pa.concat_tables(waiting)
            part, waiting, held = part.slice(room), [], 0
        if len(part):
            waiting.append(_bare(part))
            held += len(part)
    if waiting:
        yield pa.concat_tables(waiting)


def _slices(
    file: pq.ParquetFile, start: int, end: int, columns: list[str] | None
) -> Iterator[pa.Table]:
    """Yield rows `start` to `end` of one Parquet file, a row group at a time."""
    first = 0
    for number in range(file.metadata.num_row_groups):
        last = first + file.metadata.row_group(number).num_rows
        if first >= end or start >= end:
            return
        if last > start:
            group = _bare(file.read_row_group(number, columns=columns, use_threads=False))
            begin = max(start - first, 0)
            yield group.slice(begin, min(end, last) - first - begin)
        first = last


def _bare(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def _open(path: Path, files: ExitStack) -> tuple[pq.ParquetFile, int]:
    file = files.enter_context(pa.OSFile(str(path), "rb"))
    return pq.ParquetFile(file), file.size()


def _footer(file: pq.ParquetFile) -> dict[str, str]:
    metadata = file.metadata.metadata or {}
    return {name.decode(): value.decode() for name, value in metadata.items()}


def _hex(content: blake2b | str) -> str:
    return content if isinstance(content, str) else content.hexdigest()


def _staging(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}{STAGING_SUFFIX}")
