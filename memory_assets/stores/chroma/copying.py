"""Copying collections from one Chroma server to another, whoever made them: settings, metadata and
rows."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import quote

from memory_assets.errors import StoreError
from memory_assets.stores.chroma.client import ChromaClient, ChromaRefused

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
