"""Copying collections of one Chroma to another: whole, whoever made them, with settings, metadata
and rows. Vectors are copied, not embedded.

`rewrite_files`: a row that was deleted through Chroma stays in its files: in the HNSW files of its
collection, in the queue, in free pages and in full-text pages. Seen with chromadb 1.5.9: HNSW files
even end in whatever the server's memory held when they were written. So all collections are copied
to a second server, which never saw the row, and its directory replaces that of the first one.

`recover_others`: when damaged files are set aside, our collections are made again from the lake,
but those of other programs may exist nowhere else. So the readable ones are copied into the present
Chroma, from a server on a copy of the files, and the others are listed in a file in the directory
that was set aside.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.stores.chroma import files, server
from memory_assets.stores.chroma.client import ChromaClient, ChromaRefused
from memory_assets.stores.chroma.files import (
    DATABASE,
    OTHERS_FILE,
    Others,
    is_deletable,
    others_in,
    set_aside_directories,
)
from memory_assets.stores.files.shared import locked, remove_directory, replace_text
from memory_assets.stores.files.sqlite import connect

BESIDE = "chroma.anew"
"""Directory below the data directory for the second server, with its own lock, token and log."""
_TRIES = 3
_IDLE_SECONDS = 60.0
_ROWS_A_REQUEST = 1_000
_EVERYTHING = ["embeddings", "documents", "metadatas", "uris"]
_SCRATCH = "chroma.recovered"
_LOCK = "chroma.recovered.lock"
_LOCK_SECONDS = 1.0
_KEPT = 2
"""Directories that are kept to find out what damaged them, though they have no only copy."""
_INCOMPLETE = ".recovered"
"""The suffix of the name of an incomplete copy."""
_OURS = "incarnation"
"""A key of the metadata of each collection of ours."""


def rewrite_files(data_dir: Path, progress: Callable[[str], None]) -> None:
    """Put a copy of all collections, in files that hold nothing else, in the place of the
    local Chroma's files. Searches go on meanwhile. Killed at any moment, the old files or the
    new ones are there, and the next call begins again.

    Raises:
        StoreBusy: another program keeps writing to this Chroma.
        StoreError: a server cannot be used, or its copy is not complete.
    """
    for _ in range(_TRIES):
        _discard(data_dir / BESIDE)
        server.ensure_running(data_dir, _IDLE_SECONDS)  # which writes to the database
        with closing(connect(data_dir / server.DATABASE, mode="ro")) as database:
            before = _write_counter(database)
            _copy(data_dir, database, progress)
            server.stop(data_dir / BESIDE)
            with server.closed_files(data_dir) as directory:
                if _write_counter(database) == before:
                    files.swap(directory, data_dir / BESIDE / directory.name)
                    _discard(data_dir / BESIDE)
                    return
    _discard(data_dir / BESIDE)
    raise StoreBusy(
        f"another program keeps writing to the Chroma of {data_dir}; stop it, then run "
        "`memory status`, which completes the forgetting"
    )


def _write_counter(database: sqlite3.Connection) -> int:
    """Return a number that changes with every write to the database."""
    return int(database.execute("PRAGMA data_version").fetchone()[0])


def _copy(data_dir: Path, database: sqlite3.Connection, progress: Callable[[str], None]) -> None:
    databases = database.execute("SELECT tenant_id, name FROM databases").fetchall()
    old, new = _server(data_dir), _server(data_dir / BESIDE)
    for tenant, name in databases:
        where = create_database(new, tenant, name)
        for collection in old.send("GET", where):
            progress(f"copying {collection['name']}")
            copy_collection(old, new, where, collection, str(collection["name"]))


def collections_path(tenant: str, database: str) -> str:
    """Return the path of the collections of a database."""
    return f"/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}/collections"


def create_database(new: ChromaClient, tenant: str, database: str) -> str:
    """Create a tenant and a database, unless they are there; return the path of its
    collections."""
    below = f"/tenants/{quote(tenant, safe='')}/databases"
    for path, name in (("/tenants", tenant), (below, database)):
        with suppress(ChromaRefused):  # the default ones are there
            new.send("POST", path, {"name": name})
    return collections_path(tenant, database)


def copy_collection(
    old: ChromaClient, new: ChromaClient, where: str, collection: dict[str, Any], name: str
) -> str:
    """Copy a collection to another server under a name, and return its new id.

    Raises:
        StoreError: it cannot be read, or the copy lacks rows.
    """
    settings = {"schema": collection.get("schema")}
    if settings["schema"] is None:
        settings = {"configuration": collection["configuration_json"]}
    about = {"name": name, "metadata": collection["metadata"], **settings}
    source = f"{where}/{collection['id']}"
    target = str(new.send("POST", where, about)["id"])
    rows = int(old.send("GET", f"{source}/count"))
    for offset in range(0, rows, _ROWS_A_REQUEST):
        query = {"limit": _ROWS_A_REQUEST, "offset": offset, "include": _EVERYTHING}
        new.send("POST", f"{where}/{target}/add", old.send("POST", f"{source}/get", query))
    if new.send("GET", f"{where}/{target}/count") != rows:
        raise StoreError(
            f"the copy of {collection['name']} lacks rows, so the old files stay; run "
            "`memory status`, which tries again"
        )
    return target


def recover_others(data_dir: Path) -> list[str]:
    """Copy collections of other programs from directories that were set aside to the local Chroma,
    and return their names. Costs one listing of the data directory if there is nothing to do; after
    a kill the next call completes it.

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
                recovery = _recover_directory(data_dir, aside)
                replace_text(aside / OTHERS_FILE, json.dumps(asdict(recovery)))
                copied += recovery.copied
        for old in [
            set_aside_directory
            for set_aside_directory in set_aside_directories(data_dir)
            if is_deletable(set_aside_directory)
        ][:-_KEPT]:
            remove_directory(old, OTHERS_FILE)
    return copied


def _recover_directory(data_dir: Path, aside: Path) -> Others:
    if not (aside / DATABASE).exists():  # which had names and texts
        return Others()
    try:
        other = _names(aside)
    except sqlite3.Error:
        return Others(only_here=None)
    if not other:
        return Others()
    scratch = data_dir / _SCRATCH
    _discard(scratch)
    shutil.copytree(aside, scratch / "chroma")
    try:
        copied = [their for their in other if _copy_recovered(data_dir, scratch, their)]
    finally:
        _discard(scratch)
    left = [name for *where, name in other if (*where, name) not in copied]
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


def _copy_recovered(data_dir: Path, scratch: Path, other: tuple[str, str, str]) -> bool:
    """Copy one collection, and return True if the local Chroma has all its rows."""
    tenant, database, name = other
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
    staged = f"{name}{_INCOMPLETE}"
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


def _discard(copy: Path) -> None:
    """Delete a directory of Chroma's files, and end its server."""
    if copy.exists():
        server.stop(copy)
        shutil.rmtree(copy)
