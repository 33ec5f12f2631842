"""How a product grew: the output hash it extends and the number of unchanged rows.

A later stage whose own product was made from that output needs to process only the added
rows; in every other case it processes the whole session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_assets.stores.catalog.facts import GrowthFacts
from memory_assets.stores.catalog.schema import Product


@dataclass(frozen=True)
class Growth:
    """A product extends one with the output hash `to`: their first `kept` rows are equal, and
    rows with `removed_ids` are no longer there."""

    to: str
    kept: int
    removed_ids: Sequence[str] = ()

    def fact(self) -> GrowthFacts:
        """Return the growth as a fact of a product."""
        return GrowthFacts(to=self.to, kept=self.kept, removed_ids=list(self.removed_ids))


def growth_of(product: Product) -> Growth | None:
    """Return how a product grew; None if all of it was written at once."""
    fact = product.facts.get("appended")
    if fact is None:
        return None
    return Growth(fact["to"], fact["kept"], tuple(fact["removed_ids"]))
