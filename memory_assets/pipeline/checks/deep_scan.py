"""The search for values that must not be stored, in every byte that this project keeps on disk.

Parquet, gzip, zip and SQLite files compress or cut up their contents, so those are searched too.
Nothing is written, and databases are opened read-only.
"""

from __future__ import annotations

import gzip
import os
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from memory_assets.errors import ConfigurationError, printable
from memory_assets.pipeline.checks.text_columns import batches, text_columns
from memory_assets.pipeline.checks.value_search import MIN_CANARY_BYTES, OVERLAP_BYTES, ValueSearch
from memory_assets.redaction.known_secrets import KnownValues

CANARIES_FILE = "canaries.txt"
MAX_HITS = 1_000
BLOCK_BYTES = 2_000_000
_SEPARATOR = b"\n\0\n"

Progress = Callable[[int], None]
"""Called with the number of bytes of files that were read since the last call."""


@dataclass(frozen=True)
class Hit:
    """A place where a value was found: file, offset (in packed content, from its start), name
    and form of the value; never the value itself."""

    path: str
    place: str
    offset: int
    what: str
    form: str


@dataclass
class DeepScan:
    """The result of a scan. `bytes` is the size of the files, `searched` includes unpacked
    content; `excluded` are the paths that were left out on purpose."""

    files: int = 0
    bytes: int = 0
    searched: int = 0
    seconds: float = 0.0
    canaries: int = 0
    known_values: int = 0
    hits: list[Hit] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether everything could be read, and nothing was found."""
        return not self.hits and not self.unreadable


def read_canaries(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the canaries of files with one value a line, each with a name that says file
    and line and not the value. Empty lines and lines that begin with `#` are skipped.

    Raises:
        ConfigurationError: a file cannot be read, or a value is too short to mean anything.
    """
    canaries = []
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"cannot read canaries from {path}: {type(error).__name__}"
            ) from None
        for number, line in enumerate(lines, start=1):
            value = line.strip()
            if not value or value.startswith("#"):
                continue
            if len(value.encode()) < MIN_CANARY_BYTES:
                raise ConfigurationError(
                    f"line {number} of {path} has fewer than {MIN_CANARY_BYTES} bytes: too "
                    "little to tell it from other text. Use a longer canary."
                )
            canaries.append((f"canary of line {number}", value))
    return canaries


def deep_scan(
    roots: Sequence[Path],
    canaries: Sequence[tuple[str, str]],
    known: KnownValues,
    *,
    excluded: Sequence[Path] = (),
    progress: Progress = lambda count: None,
) -> DeepScan:
    """Search every byte of every file under `roots` (files or directories) for values.

    Memory use is bounded: files are read in blocks. A file that vanishes meanwhile is skipped; one
    that cannot be read is reported, because nothing is proven of it.
    """
    begun = time.monotonic()
    search = ValueSearch(canaries, known)
    result = DeepScan(
        canaries=len(canaries),
        known_values=len(known.hashes),
        roots=[printable(root) for root in roots if root.exists()],
        excluded=[printable(path) for path in excluded if path.exists()],
    )
    for path in files_under(roots, excluded, result.unreadable):
        try:
            _scan_file(path, search, result, progress)
        except FileNotFoundError:
            continue
        except _UNREADABLE:
            result.unreadable.append(printable(path))
    result.seconds = time.monotonic() - begun
    return result


def files_under(
    roots: Sequence[Path], excluded: Sequence[Path], unreadable: list[str] | None = None
) -> Iterator[Path]:
    """Yield the regular files under `roots` but not under `excluded`, each once, in order.
    Only a part of a root can be excluded, never a root itself or a directory that contains one.
    Directories that cannot be listed are appended to `unreadable`."""
    tops = {root.resolve() for root in roots}
    left_out = {path.resolve() for path in excluded}
    left_out -= {*tops, *(parent for top in tops for parent in top.parents)}
    seen: set[Path] = set()
    for root in roots:
        for path in _walk(root, [] if unreadable is None else unreadable):
            real = path.resolve()
            if real in seen or real in left_out or left_out & set(real.parents):
                continue
            seen.add(real)
            if os.path.isfile(real):  # noqa: PTH113 - False, not an error, where it is not allowed
                yield path


def _walk(root: Path, unreadable: list[str]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            unreadable.append(printable(error.filename))

    if root.is_file():
        yield root
    for directory, subdirectories, names in os.walk(root, onerror=note):
        subdirectories.sort()
        yield from (Path(directory) / name for name in sorted(names))


def _scan_file(path: Path, search: ValueSearch, result: DeepScan, progress: Progress) -> None:
    in_name = search.matches(os.fsencode(path.name))
    shown = str(path.parent / "(a file whose name holds the value)") if in_name else printable(path)
    hits = [Hit(shown, "name", 0, match.what, match.form) for match in in_name]
    result.files += 1
    for piece in _pieces_of(path):
        for match in search.matches(piece.data):
            offset = piece.offset + match.offset
            hits.append(Hit(shown, piece.place, offset, match.what, match.form))
        result.searched += piece.fresh
        if not piece.place:
            result.bytes += piece.fresh
            progress(piece.fresh)
    result.hits += list(dict.fromkeys(hits))[: MAX_HITS - len(result.hits)]


@dataclass(frozen=True)
class _Piece:
    """Bytes to search. `place` says where in the file they are ("" for the file itself);
    `offset` is the position of the first byte there; `fresh` counts the bytes that were
    in no piece before."""

    place: str
    offset: int
    data: bytes
    fresh: int


def _pieces_of(path: Path) -> Iterator[_Piece]:
    """Yield all of a file, in blocks that overlap, and then what is packed in it.

    Raises:
        one of `_UNREADABLE`: it cannot be read, or not unpacked.
    """
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(0)
        yield from _blocks(file, "")
    for beginning, unpack in _PACKED.items():
        if head.startswith(beginning):
            yield from unpack(path)


def _blocks(file: IO[bytes] | gzip.GzipFile, place: str) -> Iterator[_Piece]:
    offset = 0
    tail = b""
    while block := file.read(BLOCK_BYTES):
        yield _Piece(place, offset - len(tail), tail + block, len(block))
        offset += len(block)
        tail = (tail + block)[-OVERLAP_BYTES:]


def _parquet(path: Path) -> Iterator[_Piece]:
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        for column in text_columns(file.read_row_group(group)):
            places = (f"row {row} of group {group}" for row in column.rows)
            yield from _values(column.name, zip(places, column.values, strict=True))


def _gzip(path: Path) -> Iterator[_Piece]:
    with gzip.open(path, "rb") as unpacked:
        yield from _blocks(unpacked, "gzip")


def _zip(path: Path) -> Iterator[_Piece]:
    with zipfile.ZipFile(path) as archive:
        for number, member in enumerate(archive.infolist()):
            with archive.open(member) as unpacked:
                yield from _blocks(unpacked, f"zip member {number}")


def _sqlite(path: Path) -> Iterator[_Piece]:
    """Yield the strings and blobs of a database: a value that is longer than a page lies
    in parts in the file."""
    with closing(_opened(path)) as database:
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        for (name,) in names:
            table = name.decode("utf-8", "replace")
            quoted = table.replace('"', '""')
            rows = database.execute(f'SELECT * FROM "{quoted}"')
            columns = [description[0] for description in rows.description]
            yield from _values(table, _cells(columns, rows))


_PACKED: dict[bytes, Callable[[Path], Iterator[_Piece]]] = {
    b"PAR1": _parquet,
    b"\x1f\x8b": _gzip,
    b"PK\x03\x04": _zip,
    b"SQLite format 3\0": _sqlite,
}
"""How to unpack a file, by its first bytes."""
_UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,  # an encrypted zip; NotImplementedError is one: an unknown compression
    pa.ArrowException,
    UnicodeDecodeError,  # of the name of a column, or of a string
    sqlite3.Error,
    zipfile.BadZipFile,
    zlib.error,
)


def _opened(path: Path) -> sqlite3.Connection:
    """Return a read-only connection; `immutable` where not even the index of the
    write-ahead log can be created next to the file."""
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


def _cells(columns: list[str], rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[str, bytes]]:
    for number, row in enumerate(rows):
        for column, value in zip(columns, row, strict=True):
            if isinstance(value, bytes):
                yield f"{column}, row {number}", value


def _values(name: str, values: Iterable[tuple[str, str | bytes | None]]) -> Iterator[_Piece]:
    """Yield values in batches, each value whole and apart from its neighbours."""
    strings = (
        (place, value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value or b"")
        for place, value in values
    )
    long = (string for string in strings if len(string[1]) >= 8)
    for batch in batches(long, BLOCK_BYTES):
        data = [value for _, value in batch]
        joined = _SEPARATOR.join(data)
        yield _Piece(f"{name}, from {batch[0][0]}", 0, joined, sum(map(len, data)))
