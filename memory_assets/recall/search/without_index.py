"""Search without the keyword index.

Observations are filtered exactly, from the lake. All kinds can be searched by meaning in Chroma:
nearest passages, at most one hit a turn. Filters that Chroma supports (project, agent, time) are
passed to Chroma. For the others (a tool among several, the end of a path), the ids are selected in
the lake first and only those rows are compared, so that a match is never hidden behind nearer rows
that the filter excludes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from memory_assets.chunking import file_matches
from memory_assets.errors import NotFound
from memory_assets.models import Observation
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.recall.search.answer import Answer, Hit, coverages
from memory_assets.recall.session import stored_vectors
from memory_assets.requests.questions import SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.chroma.collections import (
    Collection,
    CollectionVersions,
    Neighbour,
    VectorStore,
    Where,
    sessions_collection,
)
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import OBSERVATION_EMBEDDINGS, OBSERVATIONS, TURN_CHUNKS

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory

_PASSAGES_PER_HIT = 5
"""Passages fetched at first for each requested hit, because several may be of one turn."""


def collections_to_search(request: SearchRequest, names: Sequence[str]) -> list[str]:
    """Return those of the existing collections that hold the requested kinds and agents."""
    agents = KNOWN_AGENTS if request.agent is None else (request.agent,)
    wanted = {SEARCH_KINDS[kind].collection_of(agent) for kind in request.kinds for agent in agents}
    return [name for name in names if name in wanted]


def nearest_hits(
    request: SearchRequest,
    vector: npt.NDArray[np.float32],
    vectors: VectorStore,
    versions: CollectionVersions,
    lake: Lake,
) -> list[Hit]:
    """Return the best hits of the request, best first."""
    names = collections_to_search(request, vectors.names())
    found: list[Neighbour] = []
    if request.tool or request.file:
        ids = _selected_ids(request, lake)
        for name in names:
            wanted = ids.get(name, [])
            collection = vectors.get(name, versions)
            found += collection.nearest_of(vector, wanted, len(wanted))
    else:
        where = _where(request)
        for name in names:
            found += _nearest(vectors.get(name, versions), vector, request.n, where)
    return _collapse(found)[: request.n]


def _nearest(
    collection: Collection, vector: npt.NDArray[np.float32], n: int, where: Where | None
) -> list[Neighbour]:
    """Return enough of the nearest rows for `n` hits, or all rows if there are fewer."""
    rows = n * _PASSAGES_PER_HIT
    while True:
        found = collection.nearest(vector, rows, where)
        if len(found) < rows or len(_collapse(found)) >= n:
            return found
        rows *= 4


def all_of(conditions: Sequence[dict[str, object]]) -> dict[str, object] | None:
    """Return the Chroma filter that requires all conditions; None without conditions."""
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"$and": list(conditions)}


def _where(request: SearchRequest) -> Where | None:
    conditions: list[dict[str, object]] = [
        {name: value} for name, value in request.of_session.items()
    ]
    if request.since is not None:
        conditions.append({"ts_epoch": {"$gte": request.since.timestamp()}})
    if request.until is not None:
        conditions.append({"ts_epoch": {"$lt": request.until.timestamp()}})
        conditions.append({"ts_epoch": {"$gt": 0.0}})  # 0 stands for a time that is not known
    return all_of(conditions)


def _selected_ids(request: SearchRequest, lake: Lake) -> dict[str, list[str]]:
    """Return the ids of the chunks that pass every filter, by collection."""
    columns = ["id", "project", "agent", "session_id", "timestamp", "tools_used", "files"]
    projects = [request.project] if request.project else lake.projects(TURN_CHUNKS)
    selected: dict[str, list[str]] = {}
    for project in projects:
        for row in lake.read_partition(TURN_CHUNKS, project, columns).to_pylist():
            if _passes(request, row):
                selected.setdefault(sessions_collection(row["agent"]), []).append(row["id"])
    return selected


def _passes(request: SearchRequest, row: dict[str, Any]) -> bool:
    if any(row[name] != value for name, value in request.of_session.items()):
        return False
    if not request.covers(row["timestamp"]):
        return False
    if request.tool and request.tool.lower() not in (tool.lower() for tool in row["tools_used"]):
        return False
    return not request.file or any(file_matches(path, request.file) for path in row["files"])


def _collapse(found: Iterable[Neighbour]) -> list[Hit]:
    """Keep the best passage of each turn and prompt; summaries and observations are one row
    each."""
    ordered = sorted(found, key=lambda neighbour: (-neighbour.similarity, neighbour.id))
    best: dict[str, Hit] = {}
    for neighbour in ordered:
        whole = str(neighbour.metadata.get("turn_id") or neighbour.id)
        head = neighbour.id.partition("::")[0]
        key = neighbour.id if head == "observation" else f"{head}:{whole}"
        if key not in best:
            best[key] = Hit(
                neighbour.id, whole, neighbour.similarity, neighbour.text, neighbour.metadata
            )
    return list(best.values())


def find_observations(memory: Memory, request: SearchRequest) -> Answer:
    """Return the observations that pass every filter: with a query, most similar first (cosine with
    their stored vectors); without one, newest first.

    Raises:
        NotFound: this memory has no observations.
    """
    projects = memory.lake.projects(OBSERVATIONS)
    if not projects:
        raise NotFound("this memory has no observations yet; `memory ingest` makes them")
    query, concept = request.query, (request.concept or "").lower()
    found = [
        each
        for name in projects
        if name == (request.project or name)
        for session_id in memory.lake.sessions(OBSERVATIONS, name)
        if session_id == (request.session or session_id)
        for each in memory.lake.read_rows(OBSERVATIONS, name, session_id)
        if all(getattr(each, name) == value for name, value in request.of_session.items())
        and (request.type is None or each.type == request.type)
        and (not concept or concept in (one.lower() for one in each.concepts))
        and (request.file is None or _touches(each, request.file))
        and request.covers(each.timestamp)
    ]
    scores = _scores(memory, query, found) if query.strip() else {}
    found.sort(
        key=lambda each: (
            -scores.get(each.id, 0.0),
            -(each.timestamp.timestamp() if each.timestamp else 0.0),
            each.id,
        )
    )
    covered = coverages(memory.catalog, ("observations",))[1]
    covered = replace(covered, indexed=covered.rows)
    hits = tuple(_hit(each, scores.get(each.id, 0.0)) for each in found[: request.n])
    return Answer(query, "semantic" if scores else "filter", covered, hits)


def _touches(each: Observation, file: str) -> bool:
    return any(file_matches(path, file) for path in (*each.files_modified, *each.files_read))


def _scores(memory: Memory, query: str, found: Sequence[Observation]) -> dict[str, float]:
    """Return the cosine of each observation's vector with the query's, by id."""
    asked = memory.embedder.embed([query])[0]
    sessions = {(each.project, each.session_id) for each in found}
    vectors = stored_vectors(memory.lake, OBSERVATION_EMBEDDINGS, sessions)
    return {row_id: float(vector @ asked) for row_id, (_, vector) in vectors.items()}


def _hit(each: Observation, score: float) -> Hit:
    return Hit(
        each.id,
        each.turn_id,
        score,
        each.text,
        {
            "type": each.type,
            "title": str(each.title),
            "concepts": ", ".join(each.concepts),
            "files": ", ".join(each.files_modified or each.files_read),
            "project": each.project,
            "agent": each.agent,
            "session_id": each.session_id,
            "timestamp": each.timestamp.isoformat() if each.timestamp else "",
            "ts_epoch": each.timestamp.timestamp() if each.timestamp else 0.0,
        },
    )
