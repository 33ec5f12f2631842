"""SQLite's write-ahead log, applied to a copy of its database in memory.

For a database whose directory cannot be written: SQLite would need a file beside it to read the
log. The format is that of sqlite.org/fileformat2.html, section 4: a header of 32 bytes, then frames
of 24 bytes and a page. A frame counts if its salts are the header's and its checksum, which goes on
from frame to frame, is right; frames count up to the last one that ends a transaction.
"""

from __future__ import annotations

import struct

_HEADER, _FRAME = 32, 24
_MAGIC = 0x377F0682
"""The last bit says that checksums are made of big-endian words."""
_MASK = 0xFFFFFFFF
_WRITE_VERSION, _READ_VERSION = 18, 19
"""Bytes of a database's header: 2 where it uses a log, 1 where not."""


def with_wal(database: bytes, wal: bytes) -> bytes:
    """Return a database with the transactions of its log, as one that uses none."""
    pages = bytearray(database)
    size = _apply(pages, wal)
    if size:
        del pages[size:]
    if len(pages) > _READ_VERSION:
        pages[_WRITE_VERSION] = pages[_READ_VERSION] = 1
    return bytes(pages)


def _apply(pages: bytearray, wal: bytes) -> int:
    """Write the pages of finished transactions, and return the database's size; 0 for none."""
    if len(wal) < _HEADER:
        return 0
    magic, _, page_size, _, *salts, first, second = struct.unpack(">8I", wal[:_HEADER])
    if magic & ~1 != _MAGIC or not 512 <= page_size <= 65536 or page_size & (page_size - 1):
        return 0
    order = ">" if magic & 1 else "<"
    sums = _checksum(wal[:24], order, 0, 0)
    if sums != (first, second):
        return 0
    size, waiting = 0, dict[int, int]()
    for at in range(_HEADER, len(wal) - _FRAME - page_size + 1, _FRAME + page_size):
        number, commit, *own_salts, one, two = struct.unpack(">6I", wal[at : at + _FRAME])
        start = at + _FRAME
        sums = _checksum(wal[at : at + 8], order, *sums)
        sums = _checksum(wal[start : start + page_size], order, *sums)
        if own_salts != salts or sums != (one, two) or not number:
            break
        waiting[number] = start
        if commit:
            size = commit * page_size
            pages.extend(bytes(max(size - len(pages), 0)))
            for page, place in waiting.items():
                where = (page - 1) * page_size
                if where < size:
                    pages[where : where + page_size] = wal[place : place + page_size]
            waiting.clear()
    return size


def _checksum(data: bytes, order: str, first: int, second: int) -> tuple[int, int]:
    for one, two in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & _MASK
        second = (second + two + first) & _MASK
    return first, second
