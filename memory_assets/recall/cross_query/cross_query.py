"""Search the sessions and documents (of another collection, or of workspaces) with one question or
document: which sessions worked on it, and which turns resemble which documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_assets.errors import NotFound
from memory_assets.keywords import WEAK_WORDS
from memory_assets.models import Chunk, RetrievedDocument
from memory_assets.recall.cross_query.document_sources import DocumentSource, document_source
from memory_assets.recall.names import resolve_projects, resolve_session
from memory_assets.recall.rows import UNTIMED, stored_vectors
from memory_assets.recall.search.answer import Hit
from memory_assets.recall.search.excerpts import excerpt
from memory_assets.requests.search import CrossQueryRequest
from memory_assets.requests.times import is_within
from memory_assets.stores.lake.schemas import RETRIEVED_DOCUMENTS, TURN_CHUNKS, TURN_EMBEDDINGS
from memory_assets.stores.vector_store import Document

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable
    from memory_assets.stores.stores import Stores


_QUERY_CHARACTERS = 1_000
_FILTERS = ("project", "session", "agent", "since", "until")
_DOCUMENT_CHARACTERS = 400
_TURN_CHARACTERS = 240
_HITS_PER_DOCUMENT = 3
_TOUCHED_FILES = 5
_TOUCHING_TURNS = 50
_SHOWN_TURNS = 5
_SHARED_TERMS = 8
_ALIKE = 0.35
"""Lowest cosine at which two passages count as similar: unrelated passages of one project rarely
reach it."""
_WORD = re.compile(r"[A-Za-z_][\w./-]{3,}")
_ALSO_COMMON = (
    "even every file files first made make many much must need since used user uses using want well"
)
_COMMON = WEAK_WORDS.union(_ALSO_COMMON.split())


@dataclass
class _Session:
    """A session, with the reasons why it is listed: it "retrieved" a document, "touched" its file,
    or is "similar"."""

    session_id: str
    title: str
    project: str
    agent: str
    score: float | None
    why: list[str]
    turns: list[dict[str, Any]]


@dataclass(frozen=True)
class _Overlap:
    """A document and the turn of a session that retrieved it, touched its file (the path), or is
    most similar to it."""

    document: str
    session_id: str
    turn_id: str
    similarity: float
    shared_terms: tuple[str, ...]
    touched: str | None
    retrieved: bool

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """What comes first has the highest."""
        return self.retrieved, bool(self.touched), self.similarity


def cross_query(
    memory: Searchable, query: str | CrossQueryRequest = "", **arguments: Any
) -> dict[str, Any]:
    """Return the documents and sessions found by a `CrossQueryRequest`, or by a query with the
    request's other arguments, what was asked of either, and their overlap, as JSON
    (docs/contracts.md). `coverage` and `degraded` are those of the search in the sessions.

    Raises:
        ConfigurationError: the request makes no sense; says what would.
        NotFound, StoreMismatch, StoreError: of `document_source`; or there is no such document.
    """
    request = CrossQueryRequest(query, **arguments) if isinstance(query, str) else query
    if request.session is not None:
        request = replace(request, session=resolve_session(memory, request.session)[1])
    other = document_source(memory, request)
    scored: Sequence[tuple[Document, float | None]]
    if request.document:
        scored = [(own, 1.0) for own in other.documents([request.document])]
        if not scored:
            raise NotFound(f"no document {request.document!r} in {other.name}")
        corpus_query = request.query.strip() or scored[0][0].text
    elif not (corpus_query := _first(request.corpus_query, request.query, request.session_query)):
        used = [document_id for document_id, _ in retrieved_documents(memory, request, other.name)]
        scored = [(own, None) for own in other.documents(list(dict.fromkeys(used))[: request.n])]
    else:
        scored = other.nearest(corpus_query, request.n, request.where)
    session_query = _first(
        request.session_query, request.query, corpus_query, request.document or ""
    )
    session_query = session_query[:_QUERY_CHARACTERS]
    filters = {name: getattr(request, name) for name in _FILTERS}
    answer = memory.search(session_query, n=request.n * _HITS_PER_DOCUMENT, **filters)
    documents = [nearest for nearest, _ in scored]
    touched = _documents_touched(memory, other, documents, session_query, filters)
    used_by = retrieved_documents(
        memory, request, other.name, {document.id for document in documents}
    )
    similar = answer.hits if session_query else ()
    sessions = _sessions(similar, touched, used_by, request.n, session_query)
    titles = memory.titles((session.project, session.session_id) for session in sessions)
    for session in sessions:
        session.title = titles.get(session.session_id, "")
    turns = {turn["id"] for session in sessions for turn in session.turns}
    overlap = _overlap(memory, other, documents, similar, touched, used_by, turns)
    return {
        "query": request.query,
        "corpus_query": request.corpus_query,
        "session_query": request.session_query,
        "filters": dict(answer.filters),
        "collection": {"name": other.name, **asdict(other.space)},
        "documents": [_document(*pair, corpus_query) for pair in scored],
        "sessions": list(map(asdict, sessions)),
        "overlap": list(map(asdict, overlap)),
        "coverage": answer.to_dict()["coverage"],
        "degraded": answer.degraded,
    }


def _first(*texts: str) -> str:
    return next((text for text in texts if text.strip()), "")


def _document(document: Document, similarity: float | None, query: str) -> dict[str, Any]:
    return {
        "id": document.id,
        "score": None if similarity is None else round(similarity, 4),
        "text": excerpt(document.text, query, _DOCUMENT_CHARACTERS),
        "metadata": dict(document.metadata),
    }


def _documents_touched(
    memory: Searchable,
    source: DocumentSource,
    documents: Sequence[Document],
    query: str,
    filters: Mapping[str, Any],
) -> dict[str, tuple[Hit, ...]]:
    """Return the turns that touched the documents' files, by path."""
    of_path: dict[str, Document] = {}
    for candidate in documents:
        if path := source.path(candidate):
            of_path.setdefault(path, candidate)
    by_path = {}
    for path, document in islice(of_path.items(), _TOUCHED_FILES):
        hits = memory.search(query or path, file=path, n=_TOUCHING_TURNS, **filters).hits
        own = (hit for hit in hits if source.is_file(document, hit))
        by_path[path] = tuple(islice(own, _SHOWN_TURNS))
    return by_path


def _sessions(
    hits: Sequence[Hit],
    touched: Mapping[str, Sequence[Hit]],
    used_by: Sequence[_RetrievedBy],
    n: int,
    query: str,
) -> list[_Session]:
    """Return the sessions with their turns; their titles are still empty."""
    by_session: dict[str, list[tuple[str, Hit]]] = {}
    for why, hit in (
        *(("retrieved", hit) for _, hit in used_by),
        *(("touched", hit) for same in touched.values() for hit in same),
        *(("similar", hit) for hit in hits),
    ):
        by_session.setdefault(str(hit.metadata["session_id"]), []).append((why, hit))
    sessions = []
    for session_id, reasons in by_session.items():
        scores = [hit.score for why, hit in reasons if why == "similar"]
        turns = {hit.turn_id: hit for _, hit in reasons}
        sessions.append(
            _Session(
                session_id,
                title="",
                project=str(reasons[0][1].metadata["project"]),
                agent=str(reasons[0][1].metadata["agent"]),
                score=round(max(scores), 4) if scores else None,
                why=list(dict.fromkeys(why for why, _ in reasons)),
                turns=[_turn(hit, query) for hit in turns.values()],
            )
        )
    sessions.sort(
        key=lambda session: (
            "retrieved" not in session.why,
            -len(session.why),
            -(session.score or 0.0),
            session.session_id,
        )
    )
    return sessions[:n]


def _turn(hit: Hit, query: str) -> dict[str, Any]:
    return {
        "id": hit.turn_id,
        "score": round(hit.score, 4),
        "time": hit.metadata.get("timestamp"),
        "text": excerpt(str(hit.text), query, _TURN_CHARACTERS, hit.prompt_length),
    }


def _overlap(
    memory: Searchable,
    source: DocumentSource,
    documents: Sequence[Document],
    hits: Sequence[Hit],
    touched: Mapping[str, Sequence[Hit]],
    used_by: Sequence[_RetrievedBy],
    turns: set[str],
) -> list[_Overlap]:
    """Return, for each document and session, the most similar turn (cosine), most similar first. A
    turn that retrieved the document, or touched its file, comes before one that is more similar."""
    retrieving = {(document_id, hit.turn_id) for document_id, hit in used_by}
    further = (
        *(hit for _, hit in used_by),
        *(h for same in touched.values() for h in same),
    )
    everything = {hit.id: hit for hit in (*further, *hits)}
    passages = [hit for hit in everything.values() if hit.turn_id in turns]
    sessions = {(str(hit.metadata["project"]), str(hit.metadata["session_id"])) for hit in passages}
    vectors = stored_vectors(memory.lake, TURN_EMBEDDINGS, sorted(sessions))
    passages = [hit for hit in passages if hit.id in vectors]
    documents = [document for document in documents if len(document.vector)]
    if not passages or not documents:
        return []
    ours = np.stack([vectors[hit.id][1] for hit in passages])
    best: dict[tuple[str, str], _Overlap] = {}
    for document in documents:
        path = source.path(document)
        touching = {hit.turn_id for hit in touched.get(path or "", ())}
        for hit, similarity in zip(passages, ours @ document.vector, strict=True):
            touches = path if hit.turn_id in touching else None
            retrieved = (document.id, hit.turn_id) in retrieving
            if similarity < _ALIKE and not touches and not retrieved:
                continue
            session = str(hit.metadata["session_id"])
            previous = best.get((document.id, session))
            rank = retrieved, bool(touches), float(similarity)
            if previous is None or rank > previous.rank:
                best[document.id, session] = _Overlap(
                    document.id,
                    session,
                    hit.turn_id,
                    round(float(similarity), 4),
                    shared_terms(document.text, str(hit.text)),
                    touches,
                    retrieved,
                )
    return sorted(best.values(), key=lambda pair: pair.rank, reverse=True)


def shared_terms(left: str, right: str) -> tuple[str, ...]:
    """Return the words that two texts share, longest first."""
    words = [{word.strip(".-/").lower() for word in _WORD.findall(text)} for text in (left, right)]
    shared = [word for word in words[0] & words[1] if word not in _COMMON]
    return tuple(sorted(shared, key=lambda word: (-len(word), word))[:_SHARED_TERMS])


_RetrievedBy = tuple[str, Hit]
"""A document's id, and the turn that retrieved it, shown by its first passage."""


def retrieved_documents(
    memory: Stores,
    request: CrossQueryRequest,
    collection: str,
    documents: Collection[str] | None = None,
) -> list[_RetrievedBy]:
    """Return what sessions that pass the request's filters retrieved of a collection, of these
    documents or of all: the newest turns first, those of at most `n` sessions."""
    rows: list[RetrievedDocument] = [
        row
        for project, session_id in _sessions_with_retrievals(memory, request)
        for row in memory.lake.read_rows(RETRIEVED_DOCUMENTS, project, session_id)
        if row.collection in ("", collection)
        and (documents is None or row.document in documents)
        and request.agent in (None, row.agent)
        and is_within(row.timestamp, request.since, request.until)
    ]
    rows.sort(key=lambda row: row.timestamp or UNTIMED, reverse=True)
    kept = list(dict.fromkeys((row.project, row.session_id) for row in rows))[: request.n]
    turns = {hit.turn_id: hit for key in kept for hit in _turns(memory, *key)}
    return [(row.document, turns[row.turn_id]) for row in rows if row.turn_id in turns]


def _sessions_with_retrievals(
    memory: Stores, request: CrossQueryRequest
) -> Iterator[tuple[str, str]]:
    """Yield project and id of the sessions that retrieved anything."""
    named = None if request.project is None else resolve_projects(memory.catalog, request.project)
    for row in memory.catalog.rows(
        "SELECT project, session_id FROM products WHERE stage = ? AND rows > 0",
        RETRIEVED_DOCUMENTS.name,
    ):
        if request.session in (None, row["session_id"]) and (
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
