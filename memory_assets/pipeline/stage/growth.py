"""What a product says when it came from an append: which state it grew from, and where.

A later stage whose own product was made from that state may do just the rows behind
`kept`; in every other case it does the session whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_assets.stores.catalog.facts import GrowthFacts
from memory_assets.stores.catalog.schema import Product


@dataclass(frozen=True)
class Growth:
    """A product grew out of the one whose output hash was `to`: its first `kept` rows are
    the same, and rows with `removed_ids` are no longer there."""

    to: str
    kept: int
    removed_ids: Sequence[str] = ()

    def fact(self) -> GrowthFacts:
        """Return it as it stands in a product's facts."""
        return GrowthFacts(to=self.to, kept=self.kept, removed_ids=list(self.removed_ids))


def growth_of(product: Product) -> Growth | None:
    """Return how a product grew; None if it was made whole."""
    fact = product.facts.get("appended")
    if fact is None:
        return None
    return Growth(fact["to"], fact["kept"], tuple(fact["removed_ids"]))
