"""Documents of workspaces by id: `<workspace>::<path>`, with `::<n>` for a chunk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory_assets.errors import NotFound
from memory_assets.recall.rows import rows_of, with_iso_times
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS, WORKSPACE_DOCUMENTS
from memory_assets.stores.stores import Stores
from memory_assets.stores.workspaces import Workspace, Workspaces

_CHUNK = re.compile(r"(?P<chunk>(?P<document>[\w.-]+::.+?)::\d+)(?:::part::\d+)?")
_LEFT_OUT = (
    "content_hash",
    "files",
    "session_id",
    "document_id",
    "project_root",
    "chunk_id",
    "part",
    "embedded",
)


@dataclass(frozen=True)
class NamedDocument:
    """A document in memory, and its products by stage; `chunk` is the id of one of its chunks, or
    "" for all of it."""

    partition: str
    path: str
    chunk: str
    products: Mapping[str, Product]


def document_named(stores: Stores, text: str) -> NamedDocument | None:
    """Return the document that an id names, None if it is the id of none."""
    chunk = _CHUNK.fullmatch(text)
    document = (chunk["document"], chunk["chunk"]) if chunk else ("", "")
    for document_id, part in ((text, ""), document):
        name, separator, path = document_id.partition("::")
        if not separator:
            continue
        partition = Workspace(name, Path()).partition
        products = stores.catalog.products.of_session(partition, path)
        if WORKSPACE_DOCUMENTS.name in products:
            return NamedDocument(partition, path, part, products)
    return None


def chunk_rows(stores: Stores, named: NamedDocument) -> list[dict[str, Any]]:
    """Return the rows of the chunk, one for each passage, or of all chunks of the document.

    Raises:
        NotFound: it has no such chunk.
    """
    rows = rows_of(stores.lake, WORKSPACE_CHUNKS, named.partition, named.path)
    chunks = [row for row in rows if named.chunk in ("", row["chunk_id"])]
    if not chunks:
        raise NotFound(f"no chunk {named.chunk or named.path} in memory")
    return chunks


def shown_document(stores: Stores, named: NamedDocument) -> list[dict[str, Any]]:
    """Return a chunk, or a whole document, as `memory show` prints it."""
    if named.chunk:
        rows = [_joined(chunk_rows(stores, named))]
    else:
        rows = rows_of(stores.lake, WORKSPACE_DOCUMENTS, named.partition, named.path)
    return [
        {name: value for name, value in with_iso_times(row).items() if name not in _LEFT_OUT}
        for row in rows
    ]


def _joined(passages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a chunk as one row, from its passages; what is between two is blank."""
    first, *others = passages
    text = first["text"]
    for before, passage in pairwise(passages):
        apart = passage["line_start"] - before["line_end"]
        text += ("\n" * max(apart, 0) or " ") + passage["text"]
    return {**first, "line_end": passages[-1]["line_end"], "text": text} if others else first


def state_of_file(stores: Stores, named: NamedDocument, key: bytes) -> tuple[str, str, int | None]:
    """Return the path of the document's file, its state ("unchanged", "rewritten", "gone" or
    "unreadable"), and its size now."""
    product = named.products[WORKSPACE_DOCUMENTS.name]
    try:
        path = Workspaces(stores.data_dir).of_partition(named.partition).root / named.path
    except NotFound:
        return "", "gone", None
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return str(path), "gone", None
    except OSError:
        return str(path), "unreadable", None
    same = blake2b(content, key=key, digest_size=16).hexdigest() == product.facts["fingerprint"]
    return str(path), "unchanged" if same else "rewritten", len(content)
