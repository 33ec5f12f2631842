"""Vectors: the incarnation of each collection they are in; the place of each text's vector in the
lake, so that no text is embedded twice, neither when a session grows nor in another one; and the
vectors of documents' texts that have gone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from memory_assets.stores.catalog.connection import CatalogPart

_AT_ONCE = 500
_KEPT_SECONDS = 30 * 86_400.0
_MOST_KEPT = 40_000
"""Of 1.5 kB each."""


class VectorPlace(NamedTuple):
    """The session's file that holds a vector: of which table, project and session."""

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
        for some in _in_parts(hashes):
            rows = self._connection.rows(
                "SELECT hash, stage, project, session_id FROM vector_places"
                f" WHERE hash IN ({','.join('?' * len(some))})",
                *some,
            )
            places.update({key: VectorPlace(*place) for key, *place in rows})
        return places

    def put(self, place: VectorPlace, hashes: Iterable[bytes]) -> None:
        """Note that a file holds these vectors."""
        with self._connection.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vector_places VALUES (?,?,?,?)",
                [(known, *place) for known in hashes],
            )


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
                [(known, *about, vector, time.time()) for known, vector in vectors.items()],
            )

    def vectors(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return those of these vectors that are kept, by hash."""
        kept: dict[bytes, bytes] = {}
        for some in _in_parts(hashes):
            marks = ",".join("?" * len(some))
            kept |= self._connection.rows(
                f"SELECT hash, vector FROM kept_vectors WHERE hash IN ({marks})", *some
            )
        return kept

    def sessions(self) -> set[tuple[str, str]]:
        """Return project and id of every document that vectors are kept of."""
        rows = self._connection.rows("SELECT DISTINCT project, session_id FROM kept_vectors")
        return {(str(project), str(session_id)) for project, session_id in rows}

    def expire(self, project: str, version: str) -> None:
        """Delete the vectors of a project whose texts were redacted by other rules, and of all
        projects the old ones, and the oldest above a number."""
        with self._connection.transaction() as connection:
            connection.execute(
                "DELETE FROM kept_vectors WHERE project = ? AND version != ?", (project, version)
            )
            connection.execute(
                "DELETE FROM kept_vectors WHERE kept_at < ? OR rowid IN"
                " (SELECT rowid FROM kept_vectors ORDER BY kept_at DESC LIMIT -1 OFFSET ?)",
                (time.time() - _KEPT_SECONDS, _MOST_KEPT),
            )


def _in_parts(hashes: Iterable[bytes]) -> Iterator[list[bytes]]:
    keys = list(hashes)
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]
