"""Collections: which creation of each collection the products speak of."""

from __future__ import annotations

from memory_assets.stores.catalog.connection import CatalogConnection


class Collections:
    """The incarnation of each collection: a new one each time it is created in Chroma."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection

    def incarnation(self, collection: str) -> str | None:
        """Return which creation of a collection the products speak of."""
        rows = self._connection.rows(
            "SELECT incarnation FROM collections WHERE name = ?", collection
        )
        return str(rows[0]["incarnation"]) if rows else None

    def forget_all(self) -> int:
        """Count every collection as lost; return how many were known."""
        with self._connection.transaction() as connection:
            return connection.execute("DELETE FROM collections").rowcount

    def put(self, collection: str, incarnation: str) -> None:
        """Note which creation of a collection the products speak of."""
        with self._connection.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO collections VALUES (?,?)", (collection, incarnation)
            )
