"""Rewriting Chroma's files: the rows that its server has are copied into a new directory. A
collection is copied whole, whoever made it: settings, metadata and rows.

A row that was deleted through Chroma stays in its files: in the HNSW files of its collection,
in the queue, in free pages and in full-text pages. Seen with chromadb 1.5.9: HNSW files even
end in whatever the server's memory held when they were written. So all that is left, ours and
others', is given to a second server, which never saw the row, and its directory takes the
place of the first one's. Vectors are copied, not embedded.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.stores.chroma import files, server
from memory_assets.stores.chroma.client import ChromaClient, ChromaRefused
from memory_assets.stores.files.sqlite import connect

BESIDE = "chroma.anew"
"""Directory below the data directory for the second server, with its own lock, token and log."""
_TRIES = 3
_IDLE_SECONDS = 60.0


def rewrite_files(data_dir: Path, progress: Callable[[str], None]) -> None:
    """Put a copy of all collections, in files that hold nothing else, in the place of the
    local Chroma's files. Searches go on meanwhile. Killed at any moment, the old files or the
    new ones are there, and the next call begins again.

    Raises:
        StoreBusy: another program keeps writing to this Chroma.
        StoreError: a server cannot be used, or its copy is not complete.
    """
    for _ in range(_TRIES):
        _discard(data_dir)
        server.ensure_running(data_dir, _IDLE_SECONDS)  # which writes to the database
        with closing(connect(data_dir / server.DATABASE, mode="ro")) as database:
            before = _committed(database)
            _copy(data_dir, database, progress)
            server.stop(data_dir / BESIDE)
            with server.closed_files(data_dir) as directory:
                if _committed(database) == before:
                    files.swap(directory, data_dir / BESIDE / directory.name)
                    _discard(data_dir)
                    return
    _discard(data_dir)
    raise StoreBusy(
        f"another program keeps writing to the Chroma of {data_dir}; stop it, then run "
        "`memory status`, which completes the forgetting"
    )


def _discard(data_dir: Path) -> None:
    copy = data_dir / BESIDE
    if copy.exists():
        server.stop(copy)
        shutil.rmtree(copy)


def _committed(database: sqlite3.Connection) -> int:
    """Return a number that changes with every write to the database."""
    return int(database.execute("PRAGMA data_version").fetchone()[0])


def _copy(data_dir: Path, database: sqlite3.Connection, progress: Callable[[str], None]) -> None:
    databases = database.execute("SELECT tenant_id, name FROM databases").fetchall()
    old, new = (
        ChromaClient(directory, url=None, idle_seconds=_IDLE_SECONDS)
        for directory in (data_dir, data_dir / BESIDE)
    )
    for tenant, name in databases:
        where = create_database(new, tenant, name)
        for collection in old.send("GET", where):
            progress(f"copying {collection['name']}")
            copy_collection(old, new, where, collection, str(collection["name"]))


_ROWS_A_REQUEST = 1_000
_EVERYTHING = ["embeddings", "documents", "metadatas", "uris"]


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
