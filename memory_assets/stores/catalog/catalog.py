"""The catalogue: one SQLite file, and its parts by subject."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from memory_assets.project_names import spoken_names
from memory_assets.stores.catalog.connection import CatalogConnection, now
from memory_assets.stores.catalog.known_secrets import KnownSecrets, Redactions
from memory_assets.stores.catalog.products import STAGES, Products, Quarantine
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.catalog.sources import Sources
from memory_assets.stores.catalog.vectors import Collections, KeptVectors, VectorPlaces
from memory_assets.stores.files.sqlite import IN_MEMORY

CATALOG_FILE = "catalog.db"

_PROJECTS = f"""{STAGES}, made (stage, project) AS (
    SELECT stage, (SELECT MIN(project) FROM products WHERE stage = stages.stage) FROM stages
    UNION ALL
    SELECT stage,
        (SELECT MIN(project) FROM products WHERE stage = made.stage AND project > made.project)
    FROM made WHERE project IS NOT NULL
)
SELECT project FROM made WHERE project IS NOT NULL UNION SELECT project FROM sources
"""
"""All projects. Like `STAGES` it steps from each project of a stage to the next one."""


class Catalog:
    """The ledger of one data directory. Each call to a part is one short transaction;
    `transaction` makes one of several, and `rows` answers a query over all of them. Opening it
    raises what `CatalogConnection` does."""

    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        connection = CatalogConnection(path, busy_seconds=busy_seconds)
        self._connection = connection
        self.path = path
        self.transaction = connection.transaction
        self.rows = connection.rows
        self.cut_log = connection.cut_log
        self.sources = Sources(connection)
        self.quarantine = Quarantine(connection)
        self.products = Products(connection)
        self.known_secrets = KnownSecrets(connection)
        self.redactions = Redactions(connection, self.products, self.known_secrets)
        self.vectors = VectorPlaces(connection)
        self.kept_vectors = KeptVectors(connection)
        self.collections = Collections(connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def projects(self) -> set[str]:
        """Return every project that has a source file or a product."""
        return {str(row[0]) for row in self._connection.rows(_PROJECTS)}

    def spoken_projects(self) -> dict[str, str]:
        """Return by project the name that people and agents see, which names no other project."""
        return spoken_names(dict.fromkeys(self.projects(), "") | self.sources.project_roots())

    def require_key(self, recognised_by: int) -> None:
        """Note a hash of the key of all record ids. If the key changed, every present file counts
        as unread, because ids under the other key match nothing."""
        before = self._connection.find("identities", "recognised_by")
        if before == recognised_by:
            return
        with self.transaction():
            self._connection.write("DELETE FROM identities")
            self._connection.put("identities", state="keyed", recognised_by=recognised_by)
            if before is not None:
                unread = "UPDATE sources SET reader_version = '' WHERE gone_at IS NULL"
                self._connection.write(unread)

    def adopt(self, sources: Iterable[SourceRow], products: Iterable[Product]) -> None:
        """Insert all of these, or none: source files, which count as gone until they are found, and
        products."""
        with self.transaction():
            for source in sources:
                self.sources.put(replace(source, gone_at=now()))
            self.products.put(*products)

    def mirror(
        self,
        project: str,
        sources: Sequence[SourceRow],
        products: Iterable[Product],
        own: Collection[str],
    ) -> set[str]:
        """Replace the rows of a project by those of another memory's catalogue, except products of
        stages in `own`, which are made here; return the removed sessions."""
        theirs = {(product.stage, product.session_id): product for product in products}
        with self.transaction():
            before = {
                (row.stage, row.session_id): row.made_at
                for row in self.products.of_partition(project)
            }
            changed = (key for key in theirs if before.get(key) != theirs[key].made_at)
            self.products.put(*map(theirs.__getitem__, changed))
            for stage, session_id in before.keys() - theirs.keys():
                if stage not in own:
                    self.products.drop(stage, project, session_id)
            self._connection.delete("sources", project=project)
            for source in sources:
                self.sources.put(replace(source, gone_at=now()))
        there = {session_id for _, session_id in theirs}
        return {session_id for _, session_id in before if session_id not in there}


def catalog_of(data_dir: Path) -> Catalog:
    """Return the catalogue of a data directory for reading; an empty one if there is none."""
    path = data_dir / CATALOG_FILE
    return Catalog(path if path.exists() else IN_MEMORY)
