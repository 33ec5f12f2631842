"""Where the vector of a text stands, so that no text is embedded twice: not when a session
grows, nor when another one says the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memory_assets.stores.catalog.identities import IdentityLedger

_AT_ONCE = 500


class VectorPlace(NamedTuple):
    """The session's file that holds a vector: of which table, project and session."""

    stage: str
    project: str
    session_id: str


class VectorLedger(IdentityLedger):
    """The part of the catalogue that knows of vectors, by keyed hashes of their texts. What
    it says may be out of date: who follows it must look."""

    def vector_places(self, hashes: Iterable[bytes]) -> dict[bytes, VectorPlace]:
        """Return where vectors stand, of those that are known."""
        wanted, found = list(hashes), {}
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for row in self._rows(
                "SELECT hash, stage, project, session_id FROM vector_places"
                f" WHERE hash IN ({marks})",
                *part,
            ):
                found[row["hash"]] = VectorPlace(row["stage"], row["project"], row["session_id"])
        return found

    def put_vector_places(self, place: VectorPlace, hashes: Iterable[bytes]) -> None:
        """Note that a file holds these vectors."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vector_places VALUES (?,?,?,?)",
                [(known, *place) for known in hashes],
            )
