"""Redactions: the state of each session's redaction, from which added records are redacted."""

from __future__ import annotations

from collections.abc import Mapping

from memory_assets.stores.catalog.connection import CatalogConnection
from memory_assets.stores.catalog.known_secrets import KnownSecrets
from memory_assets.stores.catalog.products import Products
from memory_assets.stores.catalog.schema import Product


class Redactions:
    """The state in which redaction left each session: JSON of numbers, keyed hashes and
    encrypted checkpoints (`pipeline/redact/state.py`)."""

    def __init__(
        self, connection: CatalogConnection, products: Products, known_secrets: KnownSecrets
    ) -> None:
        self._connection = connection
        self._products = products
        self._known_secrets = known_secrets

    def state(self, project: str, session_id: str) -> str:
        """Return the state in which redaction left a session, or ""."""
        rows = self._connection.rows(
            "SELECT state FROM redaction_states WHERE project = ? AND session_id = ?",
            project,
            session_id,
        )
        return str(rows[0]["state"]) if rows else ""

    def put(
        self,
        records: Product,
        audit: Product,
        through: int,
        found: Mapping[bytes, str],
        state: str = "",
    ) -> None:
        """Insert or replace what redaction made of a session: both products, the values it
        found (rule by hash), that it is free of the known values up to `through`, and where
        it can go on (`state`), all in one transaction."""
        with self._connection.transaction() as connection:
            self._products.put(records, audit)
            self._known_secrets.note_redacted(records.project, records.session_id, through, found)
            connection.execute(
                "INSERT OR REPLACE INTO redaction_states VALUES (?,?,?)",
                (records.project, records.session_id, state),
            )
