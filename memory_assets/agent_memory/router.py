"""The collection that each type of memory is kept in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_COLLECTION = "memory"


@dataclass(frozen=True)
class MemoryRouter:
    """The collection of each type of memory; types that are not named are in `default`."""

    by_type: Mapping[str, str] = field(default_factory=dict)
    default: str = DEFAULT_COLLECTION

    def collection_of(self, type: str) -> str:
        """Return the collection of a type of memory."""
        return self.by_type.get(type, self.default)

    @property
    def collections(self) -> list[str]:
        """The names of all collections, sorted."""
        return sorted({self.default, *self.by_type.values()})
