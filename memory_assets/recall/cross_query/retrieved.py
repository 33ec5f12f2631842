"""Which documents of another collection sessions retrieved, and in which turns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_assets.models import Chunk, RetrievedDocument
from memory_assets.recall.names import projects_named
from memory_assets.recall.search.answer import Hit
from memory_assets.recall.sessions.session import UNTIMED
from memory_assets.requests.cross_query import CrossQueryRequest
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.lake.schemas import RETRIEVED_DOCUMENTS, TURN_CHUNKS

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores


@dataclass(frozen=True)
class RetrievedBy:
    """A document's id, and the turn that retrieved it, shown by its first passage."""

    document: str
    hit: Hit


def retrieved_documents(
    memory: Stores,
    asked: CrossQueryRequest,
    collection: str,
    documents: Collection[str] | None = None,
) -> list[RetrievedBy]:
    """Return what sessions that pass the request's filters retrieved of a collection, of these
    documents or of all: the newest turns first, those of at most `n` sessions."""
    window = SearchRequest("-", since=asked.since, until=asked.until)
    rows: list[RetrievedDocument] = [
        row
        for project, session_id in _sessions(memory, asked)
        for row in memory.lake.read_rows(RETRIEVED_DOCUMENTS, project, session_id)
        if row.collection in ("", collection)
        and (documents is None or row.document in documents)
        and asked.agent in (None, row.agent)
        and window.covers(row.timestamp)
    ]
    rows.sort(key=lambda row: row.timestamp or UNTIMED, reverse=True)
    kept = list(dict.fromkeys((row.project, row.session_id) for row in rows))[: asked.n]
    turns = {hit.turn_id: hit for key in kept for hit in _turns(memory, *key)}
    return [RetrievedBy(row.document, turns[row.turn_id]) for row in rows if row.turn_id in turns]


def _sessions(memory: Stores, asked: CrossQueryRequest) -> Iterator[tuple[str, str]]:
    """Yield project and id of the sessions that retrieved anything."""
    named = None if asked.project is None else projects_named(memory.catalog, asked.project)
    for row in memory.catalog.rows(
        "SELECT project, session_id FROM products WHERE stage = ? AND rows > 0",
        RETRIEVED_DOCUMENTS.name,
    ):
        if asked.session in (None, row["session_id"]) and (
            named is None or row["project"] in named
        ):
            yield row["project"], row["session_id"]


def _turns(memory: Stores, project: str, session_id: str) -> Iterator[Hit]:
    """Yield the turns of a session, each as its first passage."""
    chunk: Chunk
    for chunk in memory.lake.read_rows(TURN_CHUNKS, project, session_id):
        if chunk.part == 0:
            about = {"project": project, "session_id": session_id, "agent": chunk.agent}
            time = chunk.timestamp.isoformat() if chunk.timestamp else ""
            yield Hit(chunk.id, chunk.turn_id, 0.0, chunk.text, {**about, "timestamp": time})
