"""The place of each text's vector in the lake, so that no text is embedded twice: neither when a
session grows, nor when another session has an equal text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memory_assets.stores.catalog.connection import CatalogConnection

_AT_ONCE = 500


class VectorPlace(NamedTuple):
    """The session's file that holds a vector: of which table, project and session."""

    stage: str
    project: str
    session_id: str


class VectorPlaces:
    """The place of each vector by the keyed hash of its text. It may be out of date: readers
    must check that the file has the vector."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection

    def places(self, hashes: Iterable[bytes]) -> dict[bytes, VectorPlace]:
        """Return the known places of these vectors by hash."""
        wanted, found = list(hashes), {}
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for row in self._connection.rows(
                "SELECT hash, stage, project, session_id FROM vector_places"
                f" WHERE hash IN ({marks})",
                *part,
            ):
                found[row["hash"]] = VectorPlace(row["stage"], row["project"], row["session_id"])
        return found

    def put(self, place: VectorPlace, hashes: Iterable[bytes]) -> None:
        """Note that a file holds these vectors."""
        with self._connection.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vector_places VALUES (?,?,?,?)",
                [(known, *place) for known in hashes],
            )
