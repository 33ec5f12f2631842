"""Rows of the lake as rows of a Chroma collection: ids, documents, scalar metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.redacted_text import RedactedText
from memory_assets.search_kinds import SearchKind
from memory_assets.stores.vector_store import Metadata

LIST_SEPARATOR = ","
_WHERE = ("session_id", "project", "project_root", "agent")


@dataclass(frozen=True)
class CollectionRow:
    """One row to upsert."""

    id: str
    vector: npt.NDArray[np.float32]
    text: RedactedText
    metadata: Metadata


def metadata(kind: SearchKind, row: Mapping[str, Any], embedder_id: str) -> Metadata:
    """Return the metadata of a row of a kind's table (docs/contracts.md). `row_hash` changes when
    the text, its embedder or any metadata does, so that a row that Chroma has already is not
    written again (an unchanged upsert costs 2-3 inserts)."""
    timestamp: datetime | None = row[kind.time]
    made: Metadata = {
        **{name: row[name] for name in _WHERE},
        "timestamp": _iso(timestamp),
        "ts_epoch": timestamp.timestamp() if timestamp else 0.0,
    }
    for name, columns in kind.metadata.items():
        values = [row[column] for column in columns]
        made[name] = len(values[0]) if name in kind.counted else _scalar(values)
    digest = blake2b(f"{row['content_hash']}\0{embedder_id}".encode(), digest_size=12)
    for name in sorted(made):
        digest.update(f"\0{name}={made[name]}".encode())
    return {**made, "content_hash": row["content_hash"], "row_hash": digest.hexdigest()}


def columns_of(kind: SearchKind) -> dict[str, str]:
    """Return what a row of a kind's collection holds, and the first column that each comes
    from; `embedding` from the table of vectors, the others from the kind's table."""
    return {
        "id": "id",
        "embedding": "vector",
        "document": "text",
        **{name: name for name in _WHERE},
        "timestamp": kind.time,
        "ts_epoch": kind.time,
        **{name: columns[0] for name, columns in kind.metadata.items()},
        "content_hash": "content_hash",
    }


def _scalar(values: list[Any]) -> str | int | float | bool:
    """Return a column's value as Chroma takes it; lists, of several columns too, are joined."""
    if isinstance(values[0], list | tuple):
        return LIST_SEPARATOR.join(item for items in values for item in items)
    value: str | int | float | bool | datetime | None = values[0]
    return _iso(value) if value is None or isinstance(value, datetime) else value


def _iso(timestamp: datetime | None) -> str:
    return timestamp.isoformat().replace("+00:00", "Z") if timestamp else ""
