"""Observations selected by type, concept or file: filtered exactly, from the lake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from memory_assets.chunking import touched_by
from memory_assets.errors import NotFound
from memory_assets.models import Observation
from memory_assets.recall.rows import UNTIMED, stored_vectors
from memory_assets.recall.search.answer import ORIGIN, Answer, Hit, coverages, hit_metadata
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.lake.schemas import OBSERVATION_EMBEDDINGS, OBSERVATIONS

if TYPE_CHECKING:
    from memory_assets.embedding import Embedder
    from memory_assets.stores.stores import Stores

_LAST = datetime.max.replace(tzinfo=UTC)


def find_observations(
    memory: Stores, request: SearchRequest, embedder: Callable[[], Embedder]
) -> Answer:
    """Return the observations that pass every filter: with a query, most similar first (cosine with
    their stored vectors); without one, newest first.

    Raises:
        NotFound: the catalogue has no observations.
    """
    if not memory.catalog.products.has_any(OBSERVATIONS.name):
        raise NotFound("no observations are on record; `memory ingest` makes and records them")
    query = request.query
    reads_all_sessions = bool(query.strip() or request.file)
    observations: list[Observation] = []
    newest: list[datetime] = []
    for last, name, session_id in _sessions(memory, request):
        if not reads_all_sessions and len(newest) == request.n and last < newest[0]:
            break  # nothing in this session or in those behind it is newer
        for row in _rows(memory, name, session_id):
            if _matches(row, request):
                observations.append(row)
                heappush(newest, row.timestamp or UNTIMED)
                if len(newest) > request.n:
                    heappop(newest)
    if request.file:
        touched = touched_by(
            (path for observation in observations for path in _paths(observation)), request.file
        )
        observations = [
            observation
            for observation in observations
            if not touched.isdisjoint(_paths(observation))
        ]
    scores = _scores(memory, embedder(), query, observations) if query.strip() else {}
    observations.sort(
        key=lambda observation: (
            -scores.get(observation.id, 0.0),
            -(observation.timestamp.timestamp() if observation.timestamp else 0.0),
            observation.id,
        )
    )
    coverage = coverages(memory.catalog, ("observations",))[0]
    coverage = replace(coverage, indexed=coverage.rows)
    hits = tuple(
        _hit(observation, scores.get(observation.id, 0.0))
        for observation in observations[: request.n]
    )
    return Answer(query, "semantic" if scores else "filter", coverage, hits)


def _sessions(memory: Stores, request: SearchRequest) -> list[tuple[datetime, str, str]]:
    """Return last time, project and id of the sessions that pass a request's filters, newest first;
    an unknown time is the latest possible."""
    spans = memory.catalog.products.spans(request.project, request.session, stage=OBSERVATIONS.name)
    wanted = [
        (datetime.fromisoformat(last) if last else _LAST, name, session_id)
        for name, session_id, _, last in spans
    ]
    return sorted(wanted, reverse=True)


def _rows(memory: Stores, project: str, session_id: str) -> list[Observation]:
    """Return the observations of a session; none if they went since the catalogue was read."""
    try:
        return memory.lake.read_rows(OBSERVATIONS, project, session_id)
    except NotFound:
        return []


def _matches(observation: Observation, request: SearchRequest) -> bool:
    return (
        all(getattr(observation, name) == value for name, value in request.of_session.items())
        and (request.type is None or observation.type == request.type)
        and (request.concept is None or request.concept in observation.concepts)
        and request.covers(observation.timestamp)
    )


def _paths(observation: Observation) -> tuple[str, ...]:
    return (*observation.files_modified, *observation.files_read)


def _scores(
    memory: Stores, embedder: Embedder, query: str, observations: Sequence[Observation]
) -> dict[str, float]:
    """Return the cosine of each observation's vector with the query's, by id."""
    query_vector = embedder.embed([query])[0]
    sessions = {(observation.project, observation.session_id) for observation in observations}
    vectors = stored_vectors(memory.lake, OBSERVATION_EMBEDDINGS, sessions)
    return {row_id: float(vector @ query_vector) for row_id, (_, vector) in vectors.items()}


def _hit(observation: Observation, score: float) -> Hit:
    return Hit(
        observation.id,
        observation.turn_id,
        score,
        observation.text,
        {
            "type": observation.type,
            "title": str(observation.title),
            "concepts": ", ".join(observation.concepts),
            "files": ", ".join(observation.files_modified or observation.files_read),
            **hit_metadata(*(getattr(observation, name) for name in ORIGIN)),
        },
    )
