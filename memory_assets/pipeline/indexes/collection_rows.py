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
from memory_assets.stores.chroma.collections import Metadata

LIST_SEPARATOR = ","


CHUNK_COLUMNS = {
    "id": "id",
    "embedding": "vector",
    "document": "text",
    **{
        name: name
        for name in (
            "session_id",
            "project",
            "project_root",
            "agent",
            "timestamp",
            "turn_id",
            "turn_index",
            "part",
            "role",
            "tools_used",
            "files",
            "git_branch",
            "ingested_at",
            "content_hash",
        )
    },
    "ts_epoch": "timestamp",
}
"""What a row of `<agent>-sessions` holds, and the column of turn_chunks (`embedding`: of
turn_embeddings) that each comes from."""


@dataclass(frozen=True)
class CollectionRow:
    """One row to upsert."""

    id: str
    vector: npt.NDArray[np.float32]
    text: RedactedText
    metadata: Metadata


def chunk_metadata(row: Mapping[str, Any]) -> Metadata:
    """Return the metadata of a row of turn_chunks (docs/contracts.md)."""
    return {
        **_where_and_when(row),
        "turn_id": row["turn_id"],
        "turn_index": row["turn_index"],
        "part": row["part"],
        "role": row["role"],
        "tools_used": LIST_SEPARATOR.join(row["tools_used"]),
        "files": LIST_SEPARATOR.join(row["files"]),
        "git_branch": row["git_branch"],
        "ingested_at": _iso(row["ingested_at"]),
    }


def prompt_metadata(row: Mapping[str, Any]) -> Metadata:
    """Return the metadata of a row of user_prompts."""
    return {
        **_where_and_when(row),
        "turn_id": row["turn_id"],
        "turn_index": row["turn_index"],
        "part": row["part"],
        "git_branch": row["git_branch"],
    }


def summary_metadata(row: Mapping[str, Any]) -> Metadata:
    """Return the metadata of a row of session_summaries."""
    return {
        **_where_and_when({**row, "timestamp": row["started_at"]}),
        "title": row["title"],
        "ended_at": _iso(row["ended_at"]),
        "turns": row["turns"],
        "commits": len(row["commits"]),
        "git_branch": row["git_branch"],
    }


def observation_metadata(row: Mapping[str, Any]) -> Metadata:
    """Return the metadata of a row of observations."""
    return {
        **_where_and_when(row),
        "turn_id": row["turn_id"],
        "turn_index": row["turn_index"],
        "type": row["type"],
        "title": row["title"],
        "concepts": LIST_SEPARATOR.join(row["concepts"]),
        "files": LIST_SEPARATOR.join([*row["files_modified"], *row["files_read"]]),
        "git_branch": row["git_branch"],
    }


def with_row_hash(metadata: Metadata, row: Mapping[str, Any], embedder_id: str) -> Metadata:
    """Add `row_hash`, which changes when the text, its embedder or any metadata does, so that
    a row that Chroma has already is not written again (an unchanged upsert costs 2-3 inserts).
    """
    digest = blake2b(f"{row['content_hash']}\0{embedder_id}".encode(), digest_size=12)
    for name in sorted(metadata):
        digest.update(f"\0{name}={metadata[name]}".encode())
    return {**metadata, "content_hash": row["content_hash"], "row_hash": digest.hexdigest()}


def _where_and_when(row: Mapping[str, Any]) -> Metadata:
    timestamp: datetime | None = row["timestamp"]
    return {
        "session_id": row["session_id"],
        "project": row["project"],
        "project_root": row["project_root"],
        "agent": row["agent"],
        "timestamp": _iso(timestamp),
        "ts_epoch": timestamp.timestamp() if timestamp else 0.0,
    }


def _iso(timestamp: datetime | None) -> str:
    return timestamp.isoformat().replace("+00:00", "Z") if timestamp else ""
