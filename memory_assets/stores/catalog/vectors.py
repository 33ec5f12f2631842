"""Vectors: the incarnation of each collection; the place of each text's vector in the lake, so that
no text is embedded twice; and kept vectors of texts that documents no longer have."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from memory_assets.stores.catalog.connection import CatalogPart

_HASHES_A_QUERY = 500
_KEPT_SECONDS = 30 * 86_400.0
_MOST_KEPT = 40_000
"""Of 1.5 kB each."""


class VectorPlace(NamedTuple):
    """The table, project and session whose file has a vector."""

    stage: str
    project: str
    session_id: str


class Collections(CatalogPart):
    """The incarnation of each collection: a new one each time it is created in Chroma."""

    def incarnation(self, collection: str) -> str | None:
        """Return the incarnation of a collection that the products refer to."""
        incarnation: str | None = self._connection.find(
            "collections", "incarnation", name=collection
        )
        return incarnation

    def forget_all(self) -> int:
        """Mark every collection as lost; return the number of those known."""
        return self._connection.delete("collections")

    def put(self, collection: str, incarnation: str) -> None:
        """Note the incarnation of a collection that the products refer to."""
        self._connection.put("collections", name=collection, incarnation=incarnation)


class VectorPlaces(CatalogPart):
    """The place of each vector by the keyed hash of its text. It may be out of date: readers
    must check that the file has the vector."""

    def places(self, hashes: Iterable[bytes]) -> dict[bytes, VectorPlace]:
        """Return the known places of these vectors by hash."""
        places = dict[bytes, VectorPlace]()
        for batch in _batches(hashes):
            rows = self._connection.rows(
                "SELECT hash, stage, project, session_id FROM vector_places"
                f" WHERE hash IN ({','.join('?' * len(batch))})",
                *batch,
            )
            places.update({key: VectorPlace(*place) for key, *place in rows})
        return places

    def put(self, place: VectorPlace, hashes: Iterable[bytes]) -> None:
        """Note that a file holds these vectors."""
        with self._connection.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vector_places VALUES (?,?,?,?)",
                [(key, *place) for key in hashes],
            )

    def remove(self, project: str, session_id: str) -> None:
        """Forget which vectors a session's file has."""
        self._connection.delete("vector_places", project=project, session_id=session_id)


class KeptVectors(CatalogPart):
    """Vectors of texts that documents had, by the keyed hash of the text."""

    def put(
        self, project: str, session_id: str, version: str, vectors: Mapping[bytes, bytes]
    ) -> None:
        """Keep vectors of a document that was made with `version`."""
        if not vectors:
            return
        about = (project, session_id, version)
        with self._connection.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO kept_vectors VALUES (?,?,?,?,?,?)",
                [(key, *about, vector, time.time()) for key, vector in vectors.items()],
            )

    def vectors(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the kept ones among these vectors, by hash."""
        kept: dict[bytes, bytes] = {}
        for batch in _batches(hashes):
            marks = ",".join("?" * len(batch))
            kept |= self._connection.rows(
                f"SELECT hash, vector FROM kept_vectors WHERE hash IN ({marks})", *batch
            )
        return kept

    def sessions(self) -> set[tuple[str, str]]:
        """Return project and id of every document with kept vectors."""
        rows = self._connection.rows("SELECT DISTINCT project, session_id FROM kept_vectors")
        return {(str(project), str(session_id)) for project, session_id in rows}

    def expire(self, project: str, version: str) -> None:
        """Delete a project's vectors of texts redacted under other versions, and of all projects
        the old ones, and the oldest beyond `_MOST_KEPT`."""
        with self._connection.transaction() as connection:
            connection.execute(
                "DELETE FROM kept_vectors WHERE project = ? AND version != ?", (project, version)
            )
            connection.execute(
                "DELETE FROM kept_vectors WHERE kept_at < ? OR rowid IN"
                " (SELECT rowid FROM kept_vectors ORDER BY kept_at DESC LIMIT -1 OFFSET ?)",
                (time.time() - _KEPT_SECONDS, _MOST_KEPT),
            )


def _batches(hashes: Iterable[bytes]) -> Iterator[list[bytes]]:
    keys = list(hashes)
    for start in range(0, len(keys), _HASHES_A_QUERY):
        yield keys[start : start + _HASHES_A_QUERY]
