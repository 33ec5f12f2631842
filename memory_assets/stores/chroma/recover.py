"""Collections of other programs in Chroma files that were set aside as damaged.

Ours are made again from the lake; theirs may be nowhere else. So those that can be read are
copied into the present Chroma, from a server on a copy of the files, and the others are named. A
file in the directory that was set aside says what became of them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.stores.chroma import server
from memory_assets.stores.chroma.client import ChromaClient
from memory_assets.stores.chroma.files import (
    DATABASE,
    OTHERS_FILE,
    Others,
    is_deletable,
    others_in,
    set_aside_directories,
)
from memory_assets.stores.chroma.rewrite import collections_path, copy_collection, create_database
from memory_assets.stores.files.shared import locked, replace_text
from memory_assets.stores.files.sqlite import connect

_SCRATCH = "chroma.recovered"
_LOCK = "chroma.recovered.lock"
_LOCK_SECONDS = 1.0
_IDLE_SECONDS = 60.0
_KEPT = 2
"""Directories that are kept, to find out what damaged them, though nothing is only there."""
_BEING_COPIED = ".recovered"
"""Ends the name of a copy that is not complete yet."""
_OURS = "incarnation"
"""A key of the metadata of each collection of ours."""


def recover_others(data_dir: Path) -> list[str]:
    """Copy collections of others from directories that were set aside to the local Chroma, and
    return their names. Costs one listing of the data directory if there is nothing to do; killed
    at any moment, the next call completes it.

    Raises:
        StoreBusy: another process is at it.
        StoreError: the local Chroma cannot be used.
    """
    if all(others_in(aside) for aside in set_aside_directories(data_dir)):
        return []
    copied: list[str] = []
    busy = f"another process copies collections to the Chroma of {data_dir}; try again later"
    with locked(data_dir / _LOCK, _LOCK_SECONDS, busy):
        for aside in set_aside_directories(data_dir):
            if others_in(aside) is None:
                recovery = _recovered(data_dir, aside)
                replace_text(aside / OTHERS_FILE, json.dumps(asdict(recovery)))
                copied += recovery.copied
        for old in [
            set_aside_directory
            for set_aside_directory in set_aside_directories(data_dir)
            if is_deletable(set_aside_directory)
        ][:-_KEPT]:
            shutil.rmtree(old)
    return copied


def _recovered(data_dir: Path, aside: Path) -> Others:
    if not (aside / DATABASE).exists():  # names and texts were there: nothing is left to read
        return Others()
    try:
        theirs = _names(aside)
    except sqlite3.Error:
        return Others(only_here=None)
    if not theirs:
        return Others()
    scratch = data_dir / _SCRATCH
    _discard(scratch)
    shutil.copytree(aside, scratch / "chroma")
    try:
        copied = [their for their in theirs if _copied(data_dir, scratch, their)]
    finally:
        _discard(scratch)
    left = [name for *where, name in theirs if (*where, name) not in copied]
    return Others([name for _, _, name in copied], left)


def _names(aside: Path) -> list[tuple[str, str, str]]:
    """Return tenant, database and name of each collection that is not ours."""
    with closing(connect(aside / DATABASE, mode="ro")) as database:
        return database.execute(
            "SELECT tenant_id, databases.name, collections.name FROM collections"
            " JOIN databases ON databases.id = database_id WHERE collections.id NOT IN"
            " (SELECT collection_id FROM collection_metadata WHERE key = ?) ORDER BY 1, 2, 3",
            (_OURS,),
        ).fetchall()


def _copied(data_dir: Path, scratch: Path, theirs: tuple[str, str, str]) -> bool:
    """Copy one collection, and return True if the local Chroma has all its rows."""
    tenant, database, name = theirs
    where = collections_path(tenant, database)
    try:  # a server may die of damaged files: the next collection starts another
        old = _server(scratch, whole=False)
        collection = next(entry for entry in old.send("GET", where) if entry["name"] == name)
        rows = int(old.send("GET", f"{where}/{collection['id']}/count"))
        if rows:  # reads the vectors of one row, which fails before anything is written
            query = {"limit": 1, "include": ["embeddings"]}
            old.send("POST", f"{where}/{collection['id']}/get", query)
    except (StoreError, StopIteration):
        return False
    new = _server(data_dir)
    create_database(new, tenant, database)
    there = {str(entry["name"]): entry for entry in new.send("GET", where)}
    if name in there:
        return bool(new.send("GET", f"{where}/{there[name]['id']}/count") == rows)
    staged = f"{name}{_BEING_COPIED}"
    if staged in there:
        new.send("DELETE", f"{where}/{staged}")
    try:
        copy = copy_collection(_server(scratch, whole=False), new, where, collection, staged)
    except StoreError:
        with suppress(StoreError):
            new.send("DELETE", f"{where}/{staged}")
        return False
    new.send("PUT", f"{where}/{copy}", {"new_name": name})
    return True


def _server(data_dir: Path, *, whole: bool = True) -> ChromaClient:
    return ChromaClient(data_dir, url=None, idle_seconds=_IDLE_SECONDS, whole=whole)


def _discard(scratch: Path) -> None:
    if scratch.exists():
        server.stop(scratch)
        shutil.rmtree(scratch)
