"""The known secrets while a project is redacted."""

from __future__ import annotations

from memory_assets.stores.catalog.catalog import Catalog


class KnownHashes:
    """Keyed hashes of the known secrets, updated from the catalogue by one small query, so
    that each session is redacted with the secrets of those before it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._hashes: frozenset[bytes] = frozenset()
        self._through = 0

    def snapshot(self) -> tuple[frozenset[bytes], int]:
        """Return the hashes of all secrets known now, and the number of the newest one."""
        new = self._catalog.known_secrets.since(self._through)
        if new:
            self._hashes |= {value.hash for value in new}
            self._through = new[-1].number
        return self._hashes, self._through
