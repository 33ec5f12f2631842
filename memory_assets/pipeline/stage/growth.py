"""What a product says when it came from an append: which state it grew from, and where.

A later stage whose own product was made from that state may do just the rows behind
`kept`; in every other case it does the session whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_assets.stores.catalog.schema import Product

_GREW = "appended"
LINEAGE = "lineage"
"""Fact of a product: the hash of the state that was last written whole. Of two states with
the same one the later grew from the earlier by appends alone."""


@dataclass(frozen=True)
class Growth:
    """A product grew out of the one whose output hash was `to`: its first `kept` rows are
    the same, and rows with `removed_ids` are no longer there."""

    to: str
    kept: int
    removed_ids: Sequence[str] = ()

    def fact(self) -> dict[str, Any]:
        """Return it as it stands in a product's facts."""
        return {_GREW: {"to": self.to, "kept": self.kept, "removed_ids": list(self.removed_ids)}}


def growth_of(product: Product) -> Growth | None:
    """Return how a product grew; None if it was made whole."""
    fact: Mapping[str, Any] | None = product.facts.get(_GREW)
    if fact is None:
        return None
    return Growth(str(fact["to"]), int(fact["kept"]), tuple(fact["removed_ids"]))
