"""The report of a stage: counts that become metadata, progress and benchmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from memory_assets.stores.catalog.schema import Product

_OF_A_RUN = {"texts_embedded", "vectors_reused", "rows_kept"}
"""Details that count what a run did, where others are totals of the partition."""
_LAG = "lag_seconds"
"""The detail with how long the newest change had waited."""


@dataclass
class StageReport:
    """Counts of one stage for one project. `sessions`, `rows` and `bytes` are totals of the
    partition; `changed`, `removed` (sessions) and `rows_written` are of this run."""

    stage: str
    project: str
    sessions: int = 0
    changed: int = 0
    removed: int = 0
    quarantined: int = 0
    rows: int = 0
    rows_written: int = 0
    bytes: int = 0
    seconds: float = 0.0
    data_version: str = ""
    details: dict[str, int | float | str] = field(default_factory=dict)

    def include(self, part: StageReport) -> None:
        """Add what another process did of this run, in a share of the sessions."""
        self.changed += part.changed
        self.rows_written += part.rows_written
        self.seconds += part.seconds
        for name in _OF_A_RUN & part.details.keys():
            self.details[name] = int(self.details.get(name, 0)) + int(part.details[name])
        if _LAG in part.details:
            self.details[_LAG] = max(float(self.details.get(_LAG, 0)), float(part.details[_LAG]))

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to do."""
        return self.changed == 0 and self.removed == 0

    def add_products(self, products: list[Product]) -> None:
        """Set the totals and the data version from all products of the stage."""
        self.sessions = len(products)
        self.rows = sum(product.rows for product in products)
        self.bytes = sum(product.bytes for product in products)
        digest = blake2b(digest_size=16)
        for product in sorted(products, key=lambda product: product.session_id):
            digest.update(f"{product.session_id}\0{product.output_hash}\n".encode())
        self.data_version = digest.hexdigest()


@contextmanager
def timed(report: StageReport) -> Iterator[StageReport]:
    """Add the wall time of the block to the report."""
    start = time.perf_counter()
    try:
        yield report
    finally:
        report.seconds += time.perf_counter() - start


def input_hash(*parts: str) -> str:
    """Return the hash of the strings that identify the input of a product."""
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
