"""What a reader reads: the lines of a source, which a file has or a store's session is rendered to.

A store that is no file of lines (a database, a document that is rewritten whole, many small files)
is rendered in memory, one row or message a line, and last those that change as it goes on
(`CHANGING`). Equal rows give equal lines, so a session that grew begins with the bytes that it had
before them. So byte ranges, fingerprints and the account of text are the same for every agent.
Nothing rendered is written.

A file may be compressed (`.zst`, `.gz`): Codex compresses rollouts that rest for a week. What a
compressed file unpacks to is bounded, so that none can fill memory or time: to
`MAX_UNPACKED_BYTES`, and to `MAX_RATIO` times its size where it is more than `FREE_UNPACKED_BYTES`.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

import orjson

from memory_assets.errors import DamagedTranscript, printable, unreadable

BLOCK_BYTES = 1 << 20
MAX_UNPACKED_BYTES = 4 << 30
FREE_UNPACKED_BYTES = 64 << 20
MAX_RATIO = 1_000
"""Transcripts shrink to a fifth, those with much repetition to a hundredth."""

_CUT_OFF = "its compressed data is cut off"
_DAMAGED = "its compressed data is damaged"
_UNPACKS_TOO_LARGE = "it unpacks to more than can be a transcript"
MAX_RENDERED_BYTES = 1 << 30
"""A session that renders to more is not read: it is held in memory."""
_DEEPEST = 100
_DIGEST = 16
_TOO_LARGE = "it is too large to be held in memory"


def zstd_library() -> ModuleType:
    """Return the standard library's module for `.zst`, before Python 3.14 its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".zst":
        return cast("IO[bytes]", zstd_library().open(path))
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb", 0)


COMPRESSED = (".zst", ".gz")
"""Endings of compressed files."""


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is compressed, by its name."""
    return os.fspath(path).endswith(COMPRESSED)


def plain_name(name: str) -> str:
    """Return the name that a compressed file has when it is unpacked."""
    return os.path.splitext(name)[0] if name.endswith(COMPRESSED) else name  # noqa: PTH122


def _damaged(path: Path, reason: str) -> DamagedTranscript:
    return DamagedTranscript(f"{printable(path)}: {reason}", reason)


class FileContent:
    """A file of lines, plain or compressed: its own content."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_whole = is_compressed(path)
        """Whether it can only be read whole, and has no half-written last line."""

    @property
    def size(self) -> int:
        """Bytes on disk; raises `TranscriptError` if the file cannot be looked at."""
        try:
            return self._path.stat().st_size
        except OSError as error:
            raise unreadable(self._path, error) from error

    def read(self, start: int, end: int) -> bytes:
        """Return bytes on disk; raise `TranscriptError` if the file cannot be read."""
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(start)
                return file.read(max(end - start, 0))
        except OSError as error:
            raise unreadable(self._path, error) from error

    def text(self, end: int | None = None) -> Generator[bytes, None, None]:
        """Yield the file's bytes, unpacked, in blocks of at most `BLOCK_BYTES`: the first `end`, or
        all.

        Raises:
            TranscriptError: it cannot be opened or read.
            DamagedTranscript: it cannot be unpacked, or not within the limits.
        """
        path, left = self._path, sys.maxsize if end is None else end
        try:
            unpacked = min(MAX_UNPACKED_BYTES, max(FREE_UNPACKED_BYTES, MAX_RATIO * self.size))
            allowed = unpacked if self.is_whole else sys.maxsize
            with _opened(path) as file:
                if not left:
                    file.read(1)  # a file that cannot be read may say that it is empty
                while left > 0 and (block := file.read(min(BLOCK_BYTES, left))):
                    left -= len(block)
                    allowed -= len(block)
                    if allowed < 0:
                        raise _damaged(path, _UNPACKS_TOO_LARGE)
                    yield block
        except EOFError as error:
            raise _damaged(path, _CUT_OFF) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, _DAMAGED) from error
        except OSError as error:
            raise unreadable(path, error) from error
        except Exception as error:
            if path.suffix != ".zst" or not isinstance(error, zstd_library().ZstdError):
                raise
            raise _damaged(path, _DAMAGED) from error


CHANGING = ("session-state", "beside")
"""Types of rows that change as a session goes on: its title and tokens, and what else its document
says. They come last."""


class Rendered:
    """A session of a store, rendered to lines in memory."""

    is_whole = True

    def __init__(self, lines: bytes, finished: int) -> None:
        self._lines = lines
        self.finished = finished
        """Bytes of the lines that stay as they are when the session goes on."""

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], path: Path) -> Rendered:
        """Return the content of these rows, one JSON object a line.

        Raises:
            DamagedTranscript: they are more than fits into memory.
        """
        lines = bytearray()
        finished = None
        for row in rows:
            if finished is None and row.get("type") in CHANGING:
                finished = len(lines)
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


Content = FileContent | Rendered
"""The bytes that a source's lines are read from: those that are kept, which `read` returns, and the
lines in blocks, which `text` yields."""


def line_of(row: Any) -> bytes:
    """Return a row as one line of JSON; what JSON cannot say in it is left out."""
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # lone surrogates, integers over 64 bits
        return orjson.dumps(_sayable(row, 0), option=orjson.OPT_APPEND_NEWLINE)


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
        while left > 0 and (block := content.read(at, at + min(BLOCK_BYTES, left))):
            whole.update(blake2b(block, key=key, digest_size=_DIGEST).digest())
            left -= len(block)
            at += len(block)
    return whole.hexdigest()
