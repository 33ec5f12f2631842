"""The expectations of a table's rows, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

Bounds = tuple[float | None, float | None]
AT_LEAST_0: Bounds = (0.0, None)
NOT_EMPTY: Bounds = (1.0, None)


@dataclass(frozen=True)
class Expectations:
    """The expectations of each row: key columns together unique, columns within bounds
    (text and lists: of their length), columns from a closed set, columns in order."""

    unique: tuple[str, ...] = ("id",)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    one_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: tuple[tuple[str, str], ...] = ()

    @property
    def version(self) -> str:
        """Changes with what is expected: what passed before is then looked at again."""
        said = repr((self.unique, dict(self.bounds), dict(self.one_of), self.ordered))
        return blake2b(said.encode(), digest_size=16).hexdigest()
