"""Vectors: the incarnation of each collection they are in; and the place of each text's vector in
the lake, so that no text is embedded twice, neither when a session grows nor in another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memory_assets.stores.catalog.connection import CatalogPart

_AT_ONCE = 500


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
        keys, places = list(hashes), dict[bytes, VectorPlace]()
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
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
