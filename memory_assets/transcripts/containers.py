"""The bytes of a transcript, whether its file is plain or compressed (`.zst`, `.gz`).

Codex compresses rollouts that rest for a week. What a compressed file unpacks to is bounded, so
that none can fill memory or time: to `MAX_UNPACKED_BYTES`, and to `MAX_RATIO` times its size
where it is more than `FREE_UNPACKED_BYTES`.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, cast

from memory_assets.errors import DamagedTranscript, printable, unreadable

BLOCK_BYTES = 1 << 20
MAX_UNPACKED_BYTES = 4 << 30
FREE_UNPACKED_BYTES = 64 << 20
MAX_RATIO = 1_000
"""Transcripts shrink to a fifth, those with much repetition to a hundredth."""

_CUT_OFF = "its compressed data is cut off"
_DAMAGED = "its compressed data is damaged"
_TOO_LARGE = "it unpacks to more than can be a transcript"


def zstd_library() -> ModuleType:
    """Return the standard library's module for `.zst`, before Python 3.14 its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _unzst(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", zstd_library().open(path))


def _gunzip(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path))


_OPENERS: dict[str, Callable[[Path], IO[bytes]]] = {".zst": _unzst, ".gz": _gunzip}
COMPRESSED = tuple(_OPENERS)
"""Endings of compressed files."""


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is compressed, by its name."""
    return os.fspath(path).endswith(COMPRESSED)


def plain_name(name: str) -> str:
    """Return the name that a compressed file has when it is unpacked."""
    return os.path.splitext(name)[0] if name.endswith(COMPRESSED) else name  # noqa: PTH122


def read_blocks(path: Path, end: int | None = None) -> Generator[bytes, None, None]:
    """Yield the bytes of a transcript, unpacked, in blocks of at most `BLOCK_BYTES`: the first
    `end`, or all.

    Raises:
        TranscriptError: it cannot be opened or read.
        DamagedTranscript: it cannot be unpacked, or not within the limits.
    """
    left = sys.maxsize if end is None else end
    if is_compressed(path):
        yield from _unpacked(path, left)
        return
    try:
        with path.open("rb", buffering=0) as file:
            while left > 0 and (block := file.read(min(BLOCK_BYTES, left))):
                left -= len(block)
                yield block
    except OSError as error:
        raise unreadable(path, error) from error


def size_of(path: Path) -> int:
    """Return the size of a file on disk, in bytes.

    Raises:
        TranscriptError: it cannot be looked at.
    """
    try:
        return path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from error


def _unpacked(path: Path, left: int) -> Iterator[bytes]:
    try:
        size = path.stat().st_size
        allowed = min(MAX_UNPACKED_BYTES, max(FREE_UNPACKED_BYTES, MAX_RATIO * size))
        with _OPENERS[path.suffix](path) as file:
            while left > 0 and (block := file.read(min(BLOCK_BYTES, left))):
                left -= len(block)
                allowed -= len(block)
                if allowed < 0:
                    raise _damaged(path, _TOO_LARGE)
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


def _damaged(path: Path, reason: str) -> DamagedTranscript:
    return DamagedTranscript(f"{printable(path)}: {reason}", reason)
