"""The known values as one run of redaction sees them."""

from __future__ import annotations

from memory_assets.stores.catalog.catalog import Catalog


class KnownSoFar:
    """The catalogue's known values, kept up to date at the price of one small query, so
    that a session profits from those of the sessions before it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._hashes: frozenset[bytes] = frozenset()
        self._through = 0

    def now(self) -> tuple[frozenset[bytes], int]:
        """Return all values known by now, and the number of the last one."""
        new = self._catalog.known_secrets.since(self._through)
        if new:
            self._hashes |= {value.hash for value in new}
            self._through = new[-1].number
        return self._hashes, self._through
