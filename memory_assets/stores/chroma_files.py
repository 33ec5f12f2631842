"""The local Chroma's files, rewritten while no process has them open.

A row that was deleted through Chroma stays in its files: in the HNSW files of its
collection (which is why a collection is replaced, see `VectorStore.replace`), in the
directories of deleted collections, in the queue, in free pages and in full-text pages.

Seen with chromadb 1.5.9: a deleted collection's HNSW directory is never removed; and the
HNSW files of any collection, made for more elements than there are, end in whatever the
server's memory held when they were written: documents of other collections, for one.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.stores.erasure import compact

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID_LENGTH = 36
_HEADER_FILE, _ELEMENTS_FILE, _LENGTHS_FILE = "header.bin", "data_level0.bin", "length.bin"
_HEADER = struct.Struct("<iQQQQ")
_HEADER_BYTES = 100
"""What chroma-hnswlib writes begins with: version, offset of level 0, room for elements,
elements, bytes an element."""
_LENGTH_BYTES = 4
_ZEROS = 1 << 20
DATABASE = "chroma.sqlite3"


def sweep(directory: Path) -> int:
    """Remove what belongs to no collection any more; return how many directories there
    were. Collections that are there, ours or not, keep all they have.

    Raises:
        StoreError: the files cannot be rewritten, or are not as we know them.
    """
    database = directory / DATABASE
    if not database.exists():
        return 0
    try:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(
                f"DELETE FROM embeddings_queue WHERE substr(topic, -{_UUID_LENGTH}) NOT IN"
                " (SELECT id FROM collections)"
            )
            kept = {row[0] for row in connection.execute("SELECT id FROM segments")}
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot clean {database} ({type(error).__name__}: {error}). Remove {directory}: "
            "`memory ingest` makes it again from the lake. Collections of others in it are lost "
            "with it."
        ) from None
    compact(database)
    for segment in sorted(kept):
        if (directory / segment / _HEADER_FILE).exists():
            _clear_unused(directory / segment)
    removed = 0
    for path in directory.iterdir():
        if path.is_dir() and _UUID.fullmatch(path.name) and path.name not in kept:
            shutil.rmtree(path)
            removed += 1
    return removed


def _clear_unused(segment: Path) -> None:
    """Overwrite with zeros the room that the HNSW files hold for elements to come."""
    header = (segment / _HEADER_FILE).read_bytes()
    files = {_ELEMENTS_FILE: 0, _LENGTHS_FILE: _LENGTH_BYTES}
    if len(header) == _HEADER_BYTES:
        _, _, room, used, files[_ELEMENTS_FILE] = _HEADER.unpack_from(header)
        sizes = {name: (segment / name).stat().st_size for name in files}
        if all(used * each <= sizes[name] <= room * each for name, each in files.items()):
            for name, each in files.items():
                _zero_from(segment / name, used * each)
            return
    raise StoreError(
        f"{segment} is not as chromadb 1.5.9 writes it, so nobody can tell whether deleted text "
        f"is left in it. Remove {segment.parent}: `memory ingest` makes our collections again."
    )


def _zero_from(path: Path, start: int) -> None:
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        file.seek(start)
        while start < end:
            start += file.write(bytes(min(_ZEROS, end - start)))
        file.flush()
        os.fsync(file.fileno())
