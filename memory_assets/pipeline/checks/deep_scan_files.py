"""What a file holds, as pieces of bytes: the file itself, and the contents of Parquet,
gzip, zip and SQLite files, which compress or cut up what is in them.

Nothing is written, and databases are opened read-only.
"""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.pipeline.checks.deep_scan_forms import OVERLAP_BYTES
from memory_assets.pipeline.checks.text_columns import text_columns

BLOCK_BYTES = 2_000_000
_SEPARATOR = b"\n\0\n"


@dataclass(frozen=True)
class Piece:
    """Bytes to search. `place` says where in the file they are ("" for the file itself);
    `offset` is the position of the first byte there; `fresh` counts the bytes that were
    in no piece before."""

    place: str
    offset: int
    data: bytes
    fresh: int


class UnpackError(OSError):
    """A file that should hold more inside cannot be unpacked."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def pieces_of(path: Path) -> Iterator[Piece]:
    """Yield all of a file, in blocks that overlap, and then what is packed in it.

    Raises:
        OSError: it cannot be read, or (`UnpackError`) not unpacked.
    """
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(0)
        yield from _blocks(file, "")
    if head.startswith(b"PAR1"):
        yield from _parquet(path)
    elif head.startswith(b"\x1f\x8b"):
        yield from _gzip(path)
    elif head.startswith(b"PK\x03\x04"):
        yield from _zip(path)
    elif head.startswith(b"SQLite format 3\0"):
        yield from _sqlite(path)


def _blocks(file: _Readable, place: str) -> Iterator[Piece]:
    offset = 0
    tail = b""
    while block := file.read(BLOCK_BYTES):
        yield Piece(place, offset - len(tail), tail + block, len(block))
        offset += len(block)
        tail = (tail + block)[-OVERLAP_BYTES:]


def _parquet(path: Path) -> Iterator[Piece]:
    try:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            for column in text_columns(file.read_row_group(group)):
                places = (f"row {row} of group {group}" for row in column.rows)
                yield from _values(column.name, zip(places, column.values, strict=True))
    except pa.ArrowInvalid:
        raise UnpackError("not readable as Parquet") from None


def _gzip(path: Path) -> Iterator[Piece]:
    try:
        with gzip.open(path, "rb") as unpacked:
            yield from _blocks(unpacked, "gzip")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise UnpackError("not readable as gzip") from None


def _zip(path: Path) -> Iterator[Piece]:
    try:
        with zipfile.ZipFile(path) as archive:
            for number, member in enumerate(archive.infolist()):
                with archive.open(member) as unpacked:
                    yield from _blocks(unpacked, f"zip member {number}")
    except (EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise UnpackError("not readable as zip") from None


def _sqlite(path: Path) -> Iterator[Piece]:
    """Yield the strings and blobs of a database: a value that is longer than a page lies
    in parts in the file."""
    try:
        with closing(_opened(path)) as database:
            names = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND sql NOT LIKE 'CREATE VIRTUAL%'"
            ).fetchall()
            for (name,) in names:
                rows = database.execute(f"SELECT * FROM {_quoted(name)}")
                columns = [description[0] for description in rows.description]
                yield from _values(name, _cells(columns, rows))
    except sqlite3.Error:
        raise UnpackError("not readable as SQLite") from None


def _opened(path: Path) -> sqlite3.Connection:
    """Return a read-only connection; `immutable` where not even the index of the
    write-ahead log can be made beside the file."""
    for options in ("mode=ro", "mode=ro&immutable=1"):
        database = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True)
        database.text_factory = bytes
        try:
            database.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error:
            database.close()
            continue
        return database
    raise sqlite3.OperationalError("cannot be opened")


def _quoted(name: bytes) -> str:
    return '"' + name.decode("utf-8", "replace").replace('"', '""') + '"'


def _cells(columns: list[str], rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[str, bytes]]:
    for number, row in enumerate(rows):
        for column, value in zip(columns, row, strict=True):
            if isinstance(value, bytes):
                yield f"{column}, row {number}", value


def _values(name: str | bytes, values: Iterable[tuple[str, str | bytes | None]]) -> Iterator[Piece]:
    """Yield values in batches, each value whole and apart from its neighbours."""
    title = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    batch: list[bytes] = []
    first, size = "", 0
    for place, value in values:
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value or b""
        if len(data) < 8:
            continue
        first = first or place
        batch.append(data)
        size += len(data)
        if size >= BLOCK_BYTES:
            yield Piece(f"{title}, from {first}", 0, _SEPARATOR.join(batch), size)
            batch, first, size = [], "", 0
    if batch:
        yield Piece(f"{title}, from {first}", 0, _SEPARATOR.join(batch), size)
