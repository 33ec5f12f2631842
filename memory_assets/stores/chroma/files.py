"""The local Chroma's files: examining and moving them while no process has them open.

Seen with chromadb 1.5.9: a deleted collection's HNSW directory is never removed.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.stores.files.sqlite import connect

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEADER_FILE, _ELEMENTS_FILE, _LENGTHS_FILE = "header.bin", "data_level0.bin", "length.bin"
_HEADER = struct.Struct("<iQQQQ")
_HEADER_BYTES = 100
"""Length of the header of chroma-hnswlib's files: version, offset of level 0, capacity, number
of elements, bytes of an element."""
_LENGTH_BYTES = 4
_LINK_LENGTH = struct.Struct("<I")
_LINKS_FILE, _LABELS_FILE = "link_lists.bin", "index_metadata.pickle"
_PICKLE_BEGINS, _PICKLE_ENDS = b"\x80", b"."
_SQLITE_MAGIC = b"SQLite format 3\0"
_BROKEN = "chroma.broken-"
DATABASE = "chroma.sqlite3"
OTHERS_FILE = "OTHERS.json"


def damage(directory: Path, *, thoroughly: bool = False) -> str | None:
    """Return what is wrong with Chroma's files, or None where they look whole.

    Chroma overwrites its HNSW files in place: a process that is killed meanwhile leaves
    them torn, and every later call fails. Lengths and ends are examined, never a row: some
    30 ms at 100,000 rows. `thoroughly` has SQLite read the whole database: seconds a GB.
    """
    database = directory / DATABASE
    if not database.exists():
        return f"{DATABASE} is missing" if directory.exists() and _segments(directory) else None
    wrong = _database_damage(database)
    if wrong is not None:
        return wrong
    try:
        with closing(connect(database, mode="ro")) as connection:
            persisted = connection.execute(
                "SELECT id FROM segments JOIN max_seq_id ON segment_id = id WHERE scope = 'VECTOR'"
            ).fetchall()
            if thoroughly and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return f"{DATABASE} is damaged within"
    except sqlite3.Error as error:
        return f"{DATABASE} cannot be read ({type(error).__name__})"
    for (segment,) in persisted:
        wrong = _segment_damage(directory / segment)
        if wrong is not None:
            return f"the vectors' index {segment}: {wrong}"
    return None


def _segments(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if _UUID.fullmatch(path.name)]


def _database_damage(database: Path) -> str | None:
    with database.open("rb") as file:
        header = file.read(100)
    size = database.stat().st_size
    if not size:
        return None  # as SQLite leaves it when it has just begun
    if len(header) < 100 or not header.startswith(_SQLITE_MAGIC):
        return f"{DATABASE} is not a database"
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    if size < pages * (65536 if page == 1 else page):
        return f"{DATABASE} is cut off"
    return None


def _segment_damage(segment: Path) -> str | None:
    if not segment.is_dir():
        return "its directory is missing"
    try:
        header = (segment / _HEADER_FILE).read_bytes()
        labels = (segment / _LABELS_FILE).read_bytes()
        links = (segment / _LINKS_FILE).read_bytes()
        elements = (segment / _ELEMENTS_FILE).stat().st_size
        lengths = (segment / _LENGTHS_FILE).stat().st_size
    except OSError as error:
        return f"{Path(str(error.filename)).name} is missing"
    if not (labels.startswith(_PICKLE_BEGINS) and labels.endswith(_PICKLE_ENDS)):
        return f"{_LABELS_FILE} is cut off"
    if len(header) != _HEADER_BYTES:
        return f"{_HEADER_FILE} is cut off"
    _, _, _, used, stride = _HEADER.unpack_from(header)
    if elements < used * stride or lengths < used * _LENGTH_BYTES:
        return f"{_ELEMENTS_FILE} is cut off"
    place = 0
    for _ in range(used):
        if place + _LINK_LENGTH.size > len(links):
            return f"{_LINKS_FILE} is cut off"
        place += _LINK_LENGTH.size + _LINK_LENGTH.unpack_from(links, place)[0]
    return None if place == len(links) else f"{_LINKS_FILE} is torn"


def set_aside(directory: Path, reason: str) -> Path:
    """Move damaged files away, with the reason in the file WHY, and return their new directory."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    target = directory.with_name(f"{_BROKEN}{stamp}")
    directory.rename(target)
    (target / "WHY").write_text(f"{reason}\n")
    return target


def set_aside_directories(data_dir: Path) -> list[Path]:
    """Return the directories of damaged files, oldest first."""
    return sorted(path for path in data_dir.glob(f"{_BROKEN}*") if path.is_dir())


@dataclass(frozen=True)
class Others:
    """The collections of other programs in a directory that was set aside, by name: those that
    were `copied`, and those that were not (`only_here`); None if the names cannot be read."""

    copied: list[str] = field(default_factory=list)
    only_here: list[str] | None = field(default_factory=list)


def others_in(aside: Path) -> Others | None:
    """Return the collections of other programs in a directory that was set aside; None if
    `recover_others` has not looked yet."""
    try:
        return Others(**json.loads((aside / OTHERS_FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def is_deletable(aside: Path) -> bool:
    """Return whether a directory that was set aside is known to have no only copy."""
    others = others_in(aside)
    return others is not None and others.only_here == []


def has_database(directory: Path) -> bool:
    """Whether a Chroma database is at `directory`, or next to it after an interrupted swap."""
    return (directory / DATABASE).exists() or _replaced(directory).exists()


def swap(directory: Path, fresh: Path) -> None:
    """Put a fresh directory in the place of another, which is deleted."""
    directory.rename(_replaced(directory))
    fresh.rename(directory)
    finish_swap(directory)


def finish_swap(directory: Path) -> None:
    """Undo, or complete, a swap that was interrupted."""
    replaced = _replaced(directory)
    if replaced.exists() and directory.exists():
        shutil.rmtree(replaced)
    elif replaced.exists():
        replaced.rename(directory)


def _replaced(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.replaced")


def remove_deleted_collections(directory: Path) -> int:
    """Remove the directories of deleted collections, which Chroma leaves; return how many
    there were.

    Raises:
        StoreError: the database cannot be read.
    """
    database = directory / DATABASE
    if not database.exists():
        return 0
    try:
        with closing(connect(database, mode="ro")) as connection:
            kept = {row[0] for row in connection.execute("SELECT id FROM segments")}
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {database} ({type(error).__name__})") from None
    deleted = [path for path in _segments(directory) if path.name not in kept]
    for path in deleted:
        shutil.rmtree(path)
    return len(deleted)
