"""What a reader reads: the lines of a source, which a file has or a store's session is rendered to.

A store that is no file of lines (a database, a document that is rewritten whole, many small files)
is rendered in memory, one finished row or message a line, those that are unfinished last. Equal
rows give equal lines, so a session that grew begins with the bytes that it had. So byte ranges,
fingerprints and the account of text are the same for every agent. Nothing rendered is written.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import orjson

from memory_assets.errors import DamagedTranscript, printable, unreadable
from memory_assets.transcripts.containers import (
    BLOCK_BYTES,
    is_compressed,
    read_blocks,
    size_of,
)

MAX_RENDERED_BYTES = 1 << 30
"""A session that renders to more is not read: it is held in memory."""
_TOO_LARGE = "it is too large to be held in memory"


class Content(Protocol):
    """The bytes that a source's lines are read from."""

    @property
    def size(self) -> int:
        """Bytes that are kept; raises `TranscriptError` if they cannot be looked at."""

    @property
    def is_whole(self) -> bool:
        """Whether it can only be read whole, and has no half-written last line."""

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes that are kept from `start` to `end`, fewer at the end."""

    def text(self, end: int | None = None) -> Generator[bytes, None, None]:
        """Yield the lines' bytes in blocks, unpacked: the first `end`, or all."""


class FileContent:
    """A file of lines, plain or compressed: its own content."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_whole = is_compressed(path)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return size_of(self._path)

    def read(self, start: int, end: int) -> bytes:
        """Return bytes on disk; raise `TranscriptError` if the file cannot be read."""
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(start)
                return file.read(max(end - start, 0))
        except OSError as error:
            raise unreadable(self._path, error) from error

    def text(self, end: int | None = None) -> Generator[bytes, None, None]:
        """Yield the file's bytes, unpacked."""
        return read_blocks(self._path, end)


class Rendered:
    """A session of a store, rendered to lines in memory."""

    is_whole = True

    def __init__(self, lines: bytes, finished: int) -> None:
        self._lines = lines
        self.finished = finished
        """Bytes of the lines that stay as they are when the session goes on."""

    @classmethod
    def of(cls, rows: Iterable[Any], path: Path) -> Rendered:
        """Return the content of these rows, one JSON object a line; None stands before the first
        that may still change.

        Raises:
            DamagedTranscript: they are more than fits into memory.
        """
        lines = bytearray()
        finished = None
        for row in rows:
            if row is None:
                finished = len(lines)
                continue
            lines += line_of(row)
            if len(lines) > MAX_RENDERED_BYTES:
                raise DamagedTranscript(f"{printable(path)}: {_TOO_LARGE}", _TOO_LARGE)
        return cls(bytes(lines), len(lines) if finished is None else finished)

    @property
    def size(self) -> int:
        """Bytes of the lines."""
        return len(self._lines)

    def read(self, start: int, end: int) -> bytes:
        """Return bytes of the lines."""
        return self._lines[start:end]

    def text(self, end: int | None = None) -> Generator[bytes, None, None]:
        """Yield the lines' bytes."""
        end = len(self._lines) if end is None else min(end, len(self._lines))
        for start in range(0, end, BLOCK_BYTES):
            yield self._lines[start : min(start + BLOCK_BYTES, end)]


def line_of(row: Any) -> bytes:
    """Return a row as one line of JSON; what JSON cannot say in it is left out."""
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # lone surrogates, integers over 64 bits
        return orjson.dumps(_sayable(row, 0), option=orjson.OPT_APPEND_NEWLINE)


_DEEPEST = 100


def _sayable(value: Any, depth: int) -> Any:
    """Return a value as JSON can say it: lone surrogates replaced, large integers as text."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, bool | float) or value is None:
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else str(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        pairs = ((_sayable(str(key), 0), _sayable(item, depth + 1)) for key, item in value.items())
        return dict(pairs)
    if isinstance(value, list | tuple):
        return [_sayable(item, depth + 1) for item in value]
    return None


_BLOCK = 1 << 20
_DIGEST = 16


def take_fingerprint(contents: Sequence[Content], length: int, key: bytes) -> str:
    """Return a digest of the first `length` bytes that contents keep, in order, 32 hex digits, made
    of the hashes of their blocks.

    Raises:
        TranscriptError: one cannot be read.
    """
    whole = blake2b(f"{length}\0".encode(), key=key, digest_size=_DIGEST)
    left = length
    for content in contents:
        at = 0
        while left > 0 and (block := content.read(at, at + min(_BLOCK, left))):
            whole.update(blake2b(block, key=key, digest_size=_DIGEST).digest())
            left -= len(block)
            at += len(block)
    return whole.hexdigest()
