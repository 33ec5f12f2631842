"""The report of a stage: counts for metadata, progress and benchmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from memory_assets.stores.catalog.schema import Product


@dataclass
class StageReport:
    """Counts of one stage for one project. `sessions` and `rows` are totals of the partition,
    `bytes` of its transcripts; `changed`, `removed` (sessions) and `rows_written` count this run's
    work."""

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
    unfinished: bool = False
    """Whether documents are left to the next run (`Components.enough`)."""
    details: dict[str, int | float | str] = field(default_factory=dict)

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to do."""
        return self.changed == 0 and self.removed == 0

    def add_products(self, products: list[Product]) -> None:
        """Set the totals and the data version from all products of the stage."""
        self.sessions = len(products)
        self.rows = sum(product.rows for product in products)
        digest = blake2b(digest_size=16)
        for product in sorted(products, key=lambda product: product.session_id):
            digest.update(f"{product.session_id}\0{product.output_hash}\n".encode())
        self.data_version = digest.hexdigest()


@contextmanager
def timing(report: StageReport) -> Iterator[StageReport]:
    """Add the wall time of the block to the report."""
    start = time.perf_counter()
    try:
        yield report
    finally:
        report.seconds += time.perf_counter() - start


def input_hash(*parts: str) -> str:
    """Return the hash of the strings that identify the input of a product."""
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
