"""Collections: the incarnation of each collection that the products refer to."""

from __future__ import annotations

from memory_assets.stores.catalog.connection import CatalogConnection


class Collections:
    """The incarnation of each collection: a new one each time it is created in Chroma."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection

    def incarnation(self, collection: str) -> str | None:
        """Return the incarnation of a collection that the products refer to."""
        rows = self._connection.rows(
            "SELECT incarnation FROM collections WHERE name = ?", collection
        )
        return str(rows[0]["incarnation"]) if rows else None

    def forget_all(self) -> int:
        """Mark every collection as lost; return the number of those known."""
        with self._connection.transaction() as connection:
            return connection.execute("DELETE FROM collections").rowcount

    def put(self, collection: str, incarnation: str) -> None:
        """Note the incarnation of a collection that the products refer to."""
        with self._connection.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO collections VALUES (?,?)", (collection, incarnation)
            )
